"""Think-on-Graph as a way to search: documents from the graph, chunks from their evidence and their text."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.knowledge_graph import ReleaseGraph, graph_of
from sag_retrieval.search.method import (
    Method,
    ParsedQuery,
    Query,
    QuerySimilarity,
    Ranking,
    Stopwatch,
    parse_query,
    rank_by,
)
from sag_retrieval.search.weights import min_max
from sag_retrieval.think_on_graph.method import hints_of
from sag_retrieval.think_on_graph.retriever import GraphOptions, Walk, debug_record, walk

SEARCH: Final = GraphOptions(
    use_multi_hop=True,
    max_hops=3,
    beam_width=20,
    seeds="linked",
    relevance="news",
    pruned="filled",
    shown="triples",
    judged="mixed",
)
"""As a way to search of its own: wider and farther, from linked entities, along edges that say something new."""

_BESIDE_EVIDENCE: Final = 0.5
_TEXT: Final = 0.1
_REACHED: Final = 0.01


def think_on_graph_method(
    options: GraphOptions = SEARCH,
    *,
    chat: ChatModel | None = None,
    home: Path | None = None,
) -> Method:
    """Ranks chunks by the graph score of their document; within it, by evidence, then by text.

    `score(chunk) = g · (1 if it says a triple of the evidence, else t/2) + t/10`, where g is 0.01 + 0.99 ·
    the graph score of its document, 0 if no path reaches it, and t the mean of its scaled BM25 and cosine.

    Source:
        docs/algorithm.md §think-on-graph.10

    """

    def rank(index: Index, query: Query) -> Ranking:
        stopwatch = Stopwatch()
        with stopwatch("read"):
            reading = parse_query(index, query)
        with stopwatch("text"):
            text = text_scores(index, reading)
        with stopwatch("walk"):
            found = walk_release(index, reading, options, text, chat=chat, home=home)
        known = graph_of(index, home)
        graph, is_evidence = _chunk_scores(index, known, found)
        scores = graph * np.where(is_evidence, 1.0, _BESIDE_EVIDENCE * text) + _TEXT * text
        allowed = query.allowed.chunks if query.allowed else None
        parts = {"graph": graph, "evidence": is_evidence.astype(np.float64), "text": text}
        ranking = rank_by(scores, query.top_k, allowed, parts, stopwatch.seconds)
        return replace(ranking, trace={"graph": debug_record(known.graph, query.text, found, options)})

    return rank


def walk_release(
    index: Index,
    reading: ParsedQuery,
    options: GraphOptions,
    text: Floats,
    *,
    chat: ChatModel | None = None,
    home: Path | None = None,
) -> Walk:
    """The walk over a release's triples, those of allowed events alone; `text` are scores of all chunks in [0, 1]."""
    known = graph_of(index, home)
    query = reading.query
    allowed = query.allowed.events[known.event] if query.allowed else None
    hints = hints_of(index, known, reading, options, text)
    return walk(known.graph, " ".join([query.text, *query.keys]), options, chat=chat, hints=hints, allowed=allowed)


def text_scores(index: Index, reading: ParsedQuery) -> Floats:
    """Shape (chunks,): `mean_score` of BM25 and cosine."""
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    cosine = QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all()
    return mean_score(index.arrays.chunk_text.scores(reading.terms), cosine, allowed)


def mean_score(bm25: Floats, cosine: Floats, allowed: Flags | None) -> Floats:
    """Mean of both, each scaled to [0, 1] over the allowed chunks; where all are equal, 1 if they are above 0."""
    is_flat = [not part.size or np.ptp(part) == 0 for part in (bm25, cosine)]
    parts = [
        (part > 0).astype(np.float64) if flat else min_max(part, allowed)
        for part, flat in zip((bm25, cosine), is_flat, strict=True)
    ]
    return 0.5 * parts[0] + 0.5 * parts[1]


def _chunk_scores(index: Index, known: ReleaseGraph, found: Walk) -> tuple[Floats, Flags]:
    """Graph score of each chunk's document, and whether the chunk says one of its evidence triples."""
    by_document = np.zeros(index.arrays.document_count)
    is_evidence = np.zeros(index.arrays.chunk_count, np.bool_)
    for document in found.documents:
        by_document[document.document] = _REACHED + (1 - _REACHED) * document.score
        is_evidence[known.chunk[list(document.evidence_triples)]] = True
    return by_document[index.arrays.chunk_document], is_evidence
