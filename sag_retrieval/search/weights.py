"""Formulas that pass weights between keys, events and chunks, and personalised PageRank on their graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.release.mapped_arrays import CsrLists


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs of positions in two lists of rows: which event has which key."""

    event: npt.NDArray[np.intp]
    key: npt.NDArray[np.intp]


def sharpen(similarity: npt.NDArray[Any], power: float) -> Floats:
    """`max(0, similarity)^power`: a power that sharpens the ranking, docs/algorithm.md §search.4."""
    return np.asarray(np.maximum(similarity, 0), np.float64) ** power


def rarity(idf: npt.NDArray[Any], highest: float, power: float) -> Floats:
    """`(idf / highest idf)^power`; 1 if no key is rarer than another, docs/algorithm.md §search.4."""
    if power == 0 or highest <= 0:
        return np.ones(len(idf))
    return np.asarray(np.asarray(idf, np.float64) / highest, np.float64) ** power


def event_weights(links: Links, key_weight: Floats, similarity: Floats) -> Floats:
    """`w(e) = similarity(e) · Σ key_weight(k)` over the keys k of e, docs/algorithm.md §search.6; 0 without keys."""
    return sum_at(links.event, key_weight[links.key], len(similarity)) * similarity


def key_weights(links: Links, event_weight: Floats, key_count: int) -> Floats:
    """`w(k) = Σ event_weight(e)` over the events e with k, docs/algorithm.md §search.7."""
    return sum_at(links.key, event_weight[links.event], key_count)


def chunk_weights(similarity: Floats, key_term: Floats, share: float) -> Floats:
    """`W_init = share · s + ln(1 + key term)`, docs/algorithm.md §search.10."""
    return share * similarity + np.log1p(key_term)


def key_terms(weight: Floats, count: npt.NDArray[Any], hop: npt.NDArray[Any]) -> Floats:
    """The contribution of a key to a chunk's key term: `weight · ln(1 + count) / hop`, docs/algorithm.md §search.10."""
    return np.asarray(weight * np.log1p(count) / hop, np.float64)


def normalise(weight: Floats) -> Floats:
    """Weights divided by their maximum; unchanged if it is not positive."""
    highest = weight.max(initial=0.0)
    return weight / highest if highest > 0 else weight


def min_max(values: npt.NDArray[Any], allowed: Flags | None = None) -> Floats:
    """Values scaled to [0, 1] over the allowed rows, 0 elsewhere; all 0 if they are equal."""
    values = np.asarray(values, np.float64)
    inside = values if allowed is None else values[allowed]
    if not len(inside) or inside.max() <= inside.min():
        return np.zeros(len(values))
    scaled = (values - inside.min()) / (inside.max() - inside.min())
    return scaled if allowed is None else np.where(allowed, scaled, 0.0)


def sum_at(position: npt.NDArray[np.intp], value: Floats, size: int) -> Floats:
    """Shape (size,): the sum of the values at each position."""
    return np.asarray(np.bincount(position, weights=value, minlength=size), np.float64)


def look_up(rows: Rows, values: Floats, wanted: npt.NDArray[Any]) -> Floats:
    """Values of wanted rows in an ascending list of rows; 0 for rows not in it."""
    if not len(rows):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
    return np.where(rows[place] == wanted, values[place], 0.0)


def links_from(lists: CsrLists, rows: Rows, allowed: Flags | None) -> tuple[Links, Rows]:
    """Links of some rows to the allowed items of their lists, and those items, ascending, each once."""
    owner, place = lists.gather(rows)
    items = lists.items[place]
    if allowed is not None:
        owner, items = owner[allowed[items]], items[allowed[items]]
    found, position = np.unique(items, return_inverse=True)
    return Links(owner.astype(np.intp), position), found


SMALL_GRAPH: Final = 20_000
"""Number of nodes up to which power iteration is as fast as push."""
_TOLERANCE: Final = 1e-5
"""Remaining error of power iteration, as a share of all mass."""
_PRECISION: Final = 6e-6
"""Mass per degree of a node below which push stops."""
_SCANNED: Final = 16
"""A side is scanned completely if more than this fraction of it (with repeats) was reached."""
_MOST_STEPS: Final = 400

Seeds = tuple[Rows, Floats]
"""Rows, each once, and their restart shares."""


def power(
    key_chunks: CsrLists,
    chunk_keys: CsrLists,
    key_restart: Seeds,
    chunk_restart: Seeds,
    damping: float,
    tolerance: float = _TOLERANCE,
) -> tuple[Floats, Floats]:
    """PageRank of keys and chunks, with sum 1: `p = (1 − d) · restart + d · Σ_neighbours p / degree`.

    All restart shares sum to 1; a node without links passes nothing on. Source: docs/algorithm.md §search.12.
    """
    of_key, of_chunk = key_chunks.links, chunk_keys.links
    pass_key, pass_chunk = (damping / side.degrees for side in (key_chunks, chunk_keys))
    stay_key = (1 - damping) * _spread_out(key_restart, key_chunks)
    stay_chunk = (1 - damping) * _spread_out(chunk_restart, chunk_keys)
    before = chunk = stay_chunk
    for onward, back in _steps(damping, tolerance):
        key = stay_key + of_key @ (chunk * pass_chunk)[: of_key.shape[1]]
        passed = stay_chunk + of_chunk @ (key * pass_key)[: of_chunk.shape[1]]
        before, chunk = chunk, back * (chunk - before) + before + onward * (passed - chunk)
    chunk = np.maximum(chunk, 0)
    key = stay_key + of_key @ (chunk * pass_chunk)[: of_key.shape[1]]
    total = key.sum() + chunk.sum()
    return (key / total, chunk / total) if total > 0 else (key, chunk)


def _spread_out(seeds: Seeds, lists: CsrLists) -> Floats:
    whole = np.zeros(len(lists))
    whole[seeds[0]] = seeds[1]
    return whole


def _steps(damping: float, tolerance: float) -> Iterator[tuple[float, float]]:
    """How far each round moves on, and away from the round before: Chebyshev's acceleration.

    A round passes to the keys and back, which is symmetric up to a scale and shrinks all mass by factors between 0 and
    the square of the damping, so known steps need 7 rounds for what plain rounds need 17 (at a damping of .7).
    """
    widest = damping**2
    ratio = widest / (2 - widest)
    shrinks = ratio / (1 + sqrt(1 - ratio**2))
    weight = 1.0
    for number in range(max(1, ceil(log(tolerance / 2) / log(shrinks))) if shrinks > 0 else 1):
        if number:
            weight = 1 / (1 - ratio**2 * weight / (2 if number == 1 else 4))
        yield weight * 2 / (2 - widest), weight


def push(
    key_chunks: CsrLists, chunk_keys: CsrLists, key_restart: Seeds, chunk_restart: Seeds, damping: float
) -> Floats:
    """PageRank of chunks by local push, up to a common factor: little mass, for a node's degree, is not passed on.

    Work depends on the restart, not on the graph. Source: docs/algorithm.md §search.12.
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
    """The rows with mass to pass on, each once; `seen` is scratch space that avoids a sort."""
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
    """Pass mass to neighbours; returns the neighbours, repeated as often as reached."""
    owner, place = lists.gather(rows)
    reached = lists.items[place]
    np.add.at(rest, reached, (mass / lists.degrees[rows])[owner])
    return reached
