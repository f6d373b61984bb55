"""Joint coverage: the best chunks in an order in which each adds what the ones before it lack."""

import numpy as np

from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.release.postings import Postings
from sag_retrieval.search.ranking import best_rows


def cover(
    scores: Floats,
    text: Postings,
    terms: dict[int, int],
    weight: float,
    pool: int,
    allowed: Flags | None = None,
) -> Floats:
    """`score / max + weight · idf share of the query terms that a chunk is the first to hold`, greedily.

    The words of a question over several passages are spread over them; a second passage on the same words is
    worth less than the first one on the others. Scores descend in the order taken.

    Args:
        scores: Shape (chunks,), not negative.
        text: Postings of the chunks.
        terms: Of the query.
        weight: 0 leaves the order as it is.
        pool: How many of the best chunks are put in order.
        allowed: Chunks that may be found.

    Returns:
        Shape (chunks,).

    Source:
        docs/algorithm.md §search.14.

    """
    scaled = scores / (scores.max(initial=0) or 1)
    idf = np.array([count * float(text.idf[term]) for term, count in terms.items()])
    if weight <= 0 or idf.sum() <= 0:
        return scaled
    rows = best_rows(scaled, pool, allowed)
    holds = text.matrix(terms, rows) > 0
    gained = _greedy(scaled[rows], holds, weight * idf / idf.sum())
    covered = scaled.copy()
    covered[rows] += gained
    return covered


def _greedy(scores: Floats, holds: Flags, share: Floats) -> Floats:
    """Shape (rows,): what each row gains when rows are taken by score plus gain, ties by position."""
    gained = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    open_share = share.copy()
    while left.any() and open_share.any():
        gain = open_share @ holds
        taken = int(np.argmax(np.where(left, scores + gain, -np.inf)))
        gained[taken] = gain[taken]
        left[taken] = False
        open_share[holds[:, taken]] = 0
    return gained
