"""The hook of mkdocs.yml: pages that lie outside docs/ join the site, and links between both lead to pages.

README.md is the home page. A link to a file that is no page (LICENSE, a script) keeps its words and loses its link, as
the site may be read where the repository is not.
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "report-a-fault.md",
}
"""File in the repository → page of the site."""
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def page_of(file: str) -> str | None:
    """The page that shows a file of the repository, below the site; None if none does."""
    if file in OUTSIDE:
        return OUTSIDE[file]
    shown = file.startswith("docs/") and file.endswith((".md", ".png"))
    return file.removeprefix("docs/") if shown and (ROOT / file).is_file() else None


def with_site_links(markdown: str, file: str) -> str:
    """The text of a file with every link to a file turned into one to its page, as seen from the file's own page."""
    here = page_of(file) or file

    def turned(link: re.Match[str]) -> str:
        words, (target, _, anchor) = link[1], link[2].partition("#")
        if "://" in target or not target:
            return link[0]
        page = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(file), target)))
        if page is None:
            return words
        return f"[{words}]({os.path.relpath(page, posixpath.dirname(here) or '.')}{'#' + anchor if anchor else ''})"

    return _LINK.sub(turned, markdown)


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401  MkDocs' own types; this file must load without it
    """Add the pages that lie outside docs/."""
    from mkdocs.structure.files import File  # noqa: PLC0415  only the site needs MkDocs

    for file, page in OUTSIDE.items():
        files.append(
            File.generated(config, page, content=with_site_links((ROOT / file).read_text(encoding="utf-8"), file))
        )
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:  # noqa: ANN401  as above
    """Turn the links of a page below docs/; those from outside were turned when they joined."""
    uri = page.file.src_uri
    return markdown if uri in OUTSIDE.values() else with_site_links(markdown, f"docs/{uri}")
