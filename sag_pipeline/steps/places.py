"""Every place where one of many texts stands in another: linear, however many there are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

LONGEST_NAME = 200
"""No name is longer; of 120 characters and less keys are made."""
_BEGINNINGS = (16, 8, 4, 2, 1)
_COMPARED = 100


class Places:
    """Finds names by their first characters, then by the few lengths that names with this beginning have."""

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
        """Places and names in the order of the text, overlapping ones included.

        Args:
            text: Where to look.
            most: Characters that may be compared in all; what stands behind is not found. None: no bound, for short
                names need none.

        """
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
    """Where each name, however long, stands first in the text; those that stand nowhere are left out.

    A text that repeats itself so much that each of its characters would be compared a hundred times is given up
    part of the way.
    """
    found: dict[str, int] = {}
    for place, name in Places(names, longest=len(text)).within(text, most=_COMPARED * len(text)):
        found.setdefault(name, place)
    return found
