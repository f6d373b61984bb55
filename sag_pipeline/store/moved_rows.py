"""Rows of a Lance table that were written again: the ids that they had, and those that they have now."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from sag_retrieval.core.types import Rows64

Moved = tuple[int, int, int]
"""Consecutive rows: the first id that they had, the first that they have, and how many."""
FILE_BITS: Final = 32
"""The lower bits of a row id are the place in a file, the upper ones the number of the file."""


def moved_rows(before: Rows64, now: Rows64) -> list[Moved]:
    """Ids that rows had and have, both ascending.

    Examples:
        >>> moved_rows(np.array([3, 4, 6]), np.array([10, 11, 12]))
        [(3, 10, 2), (6, 12, 1)]

    """
    starts = np.flatnonzero((np.diff(before, prepend=-2) != 1) | (np.diff(now, prepend=-2) != 1))
    counts = np.diff(np.append(starts, len(before)))
    return list(zip(before[starts].tolist(), now[starts].tolist(), counts.tolist(), strict=True))


def moved_again(moved: Iterable[Moved], pieces: Sequence[Moved], files: Sequence[int]) -> list[Moved]:
    """All ids that rows had, after rows of some files were written again; sorted, without rows that were left out."""
    return sorted([*pieces, *(each for one in moved for each in _followed(one, pieces, files))])


def _followed(piece: Moved, pieces: Sequence[Moved], files: Sequence[int]) -> Iterator[Moved]:
    """Where rows that have moved before are now."""
    had, have, count = map(int, piece)
    if have >> FILE_BITS not in files:
        yield had, have, count
        return
    for first, now, size in pieces:
        start, end = max(have, first), min(have + count, first + size)
        if start < end:
            yield had + start - have, now + start - first, end - start
