"""Where vectors lie in files, found by comparing bytes, and which ids their rows had before they were written again.

Bytes are compared so that nothing depends on how Lance arranges them.
"""

import mmap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats32, Rows64

Run = tuple[int, str, int, int]
"""Consecutive rows that lie one after another in a file: row id of the first, file, its byte, and how many."""
Moved = tuple[int, int, int]
"""Consecutive rows: the first id that they had, the first that they have, and how many."""
FILE_BITS: Final = 32
"""The lower bits of a row id are the place in a file, the upper ones the number of the file."""


def locate(files: Mapping[str, Path], blocks: Iterable[tuple[Rows64, Floats32]]) -> list[Run]:
    """Find the vectors of blocks, each with the row ids, in files.

    Returns:
        Runs in the order of the rows; empty if a vector was not found as consecutive floats.

    """
    runs: list[Run] = []
    with ExitStack() as stack:
        maps = {name: stack.enter_context(_mapped(path)) for name, path in files.items() if path.stat().st_size}
        for row_ids, block in blocks:
            vectors, at = np.ascontiguousarray(block).view(np.uint32), 0
            while at < len(vectors):
                name, start = _find(maps, runs, vectors[at])
                if not name:
                    return []
                count = min(_equal(maps[name], start, vectors[at:]), _consecutive(row_ids[at:]))
                runs = _grown(runs, (int(row_ids[at]), name, start, count), vectors.shape[1] * 4)
                at += count
    return runs


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _find(maps: Mapping[str, mmap.mmap], runs: Sequence[Run], vector: npt.NDArray[np.uint32]) -> tuple[str, int]:
    """File and byte of a vector: behind the last run, or else anywhere; no name if it is nowhere."""
    wanted = vector.tobytes()
    tried = [(name, 0) for name in maps]
    if runs:
        _, name, start, count = runs[-1]
        tried.insert(0, (name, start + count * len(wanted)))
    for name, start in tried:
        place = maps[name].find(wanted, start)
        while place % 4 and place >= 0:
            place = maps[name].find(wanted, place + 1)
        if place >= 0:
            return name, place
    return "", 0


def _equal(held: mmap.mmap, start: int, vectors: npt.NDArray[np.uint32]) -> int:
    """How many vectors lie one after another from a byte on."""
    width = vectors.shape[1]
    count = min(len(vectors), (len(held) - start) // (4 * width))
    there = np.frombuffer(held, np.uint32, count * width, start).reshape(count, width)
    is_same = (there == vectors[:count]).all(axis=1)
    del there  # or the map could not be closed
    return count if is_same.all() else int(np.argmin(is_same))


def _consecutive(row_ids: Rows64) -> int:
    """How many row ids at the start rise by one."""
    steps = np.flatnonzero(np.diff(row_ids) != 1)
    return int(steps[0]) + 1 if len(steps) else len(row_ids)


def _grown(runs: list[Run], run: Run, width: int) -> list[Run]:
    """Runs with one more, which lengthens the last if it continues it."""
    if runs:
        first, name, start, count = runs[-1]
        if (first + count, name, start + count * width) == run[:3]:
            return [*runs[:-1], (first, name, start, count + run[3])]
    return [*runs, run]


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
