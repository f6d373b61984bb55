"""Stages 1 and 2: from the query to weighted keys, by seed keys, similar events and further hops."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import ParsedQuery, QuerySimilarity
from sag_retrieval.search.options import SearchOptions
from sag_retrieval.search.weights import (
    event_weights,
    key_weights,
    links_from,
    look_up,
    normalise,
    rarity,
    sharpen,
)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedKeys:
    """Keys in ascending row order, their weights, and the first hop that reached each."""

    rows: Rows
    weights: Floats
    hops: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Expansion:
    """The result of stage 1: seed keys with reasons, the events used, and the final keys."""

    seeds: WeightedKeys
    reasons: dict[int, str]
    events: Rows
    event_weights: Floats
    keys: WeightedKeys


def expand(index: Index, reading: ParsedQuery, options: SearchOptions) -> Expansion:
    """Seed keys, and keys that share with them an event like the query (docs/algorithm.md §search.4 to §search.8)."""
    allowed = reading.query.allowed.keys if reading.query.allowed else None
    seeds, reasons = seed_keys(index, reading, options)
    found, cosine = similar_events(index, reading, options)
    carrying = _carrying(index, found, seeds.rows, allowed)
    events, cosine = found[carrying], cosine[carrying]
    links, neighbours = links_from(index.arrays.event_keys, events, allowed)
    likeness = sharpen(cosine, options.formula.sharpness)
    weight_of_key = look_up(seeds.rows, seeds.weights, neighbours)
    weight = event_weights(links, weight_of_key, likeness) if weight_of_key.any() else likeness
    back = key_weights(links, weight, len(neighbours)) * _rarity(index, neighbours, options.formula.back_idf)
    back *= index.leads[neighbours]
    kept, kept_weight = prune(neighbours, back, options)
    keys = WeightedKeys(kept, kept_weight, np.ones(len(kept), np.int32))
    return Expansion(seeds, reasons, events, weight, keys)


def seed_keys(index: Index, reading: ParsedQuery, options: SearchOptions) -> tuple[WeightedKeys, dict[int, str]]:
    """Step 1: keys mentioned in the query or given (similarity 1), and keys similar to either; with reasons."""
    allowed = reading.query.allowed.keys if reading.query.allowed else None
    found: dict[int, tuple[float, str]] = {}
    for rows, cosines, reason in _sources(index, reading, options, allowed):
        for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            if cosine > found.get(row, (0.0, ""))[0] and (allowed is None or allowed[row]):
                found[row] = min(cosine, 1.0), reason
    rows = np.array(sorted(found), np.int32)
    cosines = np.array([found[row][0] for row in rows.tolist()])
    weights = sharpen(cosines, options.formula.sharpness) * _rarity(index, rows, options.formula.seed_idf)
    reasons = {row: reason for row, (_, reason) in found.items()}
    return WeightedKeys(rows, weights, np.zeros(len(rows), np.int32)), reasons


def _sources(
    index: Index, reading: ParsedQuery, options: SearchOptions, allowed: Flags | None
) -> Iterator[tuple[Rows, Floats, str]]:
    """Keys, their similarity, and their origin; the most reliable origin first. Only given ones where events start."""
    for name, rows, vector in reading.given:
        yield rows, np.ones(len(rows)), f"given: {name}"
        yield *_similar_keys(index, vector, options.key_count, allowed), f"like the given {name}"
    if options.formula.start == "events" or (reading.given and not options.formula.join_given_keys):
        return
    for name, rows in reading.mentions if options.formula.use_mentions else ():
        yield rows, np.ones(len(rows)), f"named: {name}"
    yield *_similar_keys(index, reading.vector, options.key_count, allowed), "like the query"


def similar_events(index: Index, reading: ParsedQuery, options: SearchOptions) -> tuple[Rows, Floats]:
    """Step 3: the events most similar to the query, ascending, and their cosines; merged vectors add more."""
    vectors = index.arrays.vectors["events"]
    allowed = reading.query.allowed.events if reading.query.allowed else None
    rows, cosines = vectors.top(reading.vector, options.event_count, allowed)
    found = dict(zip(rows.tolist(), cosines.tolist(), strict=True))
    for _ in range(options.event_merges):
        merged = _merge(reading.vector, vectors.take(rows[:_MERGED]))
        rows, cosines = vectors.top(merged, options.event_count, allowed)
        for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True):
            found.setdefault(row, cosine)
    ordered = sorted(found)
    return np.array(ordered, np.int32), np.array([found[row] for row in ordered])


_MERGED = 3
"""Number of best events with vectors merged into the query."""


def _merge(query: Vectors, events: Vectors) -> Vectors:
    """The unit vector of the query plus the mean of some events."""
    total = _row(query) + _row(events.mean(axis=0))
    merged = (total / (np.linalg.norm(total) or 1)).astype(np.float32)[None, :]
    return csr_array(merged) if isinstance(query, csr_array) else merged


def _row(vector: Any) -> Floats:  # noqa: ANN401  a mean of sparse rows is not of type Vectors
    dense = vector.toarray() if isinstance(vector, csr_array) else np.asarray(vector)
    return np.asarray(dense.reshape(-1), np.float64)


def prune(rows: Rows, weights: Floats, options: SearchOptions) -> tuple[Rows, Floats]:
    """Step 8: the keys of highest weight, ascending by row, above 0 and at least at the threshold."""
    if options.formula.normalise:
        weights = normalise(weights)
    least = options.final_threshold * weights.max(initial=0.0)
    order = np.lexsort((rows, -weights))[: options.final_count]
    kept = np.sort(order[(weights[order] > 0) & (weights[order] >= least)])
    return rows[kept], weights[kept]


def _carrying(index: Index, found: Rows, seeds: Rows, allowed: Flags | None) -> Flags:
    """Step 4: which of the similar events have a seed key; all of them if none has."""
    links, keys = links_from(index.arrays.event_keys, found, allowed)
    carrying = np.zeros(len(found), bool)
    carrying[links.event[np.isin(keys, seeds)[links.key]]] = True
    return carrying if carrying.any() else ~carrying


def _similar_keys(index: Index, vector: Vectors, count: int, allowed: Flags | None) -> tuple[Rows, Floats]:
    rows, cosines = index.arrays.vectors["keys"].top(vector, count, allowed)
    return rows, np.asarray(cosines, np.float64)


def _rarity(index: Index, keys: Rows, power: float) -> Floats:
    return rarity(index.arrays.key_idf[keys], index.arrays.highest_idf, power)


def propagate(index: Index, reading: ParsedQuery, start: WeightedKeys, options: SearchOptions) -> list[WeightedKeys]:
    """The keys after each further hop until one adds fewer than `least_gain` (docs/algorithm.md §search.9)."""
    found = [start]
    likeness = QuerySimilarity(index.arrays.vectors["events"], reading.vector)
    for hop in range(2, options.hops + 1):
        keys = _hop(index, reading, likeness, found[-1], hop, options)
        gained = np.count_nonzero(keys.hops == hop)
        found.append(keys)
        if gained < options.least_gain:
            break
    return found


def _hop(
    index: Index, reading: ParsedQuery, likeness: QuerySimilarity, keys: WeightedKeys, hop: int, options: SearchOptions
) -> WeightedKeys:
    allowed = reading.query.allowed
    _, events = links_from(index.arrays.key_events, keys.rows, allowed.events if allowed else None)
    links, neighbours = links_from(index.arrays.event_keys, events, allowed.keys if allowed else None)
    similarity = sharpen(likeness.of(events), options.formula.sharpness)
    weight = event_weights(links, look_up(keys.rows, keys.weights, neighbours), similarity)
    idf = rarity(index.arrays.key_idf[neighbours], index.arrays.highest_idf, options.formula.back_idf)
    back = key_weights(links, weight, len(neighbours)) * idf * index.leads[neighbours]
    rows, weights = prune(neighbours, back, options)
    known = look_up(keys.rows, keys.hops.astype(np.float64), rows)
    return WeightedKeys(rows, weights, np.where(known > 0, known, hop).astype(np.int32))
