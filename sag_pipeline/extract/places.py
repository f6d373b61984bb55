"""Find every place where one of many names occurs in a text, in time linear in the text."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

LONGEST_NAME = 200
"""Longest name that is searched; keys have at most 120 characters."""
_BEGINNINGS = (16, 8, 4, 2, 1)
_COMPARED = 100


class Places:
    """Finds names by their first characters, then by the lengths of the names that begin with them."""

    def __init__(self, names: Iterable[str], *, longest: int = LONGEST_NAME) -> None:
        """Index the names of at most `longest` characters."""
        self._names = frozenset(name for name in names if 0 < len(name) <= longest)
        lengths: dict[str, set[int]] = defaultdict(set)
        for name in self._names:
            width = next(width for width in _BEGINNINGS if width <= len(name))
            lengths[name[:width]].add(len(name))
        self._lengths = {beginning: sorted(each) for beginning, each in lengths.items()}
        self._widths = sorted(set(map(len, lengths)))
        self._firsts = frozenset(beginning[0] for beginning in lengths)

    def within(self, text: str, most: int | None = None) -> Iterator[tuple[int, str]]:
        """Places and names in the order of the text, overlapping ones included."""
        compared = 0
        for place, first in enumerate(text):
            if first not in self._firsts:
                continue
            for length in self._lengths_at(text, place):
                piece = text[place : place + length]
                if piece in self._names:
                    yield place, piece
                compared += length
            if most is not None and compared > most:
                return

    def _lengths_at(self, text: str, place: int) -> Iterator[int]:
        for width in self._widths:
            yield from self._lengths.get(text[place : place + width], ())


def first_places(names: Iterable[str], text: str) -> dict[str, int]:
    """First place of each name, of any length, in the text; names that do not occur are left out.

    The search stops early in a text so repetitive that each character would be compared a hundred times.
    """
    found: dict[str, int] = {}
    for place, name in Places(names, longest=len(text)).within(text, most=_COMPARED * len(text)):
        found.setdefault(name, place)
    return found
