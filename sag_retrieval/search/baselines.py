"""The ways to search without a graph walk: vectors, full text, and the bridge on both."""

import numpy as np

from sag_retrieval.release.index import Index
from sag_retrieval.search.bridge import build_bridges
from sag_retrieval.search.context import read_texts
from sag_retrieval.search.method import Flags, Query, Ranking
from sag_retrieval.search.options import SAG
from sag_retrieval.search.parsed_query import QuerySimilarity, parse_query
from sag_retrieval.search.rank import bridge_strength
from sag_retrieval.search.ranking import Stopwatch, rank_by


def dense(index: Index, query: Query) -> Ranking:
    """Chunks by the cosine of their vector with the query's."""
    watch = Stopwatch()
    reading = watch("read", lambda: parse_query(index, query))
    scores = watch("rank", lambda: QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all())
    return rank_by(scores, query.top_k, _allowed(query), {"cosine": scores}, watch.seconds)


def bm25(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 of their indexed text."""
    watch = Stopwatch()
    reading = watch("read", lambda: parse_query(index, query))
    scores = watch("rank", lambda: index.arrays.chunk_text.scores(reading.terms))
    return rank_by(scores, query.top_k, _allowed(query), {"bm25": scores}, watch.seconds)


def bridge(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 + cosine in context, then by bridges between them; no walk from keys."""
    watch = Stopwatch()
    reading = watch("read", lambda: parse_query(index, query))
    route = watch("text", lambda: read_texts(index, reading, SAG))
    root = np.sqrt(route.in_context)
    strength = bridge_strength(index.arrays, reading, route.chunks_per_document, SAG)
    bridges = watch("bridge", lambda: build_bridges(index.arrays, root, reading.terms, SAG, _allowed(query)))
    added = np.zeros(len(root))
    added[bridges.ends] = strength * bridges.gains
    parts = {"text": root, "bridge": added, "cosine": route.cosine, "bm25": route.bm25}
    return rank_by(root + added, query.top_k, _allowed(query), parts, watch.seconds)


def _allowed(query: Query) -> Flags | None:
    return query.allowed.chunks if query.allowed else None
