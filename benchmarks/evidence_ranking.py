"""Rankings that the evidence benchmark can take: its own, and that of any release."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from sag_retrieval import open_release
from sag_retrieval.core.records import Chunk
from sag_retrieval.segments import CANDIDATES
from sag_retrieval.text.words import tokens

Floats = npt.NDArray[np.float64]
Hits = list[tuple[str, int, float]]
Rank = Callable[[str], Hits]
Ranking = Callable[[Sequence[Chunk]], Rank]
"""Given all chunks: a function from a question to its best hits (document, number of the chunk, score)."""


def bm25_and_cosine(chunks: Sequence[Chunk]) -> Rank:
    """Half BM25, half the cosine of terms weighted by rarity, each stretched to 0 to 1 for the question."""
    numbers: dict[str, int] = {}
    pairs = [
        (row, numbers.setdefault(term, len(numbers)))
        for row, chunk in enumerate(chunks)
        for term in tokens(chunk.indexed_text)
    ]
    rows, columns = np.array(pairs).T
    counts = csr_array(coo_array((np.ones(len(pairs)), (rows, columns)), shape=(len(chunks), len(numbers))))
    counts.sum_duplicates()
    spread = np.bincount(counts.indices, minlength=len(numbers))
    rarity = np.log1p((len(chunks) - spread + 0.5) / (spread + 0.5))
    per_row = np.diff(counts.indptr)
    lengths = counts.sum(axis=1)
    okapi, cosine = counts.copy(), counts.copy()
    norm = np.repeat(1.2 * (0.25 + 0.75 * lengths / lengths.mean()), per_row)
    okapi.data = rarity[counts.indices] * counts.data * 2.2 / (counts.data + norm)
    cosine.data = (1 + np.log(counts.data)) * rarity[counts.indices]
    cosine.data /= np.repeat(np.sqrt(cosine.multiply(cosine).sum(axis=1)), per_row)
    okapi_terms, cosine_terms = okapi.T.tocsr(), cosine.T.tocsr()

    def rank(question: str) -> Hits:
        known = [numbers[term] for term in tokens(question) if term in numbers]
        terms, times = np.unique(np.array(known, dtype=np.int64), return_counts=True)
        weights = (1 + np.log(times)) * rarity[terms]
        scores = _stretched(okapi_terms[terms].T @ np.ones(len(terms)))
        scores = scores + _stretched(cosine_terms[terms].T @ weights)
        best = np.argsort(-scores, kind="stable")[:CANDIDATES]
        return [(chunks[row].document_id, chunks[row].chunk_index, float(scores[row])) for row in best]

    return rank


def _stretched(scores: Floats) -> Floats:
    low, high = scores.min(), scores.max()
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def by_release(home: str, method: str) -> Ranking:
    """The ranking of the current release at `home`; its chunks carry the headers they were ingested with."""

    def ranking(chunks: Sequence[Chunk]) -> Rank:
        release = open_release(home)
        places = {chunk.chunk_id: (chunk.document_id, chunk.chunk_index) for chunk in chunks}

        def rank(question: str) -> Hits:
            hits = release.search(question, top_k=CANDIDATES, method=method).hits
            return [(*places[hit.chunk_id], hit.raw_score) for hit in hits]

        return rank

    return ranking
