"""The text route: how well a chunk's own words, its document and its neighbours answer the query."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.release.arrays import Arrays, Index
from sag_retrieval.search.method import ParsedQuery
from sag_retrieval.search.options import SearchOptions
from sag_retrieval.search.weights import min_max

_TYPICAL = 20
"""Best chunks whose documents say how long documents are here."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRoute:
    """Shape (chunks,) each: similarity of the chunk alone, and in context; 0 where a chunk is not allowed."""

    cosine: Floats
    bm25: Floats
    similarity: Floats
    in_context: Floats
    chunks_per_document: float
    """Geometric mean over the documents of the best chunks; 1 where each document is one chunk."""


def read_texts(index: Index, reading: ParsedQuery, options: SearchOptions) -> TextRoute:
    """Similarity of every chunk by itself, then with its document and neighbours where documents are long.

    Source:
        docs/algorithm.md §search.11.

    """
    arrays, query = index.arrays, reading.query
    allowed = query.allowed.chunks if query.allowed else None
    cosine = np.asarray(arrays.vectors["chunks"].scores(reading.vector), np.float64)
    bm25 = arrays.chunk_text.scores(reading.terms)
    if options.use_bm25:
        parts = relative(cosine, allowed), relative(bm25, allowed)
        length = typical_length(arrays, 0.5 * parts[0] + 0.5 * parts[1])
        exact = 0.5 + options.exact_gain * (1 - 1 / length)
        similarity = (1 - exact) * parts[0] + exact * parts[1]
    else:
        similarity = np.maximum(cosine, 0) if allowed is None else np.where(allowed, np.maximum(cosine, 0), 0)
        length = typical_length(arrays, similarity)
    in_context = _in_context(arrays, reading, similarity, length, options)
    return TextRoute(cosine, bm25, similarity, in_context, length)


def relative(values: Floats, allowed: Flags | None) -> Floats:
    """`min_max`, and 1 for allowed values that are all equal and above 0: the only passage there is has been found."""
    scaled = min_max(values, allowed)
    if scaled.any():
        return scaled
    return np.asarray((values > 0) if allowed is None else (values > 0) & allowed, np.float64)


def typical_length(arrays: Arrays, similarity: Floats) -> float:
    """Geometric mean of the sizes of the documents of the best chunks (docs/algorithm.md §search.11)."""
    if arrays.document_count == arrays.chunk_count:
        return 1.0
    count = min(_TYPICAL, len(similarity))
    best = np.argpartition(-similarity, count - 1)[:count] if count else np.zeros(0, np.intp)
    documents = arrays.chunk_document[best]
    sizes = arrays.document_chunks[documents + 1] - arrays.document_chunks[documents]
    return float(np.exp(np.log(sizes).mean())) if count else 1.0


def _in_context(
    arrays: Arrays, reading: ParsedQuery, similarity: Floats, length: float, options: SearchOptions
) -> Floats:
    if arrays.document_count == arrays.chunk_count:
        return similarity
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    if not (options.document_context or options.neighbour_context):
        return similarity
    whole = min_max(arrays.document_text.scores(reading.terms))[arrays.chunk_document]
    weight = options.document_context * (1 - 1 / length)
    beside = best_neighbour(similarity, arrays.chunk_document)
    return relative(similarity + weight * whole + options.neighbour_context * beside, allowed)


def best_neighbour(similarity: Floats, document: npt.NDArray[Any]) -> Floats:
    """Shape (chunks,): the better of the chunks before and after in the same document; 0 without any."""
    joined = document[1:] == document[:-1]
    best = np.zeros(len(similarity))
    best[1:] = np.where(joined, similarity[:-1], 0)
    best[:-1] = np.maximum(best[:-1], np.where(joined, similarity[1:], 0))
    return best
