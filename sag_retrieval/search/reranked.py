"""A stage after a method: a cross-encoder reads the question and each of the best chunks together."""

from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.models.local import open_cross_encoder
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import Method, Query, Ranking

POOL: Final = 30
"""Chunks that are read again: a pair takes tens of milliseconds of a small model, so this costs a second; the chunks
that `coverage` reorders are as many."""


def reranked(method: Method, model: str) -> Method:
    """The method with its best chunks in the order of a cross-encoder, such as `fastembed:<name or folder>`.

    Scores stay the method's own, in descending order: those of a cross-encoder have no scale that models share. Ties
    keep the method's order.

    Raises:
        SettingsError: When it ranks, if the model cannot be loaded.
    """

    def both(index: Index, query: Query) -> Ranking:
        found = method(index, replace(query, top_k=max(query.top_k, POOL)))
        pool = found.chunks[:POOL]
        texts = index.rows["chunks"]["text"].take(pool).to_pylist()
        relevance = np.asarray(open_cross_encoder(model)([(query.text, text) for text in texts]), np.float64)
        order = np.arange(len(found.chunks))
        order[: len(pool)] = np.argsort(-relevance, kind="stable")
        parts = {name: part[order] for name, part in found.parts.items()}
        return replace(found, chunks=found.chunks[order], parts=parts).first(query.top_k)

    return both
