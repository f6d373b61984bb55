"""Find headings in plain text, with or without marks, in Chinese and English."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sag_retrieval.language.data import pattern_of_all, patterns
from sag_retrieval.language.layout import Line, LineKind, bare_heading, is_counted_part, logical_lines
from sag_retrieval.language.words import fold

_UNMARKED_LEVEL = 5
_LABEL_LEVEL = 7
_COUNTED_LEVEL = 2
"""`Canto IV`, `LETTER TWO`: like a chapter."""
_RUNNING = 3
"""A line that stands so often between blank lines is a running head, not a heading."""
_WIDEST = {"zh": 30, "en": 70}

_SAYS = patterns("all")
_ANNOUNCES = pattern_of_all("announces_lines")
_LEVELS = (1, 2, 3, 6, 5, 4)
"""In the order in which they are looked for: `1.2.3` begins like `1.2`, and that like `1.`."""


class Heading(NamedTuple):
    """`text[start:end]` opens a part; level 1 is the highest."""

    start: int
    end: int
    level: int
    title: str


def headings_of(text: str, language: str = "en", lines: Sequence[Line] | None = None) -> list[Heading]:
    """Lines that open a part of the text, in order.

    They are lines marked as headings or labels, and short lines without an end mark that stand alone between
    blank lines. Running heads and page numbers are none.

    Source: docs/algorithm.md §sections.8.
    """
    lines = logical_lines(text) if lines is None else lines
    found = [
        Heading(line.start, line.end, level, title)
        for number, line in enumerate(lines)
        if (title := bare_heading(text[line.start : line.end]))
        and (level := _level(text, lines, number, _WIDEST.get(language, _WIDEST["en"]))) is not None
    ]
    often = Counter(fold(heading.title) for heading in found)
    return [h for h in found if _SAYS["hashes"].match(text, h.start) or often[fold(h.title)] < _RUNNING]


def _level(text: str, lines: Sequence[Line], number: int, widest: int) -> int | None:
    line = lines[number]
    bare = text[line.start : line.end]
    hashes = _SAYS["hashes"].match(bare)
    if line.kind is LineKind.HEADING:
        return len(hashes[0]) if hashes else _numbered_level(bare) or _UNMARKED_LEVEL
    if line.kind is LineKind.LABEL:
        return None if _ANNOUNCES.search(bare) else _numbered_level(bare_heading(bare)) or _LABEL_LEVEL
    if line.kind in (LineKind.PROSE, LineKind.ITEM) and len(bare) <= widest and _stands_alone(text, lines, number):
        return _numbered_level(bare) or (_UNMARKED_LEVEL if line.kind is LineKind.PROSE else None)
    return None


def _numbered_level(bare: str) -> int | None:
    if is_counted_part(bare):
        return _COUNTED_LEVEL
    return next((level for level in _LEVELS if _SAYS[f"level_{level}_heading"].match(bare)), None)


def _stands_alone(text: str, lines: Sequence[Line], number: int) -> bool:
    """Whether a line is a short name without a statement, with blank lines or rules around it."""
    line = lines[number]
    bare = text[line.start : line.end]
    if (
        "\n" in bare
        or _SAYS["page_number"].fullmatch(bare)
        or _SAYS["continued"].search(bare)
        or not _SAYS["heading_starts"].match(bare)
    ):
        return False
    body = _SAYS["heading_number"].sub("", bare)
    if not body or _SAYS["heading_says"].search(body) or number + 1 == len(lines):
        return False
    ahead, after = lines[max(number - 1, 0)], lines[number + 1]
    is_first = number == 0 or ahead.kind is LineKind.RULE or text.count("\n", ahead.end, line.start) > 1
    return is_first and after.kind is not LineKind.RULE and text.count("\n", line.end, after.start) > 1
