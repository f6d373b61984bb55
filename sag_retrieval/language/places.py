"""Name the pages, slides or sheets of a document that a span of its text comes from."""

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

Locations = tuple[tuple[int, str], ...]
"""First character and name of each place, in order."""
PLACES = "places"
"""Their name in the metadata of a document."""
_NUMBERED = re.compile(r"(p\.|line) (\d+)")
_SEVERAL = {"p.": "pp.", "line": "lines"}


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
