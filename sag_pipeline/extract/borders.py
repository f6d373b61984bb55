"""Borders of chunks that the text around them decides, so that an edit moves none but those beside it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Final, NamedTuple

from sag_retrieval.language.layout import Line, LineKind

_TITLES: Final = (LineKind.HEADING, LineKind.LABEL)
_HEADER: Final = ((LineKind.ROW, LineKind.RULE), (LineKind.RULE, LineKind.ROW))
"""Lines that stay together: the head of a table, the rule below it and its first row."""
_SEEN: Final = 40
"""Characters on either side of a border that rank it."""
_REACH: Final = 0.5
"""A border that ranks first within this many sizes on either side always ends a chunk."""
_LONGEST: Final = 1.35
"""A run of this many sizes between two such borders is divided into parts of about equal length."""


class _Border(NamedTuple):
    place: int
    """The unit that begins here."""
    start: int
    rank: tuple[bool, bytes]
    """Headings first, then by the hash of the text on both sides."""


def runs_of(text: str, units: Sequence[Line], size: int) -> list[list[Line]]:
    """The units of a section in runs of about a size, a heading and the head of a table with what follows.

    Source:
        docs/algorithm.md §extraction.2.

    """
    borders = [
        _Border(place, unit.start, _rank(text, before, unit))
        for place, (before, unit) in enumerate(pairwise(units), 1)
        if before.kind not in _TITLES and (before.kind, unit.kind) not in _HEADER
    ]
    places = [0, *(one.place for one in _first_of(borders, _REACH * size)), len(units)]
    starts = [one.place for one in borders]
    found: list[list[Line]] = []
    for first, last in pairwise(places):
        inside = starts[bisect_right(starts, first) : bisect_left(starts, last)]
        found.extend(_divided(units[first:last], [place - first for place in inside], size))
    return [run for run in found if run]


def _rank(text: str, before: Line, unit: Line) -> tuple[bool, bytes]:
    seen = (
        text[max(before.start, before.end - _SEEN) : before.end]
        + "\n"
        + text[unit.start : min(unit.end, unit.start + _SEEN)]
    )
    digest = blake2b(" ".join(seen.split()).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return unit.kind not in _TITLES, digest


def _first_of(borders: Sequence[_Border], reach: float) -> list[_Border]:
    """The borders that rank before every other one within reach."""
    found: list[_Border] = []
    low = 0
    for place, one in enumerate(borders):
        while borders[low].start < one.start - reach:
            low += 1
        high = place + 1
        while high < len(borders) and borders[high].start <= one.start + reach:
            high += 1
        near = (*borders[low:place], *borders[place + 1 : high])
        if all(one.rank < other.rank for other in near):
            found.append(one)
    return found


def _divided(units: Sequence[Line], borders: Sequence[int], size: int) -> list[list[Line]]:
    """Units between two borders in parts of about equal length, one where they are short enough."""
    if not units:
        return []
    start, length = units[0].start, units[-1].end - units[0].start
    if length <= _LONGEST * size:
        return [list(units)]
    count = max(2, round(length / size))
    chosen = sorted({_nearest(units, borders, start + part * length / count) for part in range(1, count)} - {0})
    return [list(units[first:last]) for first, last in pairwise([0, *chosen, len(units)])]


def _nearest(units: Sequence[Line], borders: Sequence[int], wanted: float) -> int:
    """The border nearest to a place in the text; 0 without any."""
    behind = bisect_left(borders, wanted, key=lambda place: units[place].start)
    near = borders[max(0, behind - 1) : behind + 1]
    return min(near, key=lambda place: abs(units[place].start - wanted), default=0)
