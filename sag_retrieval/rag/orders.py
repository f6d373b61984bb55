"""Orders of items, by PageRank over shared keys or by a choice; each keeps every item."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.core.types import Floats
from sag_retrieval.rag.data import Item

DAMPING = 0.5
_ROUNDS = 50
_RESTART_FLOOR = 0.1


def pagerank(links: csr_array, restart: Floats, damping: float = DAMPING) -> Floats:
    """How often a walk from item to key to item, which restarts at times, is at each item.

    Args:
        links: Shape (items, keys), 1 where an item has a key.
        restart: Shape (items,), not negative; where walks begin.
        damping: Chance to walk on instead of restarting.

    Returns:
        Shape (items,), sum 1; an item without keys returns its walkers to the start. No items give none.

    Source:
        docs/algorithm.md §rag.2

    """
    if not len(restart):
        return np.zeros(0)
    start = restart / restart.sum() if restart.sum() > 0 else np.full(len(restart), 1 / len(restart))
    per_item = np.maximum(links.sum(axis=1), 1)
    per_key = np.maximum(links.sum(axis=0), 1)
    has_keys = links.sum(axis=1) > 0
    rank = start
    for _ in range(_ROUNDS):
        spread = links @ ((links.T @ (rank * has_keys / per_item)) / per_key)
        rank = damping * (spread + rank[~has_keys].sum() * start) + (1 - damping) * start
    return np.asarray(rank, dtype=np.float64)


def by_pagerank(items: Sequence[Item]) -> list[tuple[int, float]]:
    """Places of the items and their PageRank, best first; ties keep their order.

    Walks start at items in proportion to their score, scaled so that the least still has a tenth of the best.
    """
    scores = np.array([float(item.get("score", 0.0)) for item in items])
    spread = np.ptp(scores) if len(scores) else 0.0
    restart = _RESTART_FLOOR + (scores - scores.min()) / spread if spread else np.ones(len(scores))
    rank = pagerank(_links(items), restart)
    return [(int(at), float(rank[at])) for at in np.argsort(-rank, kind="stable")]


def with_choice(items: Sequence[Item], chosen: Sequence[int]) -> list[tuple[int, float]]:
    """Places of the items, the chosen ones first, the rest as they were; scores fall evenly from 1."""
    order = list(dict.fromkeys([*chosen, *range(len(items))]))
    return [(at, 1 - place / len(order)) for place, at in enumerate(order)]


def reordered(items: Sequence[Item], order: Sequence[tuple[int, float]]) -> list[Item]:
    """Items in a new order with their new score, and their rank before, from 1."""
    return [items[at] | {"score": score, "previous_rank": at + 1} for at, score in order]


def _links(items: Sequence[Item]) -> csr_array:
    pairs = [(at, key) for at, item in enumerate(items) for key in sorted(set(_keys(item)))]
    number = {key: n for n, key in enumerate(dict.fromkeys(key for _, key in pairs))}
    rows = np.array([at for at, _ in pairs], dtype=np.intp)
    columns = np.array([number[key] for _, key in pairs], dtype=np.intp)
    return csr_array((np.ones(len(pairs)), (rows, columns)), shape=(len(items), len(number)))


def _keys(item: Item) -> list[str]:
    keys: list[Any] = (item.get("metadata") or {}).get("keys") or []
    return [f"{key.get('type', '')}\x1f{key.get('value', '')}" if isinstance(key, dict) else str(key) for key in keys]
