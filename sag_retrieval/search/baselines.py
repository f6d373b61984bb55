"""The ways to search without a graph walk: vectors, full text, and the bridge on both."""

import numpy as np

from sag_retrieval.core.types import Flags
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.boosts import build_bridges
from sag_retrieval.search.method import Query, QuerySimilarity, Ranking, Stopwatch, parse_query, rank_by
from sag_retrieval.search.options import SAG
from sag_retrieval.search.rank import bridge_strength, read_texts


def dense(index: Index, query: Query) -> Ranking:
    """Chunks by the cosine of their vector with the query's."""
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = parse_query(index, query)
    with stopwatch("rank"):
        scores = QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all()
    return rank_by(scores, query.top_k, _allowed(query), {"cosine": scores}, stopwatch.seconds)


def bm25(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 of their indexed text."""
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = parse_query(index, query)
    with stopwatch("rank"):
        scores = index.arrays.chunk_text.scores(reading.terms)
    return rank_by(scores, query.top_k, _allowed(query), {"bm25": scores}, stopwatch.seconds)


def bridge(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 + cosine in context, then by bridges between them; no walk from keys."""
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = parse_query(index, query)
    with stopwatch("text"):
        route = read_texts(index, reading, SAG)
    root = np.sqrt(route.in_context)
    strength = bridge_strength(index.arrays, reading, route.chunks_per_document, SAG)
    with stopwatch("bridge"):
        bridges = build_bridges(index.arrays, root, reading.terms, SAG, _allowed(query))
    added = np.zeros(len(root))
    added[bridges.ends] = strength * bridges.gains
    parts = {"text": root, "bridge": added, "cosine": route.cosine, "bm25": route.bm25}
    return rank_by(root + added, query.top_k, _allowed(query), parts, stopwatch.seconds)


def _allowed(query: Query) -> Flags | None:
    return query.allowed.chunks if query.allowed else None
