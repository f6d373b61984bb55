"""Stage 2, further hops: from the keys found to all their events, and back to keys."""

import numpy as np

from sag_retrieval.release.index import Index
from sag_retrieval.search.expand import WeightedKeys, prune
from sag_retrieval.search.options import SearchOptions
from sag_retrieval.search.parsed_query import ParsedQuery, QuerySimilarity
from sag_retrieval.search.weights import event_weights, key_weights, links_from, look_up, rarity, sharpen


def propagate(index: Index, reading: ParsedQuery, start: WeightedKeys, options: SearchOptions) -> list[WeightedKeys]:
    """The keys after each further hop, the last ones being final; the start alone where one hop is asked for.

    Ends early when a hop gains fewer than `least_gain` new keys. Source: docs/algorithm.md §search.9.
    """
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
    links, beside = links_from(index.arrays.event_keys, events, allowed.keys if allowed else None)
    similarity = sharpen(likeness.of(events), options.sharpness)
    weight = event_weights(links, look_up(keys.rows, keys.weights, beside), similarity)
    idf = rarity(index.arrays.key_idf[beside], index.arrays.highest_idf, options.back_idf)
    rows, weights = prune(beside, key_weights(links, weight, len(beside)) * idf, options)
    known = look_up(keys.rows, keys.hops.astype(np.float64), rows)
    return WeightedKeys(rows, weights, np.where(known > 0, known, hop).astype(np.int32))
