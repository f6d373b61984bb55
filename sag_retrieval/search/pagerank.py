"""Personalised PageRank on the graph of keys and chunks: by power iteration, or near its seeds by push."""

from math import ceil, log
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.release.csr import CsrLists

SMALL_GRAPH: Final = 20_000
"""Nodes up to which power iteration is as fast as push."""
_TOLERANCE: Final = 1e-5
"""Share of all mass that power iteration may still misplace in a search."""
_PRECISION: Final = 6e-6
"""Mass, as a share of a node's degree, that push leaves where it is."""
_SCANNED: Final = 16
"""A side is read whole where more than this part of it, repeats counted, was reached."""
_MOST_STEPS: Final = 400

Seeds = tuple[Rows, Floats]
"""Rows, each once, and what each gets of the restart."""


def power(
    key_chunks: CsrLists,
    chunk_keys: CsrLists,
    key_restart: Seeds,
    chunk_restart: Seeds,
    damping: float,
    tolerance: float = _TOLERANCE,
) -> tuple[Floats, Floats]:
    """PageRank of keys and chunks, to sum 1; a node without links passes nothing on.

    `p = (1 − d) · restart + d · Σ_neighbours p / degree`, docs/algorithm.md §search.12.

    Args:
        key_chunks: Chunks of each key.
        chunk_keys: Keys of each chunk.
        key_restart: Key rows, each once, and their shares, not negative.
        chunk_restart: Chunk rows, each once, and their shares; all shares sum to 1.
        damping: d in [0, 1).
        tolerance: Share of all mass that may still be misplaced.

    """
    of_key, of_chunk = key_chunks.links, chunk_keys.links
    pass_key, pass_chunk = (damping / side.degrees for side in (key_chunks, chunk_keys))
    stay_key = (1 - damping) * _spread_out(key_restart, key_chunks)
    stay_chunk = (1 - damping) * _spread_out(chunk_restart, chunk_keys)
    key, chunk = stay_key, stay_chunk
    for _ in range(_rounds(damping, tolerance)):
        key = stay_key + of_key @ (chunk * pass_chunk)[: of_key.shape[1]]
        chunk = stay_chunk + of_chunk @ (key * pass_key)[: of_chunk.shape[1]]
    return _to_one(key, chunk)


def _spread_out(seeds: Seeds, lists: CsrLists) -> Floats:
    whole = np.zeros(len(lists))
    whole[seeds[0]] = seeds[1]
    return whole


def _rounds(damping: float, tolerance: float) -> int:
    """A round goes to the keys and back, so the error shrinks by the square of the damping."""
    return max(1, ceil(log(tolerance) / (2 * log(damping)))) if damping > 0 else 1


def push(
    key_chunks: CsrLists, chunk_keys: CsrLists, key_restart: Seeds, chunk_restart: Seeds, damping: float
) -> Floats:
    """PageRank of chunks by local push: mass below a precision times a node's degree stays where it is.

    Work depends on the restart, not on the graph. Source: docs/algorithm.md §search.12.

    Args:
        key_chunks: As for `power`.
        chunk_keys: As for `power`.
        key_restart: As for `power`.
        chunk_restart: As for `power`.
        damping: As for `power`.

    Returns:
        Shape (chunks,), up to a common factor.

    """
    sides = (key_chunks, chunk_keys)
    rank = [np.zeros(len(side)) for side in sides]
    rest = [_spread_out(key_restart, key_chunks), _spread_out(chunk_restart, chunk_keys)]
    seen = [np.empty(len(side), np.int64) for side in sides]
    reached, waiting = key_restart[0], chunk_restart[0]
    for step in range(_MOST_STEPS):
        side, other = step % 2, 1 - step % 2
        active = _above(sides[side], rest[side], reached, seen[side])
        if not (len(active) or len(waiting)):
            break
        moved = _settle(rank[side], rest[side], active, damping)
        reached = np.concatenate([waiting, _spread(sides[side], active, moved, rest[other])])
        waiting = waiting[:0]
    return rank[1] + (1 - damping) * rest[1]


def _above(lists: CsrLists, rest: Floats, rows: npt.NDArray[Any], seen: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The rows with mass to move, each once; `seen` is scratch space, which spares a sort."""
    if _SCANNED * len(rows) > len(rest):
        return np.flatnonzero(rest > _PRECISION * lists.degrees)
    heavy = rows[rest[rows] > _PRECISION * lists.degrees[rows]]
    place = np.arange(len(heavy))
    seen[heavy] = place
    return np.asarray(heavy[seen[heavy] == place])


def _settle(rank: Floats, rest: Floats, rows: npt.NDArray[Any], damping: float) -> Floats:
    mass: Floats = rest[rows]
    rank[rows] += (1 - damping) * mass
    rest[rows] = 0
    return damping * mass


def _spread(lists: CsrLists, rows: npt.NDArray[Any], mass: Floats, rest: Floats) -> npt.NDArray[Any]:
    """Pass mass to neighbours; the neighbours, as often as they were reached."""
    owner, place = lists.gather(rows)
    reached = lists.items[place]
    np.add.at(rest, reached, (mass / lists.degrees[rows])[owner])
    return reached


def _to_one(key: Floats, chunk: Floats) -> tuple[Floats, Floats]:
    total = key.sum() + chunk.sum()
    return (key / total, chunk / total) if total > 0 else (key, chunk)
