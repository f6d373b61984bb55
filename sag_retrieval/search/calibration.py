"""The score of a hit: how likely it answers the query, comparable between queries, methods and releases."""

from math import sqrt
from typing import Final

import numpy as np

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.language.words import tokens
from sag_retrieval.models.protocols import embed_queries, kind_of
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import Query, Ranking
from sag_retrieval.search.question_words import without_question_words

CONSTANT: Final = -2.30
COVERED: Final = 4.45
LATER: Final = -0.57
COVERED_LATER: Final = -1.32
"""The logistic's weights, as `benchmarks/calibration.py` at 672f7e66 fitted them."""
_CHANCE: Final = 5.0
"""Standard deviations: cosines of unrelated hashed texts scatter by 1 / √dimension."""
LEAST_FIT: Final = 0.15
"""Where the best hit scores less, nothing fits the query."""


def likelihoods(index: Index, query: Query, chunks: Rows) -> Floats:
    """Shape (chunks,), in (0, 1), descending: how likely each ranked chunk answers (docs/algorithm.md §search.18)."""
    covered, later = features(index, query, chunks)
    logit = CONSTANT + COVERED * covered + LATER * later + COVERED_LATER * covered * later
    return np.asarray(np.minimum.accumulate(1 / (1 + np.exp(-logit))), np.float64)


def count_likely(index: Index, query: Query, chunks: Rows, least: float) -> int:
    """How many ranked chunks have at least this score."""
    if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
        raise QueryError(f"min_score must be a number from 0 to 1, got {shown(least)}; 0 leaves out nothing")
    return int(np.count_nonzero(likelihoods(index, query, chunks) >= least))


def shares_nothing(index: Index, query: Query, ranking: Ranking) -> bool:
    """Whether no word or name of the query occurs in the release, nor anything spelled like one.

    With the hashing embedder a cosine that is no chance shows a spelling; a semantic one finds other words, and is
    believed.
    """
    embedder, arrays = index.embedder, index.arrays
    if query.keys or not query.text.strip() or kind_of(embedder) != "hashing":
        return False
    if arrays.terms.numbers(query.text) or arrays.mentions.find(query.text):
        return False
    cosines = arrays.vectors["chunks"].scores(embed_queries(embedder, [query.text]), ranking.chunks)
    return bool(cosines.max(initial=0.0) < _CHANCE / sqrt(embedder.dimension))


def features(index: Index, query: Query, chunks: Rows) -> tuple[Floats, Floats]:
    """For ranked chunks the idf share of the query's terms that each holds, and the logarithm of its rank.

    A word that no document holds counts as the rarest one, so that a query of unknown words is covered nowhere.
    """
    text = index.arrays.chunk_text
    asked = query.text if query.text.strip() else " ".join(query.keys)
    distinct = dict.fromkeys(tokens(without_question_words(asked)) or tokens(asked))
    numbers = [index.arrays.terms.trie.get(token) for token in distinct]
    known = {number: 1.0 for number in numbers if number is not None}
    unknown = len(numbers) - len(known)
    idf = np.array([float(text.idf[number]) for number in known])
    total = idf.sum() + unknown * np.log1p(2 * text.row_count + 1)
    held = idf @ (text.matrix(known, chunks) > 0) if known else np.zeros(len(chunks))
    covered = held / total if total > 0 else np.zeros(len(chunks))
    return np.asarray(covered, np.float64), np.log1p(np.arange(len(chunks)))
