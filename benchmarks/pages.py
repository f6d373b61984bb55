"""How much of the content of web pages, and how little else, do extractors keep?

    python benchmarks/pages.py FOLDER …     HTML files below folders; at most 100, evenly chosen

The content of a page is known by its template: Sphinx (`div.body`), DocBook (the first chapter, section, preface or
appendix, without its table of contents), otherwise `body` without `nav`, `header` and `footer`.
Extractors that are not installed are left out: trafilatura, resiliparse, readability (readability-lxml).
"""

# ruff: noqa: PLC0415  each extractor is loaded only if it is installed

import copy
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml import html

sys.path.insert(0, str(Path(__file__).parents[1]))
from sag_pipeline.sources.decoding import decode_html

MOST = 100
CONTENT = (
    "//div[@role='main']",
    "//div[contains(concat(' ', @class, ' '), ' body ')]",
    "//div[@class='chapter' or @class='section' or @class='sect1' or @class='preface' or @class='appendix']",
    "//div[@class='book']",
)
AROUND = (
    ".//nav|.//header|.//footer|.//script|.//style|.//a[@class='headerlink']|.//div[@class='toc' or @class='navheader'"
    " or @class='navfooter' or contains(@class, 'sphinxsidebar') or contains(@class, 'related')]"
)
WORD = re.compile(r"[^\W_]+")


def content(page: bytes) -> tuple[Counter[str], Counter[str], list[str]]:
    """Words of the content, words around it, headings."""
    root = html.document_fromstring(page, parser=html.HTMLParser(encoding="utf-8", remove_comments=True))
    for each in root.xpath("//script|//style|//head"):
        each.drop_tree()
    every = words(spaced(root))
    main = next((found[0] for path in CONTENT for found in [root.xpath(path)] if found), root.find("body"))
    main = copy.deepcopy(main)
    for each in main.xpath(AROUND):
        each.drop_tree()
    headings = [" ".join(each.text_content().split()) for each in main.iter("h1", "h2", "h3", "h4")]
    inside = words(spaced(main))
    return inside, every - inside, [each for each in headings if each]


def spaced(root: Any) -> str:  # noqa: ANN401  lxml has no types
    """The text with white space between elements."""
    return " ".join(root.itertext())


def words(text: str) -> Counter[str]:
    """Words; of Chinese and Japanese, characters."""
    found = Counter[str]()
    for word in WORD.findall(text.lower()):
        found.update(list(word) if ord(word[0]) > 0x2E7F else [word])
    return found


def ours(page: bytes) -> str:
    """This project's converter."""
    from sag_pipeline.sources.converters.html import convert_html

    return "".join(piece.text for piece in convert_html(page).pieces)


def markitdown(page: bytes) -> str:
    """MarkItDown."""
    import io

    from markitdown import StreamInfo
    from markitdown.converters import HtmlConverter

    return HtmlConverter().convert(io.BytesIO(page), StreamInfo(extension=".html", charset="utf-8")).text_content


def trafilatura(page: bytes) -> str:
    """Trafilatura, with what it has for recall."""
    import trafilatura

    return trafilatura.extract(page, output_format="markdown", include_tables=True, favor_recall=True) or ""


def resiliparse(page: bytes) -> str:
    """Resiliparse, main content."""
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(page.decode("utf-8", "replace"), main_content=True, alt_texts=False, links=False)


def readability(page: bytes) -> str:
    """Readability, its HTML written by this project."""
    from readability import Document

    return ours(Document(page.decode("utf-8", "replace")).summary().encode())


EXTRACTORS: tuple[Callable[[bytes], str], ...] = (ours, markitdown, trafilatura, resiliparse, readability)


def measured(extract: Callable[[bytes], str], pages: list[bytes]) -> Iterator[tuple[float, float, float, float, float]]:
    """Precision, recall, share of headings on a line of their own, share of the words around that is left, seconds."""
    for page in pages:
        inside, around, headings = content(page)
        started = time.process_time()
        try:
            text = extract(page)
        except ImportError:
            raise
        except Exception:  # noqa: BLE001  counts as nothing found
            text = ""
        seconds = time.process_time() - started
        found = words(text)
        right = (found & inside).total()
        lines = {" ".join(line.strip("#* \t¶").replace("¶", "").split()) for line in text.split("\n")}
        kept = sum(heading.rstrip("¶ ") in lines for heading in headings)
        yield (
            right / max(found.total(), 1),
            right / max(inside.total(), 1),
            kept / max(len(headings), 1) if headings else 1.0,
            ((found - inside) & around).total() / max(around.total(), 1),
            seconds,
        )


def main() -> None:
    """Print one line for each extractor."""
    files = sorted(
        {path for folder in sys.argv[1:] for path in Path(folder).rglob("*.html") if path.stat().st_size > 1500}
    )
    files = files[:: max(1, len(files) // MOST)][:MOST]
    pages = [decode_html(path.read_bytes()).encode() for path in files]
    print(f"{len(pages)} pages, {sum(map(len, pages)):,} bytes")
    print("| extractor | precision | recall | F1 | headings kept | words around left | ms per page |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for extract in EXTRACTORS:
        try:
            rows = list(measured(extract, pages))
        except ImportError:
            continue
        right, kept, headings, left, seconds = (statistics.mean(column) for column in zip(*rows, strict=True))
        f1 = statistics.mean(2 * p * r / (p + r) if p + r else 0.0 for p, r, *_ in rows)
        figures = " | ".join(f"{100 * value:.1f}" for value in (right, kept, f1, headings, left))
        print(f"| {extract.__name__} | {figures} | {1000 * seconds:.0f} |")


if __name__ == "__main__":
    main()
