"""Question sets over the documentation of Debian packages, made by rules; nothing of the packages is kept here.

`apt-get download` brings the packages by name into a folder, `dpkg-deb` unpacks them there; nothing is installed. A
document is one section of a page, or one man page, without the heading that is asked for; a question is that heading:

- `faq`: headings that end in a question mark;
- `headings`: other headings of three words or more, in the manuals' own languages;
- `man`: what the NAME line says of a man page, over the page without it; a page is taken in one language only.

A heading is asked for if it stands once in the set, and neither its title nor its text repeats it, letters and digits
compared. Which sections and questions are taken is decided by the hash of where they stand, never by hand.
"""

import hashlib
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kinds_texts import Section, sections_of
from sets import Question, QuestionSet

FAQ_PACKAGES = ("perl-doc", "python3.11-doc", "sqlite3-doc", "apache2-doc", "exim4-doc-html", "git-doc")
HEADING_PACKAGES = ("apache2-doc", "git-doc", "exim4-doc-html", "sqlite3-doc", "cmake-doc")
MAN_PACKAGES = ("manpages", "manpages-de", "manpages-es", "manpages-fr", "manpages-ja", "manpages-ru")
LEFT_OUT = re.compile(r"/zh[-_]|/_sources/|/man3/.*perl\.gz$|/(man|da|pt-br|tr|ko)/.*perl", re.IGNORECASE)
"""Chinese pages are kept for another set; sources of pages and man pages made from POD are the same text again."""
LEAST_TEXT, MOST_TEXT = 200, 20_000
_NAME_LINE = re.compile(r"\s(?:-{1,2}|—|–)\s+(.*)", re.DOTALL)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


class UnavailableError(Exception):
    """A set cannot be made here; the message says why."""


@dataclass(frozen=True)
class Rule:
    """How a set is made: its packages, what is asked, and how much of both is taken."""

    packages: tuple[str, ...]
    is_asked: Callable[[Section], bool]
    read: Callable[[Sequence[tuple[str, Path]]], Iterable[Section]]
    documents: int = 1200
    questions: int = 240


def of_packages(rule: Rule, folder: Path) -> QuestionSet:
    """The set of a rule, its packages brought into the folder.

    Raises:
        UnavailableError: If a package cannot be brought.

    """
    pages = [found for package in rule.packages for found in _pages(package, unpacked(package, folder))]
    sections = {_place(n, each): each for n, each in enumerate(_distinct(rule.read(pages)))}
    seen = Counter(_bare(each.heading) for each in sections.values())
    asked = {
        place: each
        for place, each in sections.items()
        if rule.is_asked(each) and seen[_bare(each.heading)] == 1 and not _repeats(each)
    }
    chosen = sorted(asked, key=_hash)[: rule.questions]
    others = sorted(sections.keys() - set(chosen), key=_hash)[: rule.documents - len(chosen)]
    lines = [{"id": p, "title": sections[p].title, "text": sections[p].text} for p in sorted([*chosen, *others])]
    questions = [Question(p, asked[p].heading, p.partition("/")[0], (p,)) for p in sorted(chosen)]
    return QuestionSet(lines, questions)


def unpacked(package: str, folder: Path) -> Path:
    """The folder that holds a package's files, downloaded once.

    Raises:
        UnavailableError: If there is no apt here, or it does not bring the package.

    """
    target = folder / package
    if not target.is_dir():
        scratch = folder / "debs"
        scratch.mkdir(parents=True, exist_ok=True)
        part = folder / f"{package}.part"
        try:
            subprocess.run(["apt-get", "download", "-q", package], cwd=scratch, check=True, capture_output=True)
            archive = max(scratch.glob(f"{package}_*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, part], check=True, capture_output=True)
        except FileNotFoundError as error:
            raise UnavailableError(f"{error.filename} is not here; packages come by apt") from error
        except subprocess.CalledProcessError as error:
            said = (error.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {error.returncode}"])[-1]
            raise UnavailableError(f"{package} cannot be downloaded: {said}; try `apt-get update`") from error
        part.rename(target)
    return target


def _pages(package: str, root: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(root.rglob("*")):
        page = f"{package}/{path.relative_to(root)}"
        if path.is_file() and not path.is_symlink() and not LEFT_OUT.search(f"/{page}"):
            yield page, path


def _sections(pages: Sequence[tuple[str, Path]]) -> Iterator[Section]:
    for page, path in pages:
        if path.name.endswith((".html", ".pod")):
            yield from sections_of(path, page)


def _man_pages(pages: Sequence[tuple[str, Path]]) -> Iterator[Section]:
    """Whole pages, their NAME line as heading; of a page in several languages the one with the lowest hash."""
    by_name: dict[str, list[tuple[str, Path]]] = {}
    for page, path in pages:
        if "/man/" in page and page.endswith(".gz"):
            by_name.setdefault(path.name, []).append((page, path))
    for same in by_name.values():
        page, path = min(same, key=lambda found: _hash(found[0]))
        parts = sections_of(path, page)
        named = next((n for n, part in enumerate(parts) if part.heading), None)
        described = _NAME_LINE.search(" ".join(parts[named].text.split())) if named is not None else None
        if described and named is not None:
            rest = [f"{part.heading}\n\n{part.text}" for part in parts[named + 1 :]]
            yield Section(page, path.name.removesuffix(".gz"), described[1].rstrip("."), "\n\n".join(rest).split("\n"))


def _distinct(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections of a readable length, each text once."""
    seen = set()
    for each in sections:
        key = _bare(each.text)
        if LEAST_TEXT <= len(each.text) <= MOST_TEXT and key not in seen:
            seen.add(key)
            yield each


def _is_long_enough(heading: str) -> bool:
    return len(_WIDE.findall(heading)) >= 6 or len(re.findall(r"[^\W\d_]{2,}", heading)) >= 3


def _is_question(section: Section) -> bool:
    return section.heading.endswith(("?", "？")) and _is_long_enough(section.heading)


def _is_heading(section: Section) -> bool:
    return not section.heading.endswith(("?", "？")) and _is_long_enough(section.heading)


def _repeats(section: Section) -> bool:
    wanted = _bare(section.heading)
    return wanted in _bare(section.text) or wanted in _bare(section.title)


def _place(number: int, section: Section) -> str:
    return f"{section.page}#{number}"


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


RULES = {
    "faq": Rule(FAQ_PACKAGES, _is_question, _sections),
    "headings": Rule(HEADING_PACKAGES, _is_heading, _sections),
    "man": Rule(MAN_PACKAGES, lambda section: _is_long_enough(section.heading), _man_pages, documents=500),
}
"""Rules by the name of their set."""
