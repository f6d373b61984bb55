"""Personalised PageRank on the graph of keys and chunks: by power iteration, or near its seeds by push."""

from math import ceil, log
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.release.mapped import Lists
from sag_retrieval.search.method import Floats, Rows

SMALL_GRAPH: Final = 20_000
"""Nodes up to which power iteration is as fast as push."""
_TOLERANCE: Final = 1e-5
"""Share of all mass that power iteration may still misplace."""
_PRECISION: Final = 3e-6
"""Mass, as a share of a node's degree, that push leaves where it is."""
_MOST_ROUNDS: Final = 200

Seeds = tuple[Rows, Floats]
"""Rows, each once, and what each gets of the restart."""


def power(
    key_chunks: Lists, chunk_keys: Lists, key_restart: Seeds, chunk_restart: Seeds, damping: float
) -> tuple[Floats, Floats]:
    """PageRank of keys and chunks, to sum 1; a node without links passes nothing on.

    `p = (1 − d) · restart + d · Σ_neighbours p / degree`, docs/algorithm.md §search.12.

    Args:
        key_chunks: Chunks of each key.
        chunk_keys: Keys of each chunk.
        key_restart: Key rows, each once, and their shares, not negative.
        chunk_restart: Chunk rows, each once, and their shares; all shares sum to 1.
        damping: d in [0, 1).

    """
    of_key, of_chunk = _matrix(key_chunks, len(chunk_keys)), _matrix(chunk_keys, len(key_chunks))
    pass_key, pass_chunk = (damping * _inverse(side.sizes()) for side in (key_chunks, chunk_keys))
    stay_key = (1 - damping) * _spread_out(key_restart, key_chunks)
    stay_chunk = (1 - damping) * _spread_out(chunk_restart, chunk_keys)
    key, chunk = stay_key, stay_chunk
    for _ in range(_rounds(damping)):
        key = stay_key + of_key @ (chunk * pass_chunk)
        chunk = stay_chunk + of_chunk @ (key * pass_key)
    return _to_one(key, chunk)


def _matrix(lists: Lists, width: int) -> csr_array:
    return csr_array((np.ones(len(lists.items)), lists.items, lists.starts), shape=(len(lists), width))


def _spread_out(seeds: Seeds, lists: Lists) -> Floats:
    whole = np.zeros(len(lists))
    whole[seeds[0]] = seeds[1]
    return whole


def _rounds(damping: float) -> int:
    """A round goes to the keys and back, so the error shrinks by the square of the damping."""
    return max(1, ceil(log(_TOLERANCE) / (2 * log(damping)))) if damping > 0 else 1


def push(key_chunks: Lists, chunk_keys: Lists, key_restart: Seeds, chunk_restart: Seeds, damping: float) -> Floats:
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
    reached: list[npt.NDArray[Any]] = [key_restart[0], chunk_restart[0]]
    seen = [np.empty(len(side), np.int64) for side in sides]
    for _ in range(_MOST_ROUNDS):
        active = [_above(sides[side], rest[side], reached[side], seen[side]) for side in (0, 1)]
        if not (len(active[0]) or len(active[1])):
            break
        moved = [_settle(rank[side], rest[side], active[side], damping) for side in (0, 1)]
        reached = [_spread(sides[1 - side], active[1 - side], moved[1 - side], rest[side]) for side in (0, 1)]
    return rank[1] + (1 - damping) * rest[1]


def _above(lists: Lists, rest: Floats, rows: npt.NDArray[Any], seen: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """The rows with mass to move, each once; `seen` is scratch space, which spares a sort."""
    degree = lists.starts[rows + 1] - lists.starts[rows]
    heavy = rows[rest[rows] > _PRECISION * np.maximum(degree, 1)]
    place = np.arange(len(heavy))
    seen[heavy] = place
    return np.asarray(heavy[seen[heavy] == place])


def _settle(rank: Floats, rest: Floats, rows: npt.NDArray[Any], damping: float) -> Floats:
    mass: Floats = rest[rows]
    rank[rows] += (1 - damping) * mass
    rest[rows] = 0
    return damping * mass


def _spread(lists: Lists, rows: npt.NDArray[Any], mass: Floats, rest: Floats) -> npt.NDArray[Any]:
    """Pass mass to neighbours; the neighbours, as often as they were reached."""
    owner, place = lists.places(rows)
    degree = lists.starts[rows + 1] - lists.starts[rows]
    reached = lists.items[place]
    np.add.at(rest, reached, (mass / np.maximum(degree, 1))[owner])
    return reached


def _inverse(degree: npt.NDArray[Any]) -> Floats:
    return np.asarray(np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0))


def _to_one(key: Floats, chunk: Floats) -> tuple[Floats, Floats]:
    total = key.sum() + chunk.sum()
    return (key / total, chunk / total) if total > 0 else (key, chunk)
