"""What changes the order of ranked chunks: titles that the query names, and joint coverage of its words."""

import numpy as np

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.release.arrays import Arrays
from sag_retrieval.release.text_index import Postings
from sag_retrieval.search.method import ParsedQuery, best_rows
from sag_retrieval.search.options import SearchOptions


def boost_mentioned_titles(
    arrays: Arrays, reading: ParsedQuery, scores: Floats, length: float, options: SearchOptions
) -> Floats:
    """Scores in which the best chunk about each thing that the query names is at least at the floor.

    The other chunks about it rise in the same proportion. Of a question about two things, the better known one fills
    the first places otherwise. The floor is `1 − (1 − named floor) / n`: where documents are long, every chunk of a
    named document holds the name, and each such document gets its turn.

    Args:
        arrays: The graph.
        reading: Of the query.
        scores: Shape (chunks,), in [0, 1].
        length: n, chunks that documents typically have here, at least 1.
        options: The floor, and how many documents may be about the thing.

    Source:
        docs/algorithm.md §search.13.

    """
    if options.named_floor <= 0:
        return scores
    floor = 1 - (1 - options.named_floor) / length
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    lifted = scores.copy()
    for _, keys in reading.mentions:
        chunks = chunks_about(arrays, keys, allowed)
        best = scores[chunks].max(initial=0.0)
        if 0 < best < floor and len(np.unique(arrays.chunk_document[chunks])) <= options.named_documents:
            lifted[chunks] = np.maximum(lifted[chunks], scores[chunks] / best * floor)
    return lifted


def chunks_about(arrays: Arrays, keys: Rows, allowed: Flags | None = None) -> Rows:
    """The allowed chunks whose main key is one of some keys; ascending for one key."""
    keys = keys[arrays.is_main_key[keys]]
    owner, place = arrays.key_chunks.gather(keys)
    chunks: Rows = arrays.key_chunks.items[place]
    is_about = arrays.chunk_main_key[chunks] == keys[owner]
    return np.asarray(chunks[is_about if allowed is None else is_about & allowed[chunks]])


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
