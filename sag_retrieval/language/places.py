"""Name the pages, slides, sections or verses of a document that a span of its text comes from."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from sag_retrieval.language.data import patterns
from sag_retrieval.language.layout import bare_heading, physical_lines

Locations = tuple[tuple[int, str], ...]
"""First character and name of each place, in order."""
PLACES = "places"
"""Their name in the metadata of a document."""
_NUMBERED = re.compile(r"(p\.|line) (\d+)")
_SEVERAL = {"p.": "pp.", "line": "lines"}


_SAYS = patterns("all")
_LEAST_NUMBERED = 3
"""Fewer numbers of a kind do not divide a text."""
_LONGEST_TITLE = 80
_SENTENCE_ENDS = tuple(".!?;:,。！？；：，…")
_COUNTED = "〇一二三四五六七八九十"


def numbered_places(text: str) -> list[tuple[int, str]]:
    r"""First character and name of the numbered parts of a text: articles, their paragraphs, verses of a book.

    A part begins with a line that a number opens; `(3)` below `§ 12` is `§ 12 (3)`, a verse has the book of its line,
    else that of the heading above it, and each of several paragraphs of a Chinese article is one (`第十二条第二款`).
    An unnumbered heading ends a part. None of a text with fewer than three. Linear in the lines.

    Example:
        >>> [name for _, name in numbered_places("# Exodus\n\n3:13 And.\n\n3:14 I am.\n\n3:15 Say.\n")]
        ['Exodus 3:13', 'Exodus 3:14', 'Exodus 3:15']
    """
    found: list[tuple[int, str]] = []
    title = part = ""
    paragraphs: list[int] = []
    is_after_gap = True
    for start, end in physical_lines(text):
        line = text[start:end]
        if not line.strip():
            is_after_gap = True
            continue
        inner = _SAYS["numbered_paragraph"].match(line) if part else None
        if verse := _SAYS["numbered_verse"].match(line):
            found.append((start, f"{'' if verse['book'] else title} {verse['name']}".strip()))
        elif (named := _SAYS["numbered_part"].match(line)) and (is_after_gap or line[0] in "#第"):
            found += _counted(part, paragraphs)
            part, paragraphs = " ".join(named["name"].split()), [start]
            found.append((start, part))
        elif inner:
            found.append((start, f"{part} {inner['name']}"))
        elif line.startswith("#") or (is_after_gap and _is_title(text, line, end)):
            found += [*_counted(part, paragraphs), *([(start, "")] if found else [])]
            title, part, paragraphs = bare_heading(line), "", []
        elif part and not _SAYS["counted_item"].match(line):
            paragraphs.append(start)
        is_after_gap = False
    found += _counted(part, paragraphs)
    return sorted(dict(found).items()) if sum(bool(name) for _, name in found) >= _LEAST_NUMBERED else []


def _counted(part: str, paragraphs: Sequence[int]) -> list[tuple[int, str]]:
    """The paragraphs of a Chinese article, which are not numbered where they stand."""
    if not part.startswith("第") or not 1 < len(paragraphs) < len(_COUNTED):
        return []
    return [(start, f"{part}第{_COUNTED[number]}款") for number, start in enumerate(paragraphs, 1)]


def _is_title(text: str, line: str, end: int) -> bool:
    is_short = len(line) <= _LONGEST_TITLE and not line.rstrip().endswith(_SENTENCE_ENDS)
    return is_short and not text[end : end + 2].strip()


def places_within(metadata: str, start: int, end: int) -> Locations:
    """The places that `text[start:end]` of a document touches."""
    if f'"{PLACES}"' not in metadata:
        return ()
    places = _places(metadata)
    starts = [first for first, _ in places]
    first = max(bisect_right(starts, start) - 1, 0)
    return places[first : max(bisect_right(starts, max(end - 1, start)), first + 1)]


def place_name(places: Locations, start: int, end: int) -> str:
    """The place of a span in words: `p. 4`, `pp. 4–5`, `lines 3–9`, `slide 2`; empty where the document names none.

    Example:
        >>> places = ((0, "p. 1"), (900, "p. 2"))
        >>> place_name(places, 10, 40), place_name(places, 880, 950), place_name((), 0, 9)
        ('p. 1', 'pp. 1–2', '')
    """
    first = max((number for number, (at, _) in enumerate(places) if at <= start), default=0)
    names = [name for number, (at, name) in enumerate(places) if number >= first and at < max(end, start + 1) and name]
    return _range(names)


def _range(names: Sequence[str]) -> str:
    if len(names) < 2:  # noqa: PLR2004  one place
        return "".join(names)
    first, last = (_NUMBERED.fullmatch(name) for name in (names[0], names[-1]))
    if first and last and first[1] == last[1]:
        return f"{_SEVERAL[first[1]]} {first[2]}–{last[2]}"
    return f"{names[0]} – {names[-1]}"


@lru_cache(maxsize=64)
def _places(metadata: str) -> Locations:
    """The places, if they have the form that conversion writes; a document may use the name for something else."""
    given = json.loads(metadata).get(PLACES)
    pairs = given if isinstance(given, list) else []
    if not all(isinstance(pair, list) and list(map(type, pair)) == [int, str] for pair in pairs):
        return ()
    places = tuple((at, name) for at, name in pairs)
    return places if all(a[0] <= b[0] for a, b in pairwise(places)) else ()
