"""Think-on-Graph as a search method: hints from the release guide the walk, documents are scored, then chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.core.types import Flags, Floats, Rows, Rows64
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.knowledge_graph import ReleaseGraph, graph_of
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.release.topk import INDEXED_ROWS
from sag_retrieval.release.vectors import SparseVectors
from sag_retrieval.search.method import (
    GraphEvidence,
    HitPath,
    Method,
    ParsedQuery,
    PathStep,
    Query,
    QuerySimilarity,
    Ranking,
    Stopwatch,
    best_rows,
    parse_query,
    rank_by,
)
from sag_retrieval.search.methods.think_on_graph.beams import Beam, Seed, name_score, path_text
from sag_retrieval.search.methods.think_on_graph.retriever import (
    GraphDocument,
    GraphOptions,
    Hints,
    Walk,
    debug_record,
    walk,
)
from sag_retrieval.search.rank import mean_score, structure_share

MOST_PATHS: Final = 5
"""Paths shown per hit."""


def evidence_of(index: Index, known: ReleaseGraph, found: Walk, chunks: Rows) -> dict[int, GraphEvidence]:
    """Paths and triples for chunks whose documents a walk reached (docs/algorithm.md §think-on-graph.14)."""
    steps = _Steps(index, known)
    beams = sorted((beam for beam in found.beams if beam.edges), key=lambda beam: -beam.score)
    reached = {document.document: document for document in found.documents}
    owners = index.arrays.chunk_document
    return {
        int(chunk): steps.evidence(int(chunk), reached[int(owners[chunk])], beams)
        for chunk in chunks
        if int(owners[chunk]) in reached
    }


def with_walk(
    ranking: Ranking, index: Index, home: Path | None, question: str, found: Walk, options: GraphOptions
) -> Ranking:
    """The ranking with the walk as its trace, with ids of documents, and what the walk found as evidence."""
    known = graph_of(index, home)
    record = debug_record(known.graph, question, found, options)
    ids = index.rows["documents"]["document_id"]
    named = {name: {ids[row].as_py(): score for row, score in record[name].items()} for name in ("raw", "normalised")}
    return replace(ranking, trace={"graph": record | named}, evidence=evidence_of(index, known, found, ranking.chunks))


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    index: Index
    known: ReleaseGraph

    def evidence(self, chunk: int, document: GraphDocument, beams: Sequence[Beam]) -> GraphEvidence:
        """The paths that end in the document, else those through it, and its triples; those of the chunk first."""
        ends = [beam for beam in beams if self._document(beam.edges[-1]) == document.document]
        through = (beam for beam in beams if any(self._document(edge) == document.document for edge in beam.edges))
        paths = sorted(ends or through, key=lambda beam: all(self.known.chunk[e >> 1] != chunk for e in beam.edges))
        stated = [triple for triple in document.evidence_triples if triple < self.known.triple_count]
        stated.sort(key=lambda triple: int(self.known.chunk[triple]) != chunk)
        return GraphEvidence(tuple(map(self._path, paths[:MOST_PATHS])), tuple(map(self._step, stated)))

    def _document(self, edge: int) -> int:
        return int(self.known.graph.document[edge >> 1])

    def _path(self, beam: Beam) -> HitPath:
        steps = tuple(self._step(edge >> 1) for edge in beam.edges)
        return HitPath(path_text(self.known.graph, beam), beam.score, steps)

    def _step(self, triple: int) -> PathStep:
        graph, rows = self.known.graph, self.index.rows
        is_stated = triple < self.known.triple_count
        return PathStep(
            head=graph.entities.texts[graph.head[triple]],
            relation=graph.relations.texts[graph.relation[triple]],
            tail=graph.entities.texts[graph.tail[triple]],
            document_id=rows["documents"]["document_id"][int(graph.document[triple])].as_py(),
            event_id=rows["events"]["event_id"][int(self.known.event[triple])].as_py(),
            triple_id=rows["triples"]["triple_id"][triple].as_py() if is_stated else "",
        )


PASSAGES: Final = 3
"""Number of best passages that contribute their main entity as a seed."""

_BY_TEXT: Final = 0.8
_NEWS: Final = 3.0


def hints_of(index: Index, known: ReleaseGraph, reading: ParsedQuery, options: GraphOptions, text: Floats) -> Hints:
    """The hints for some options; `text` are scores of all chunks in [0, 1]."""
    titles = index.rows["documents"]["title"]
    hints = Hints(title=lambda document: str(titles[document].as_py() or ""))
    if options.seeds == "linked":
        hints = replace(hints, seeds=linked_seeds(index, known, reading, text, options))
    if options.relevance == "words":
        return hints
    return replace(hints, refine=Novelty(index, known, reading, _event_likeness(index, known, reading)))


def linked_seeds(
    index: Index, known: ReleaseGraph, reading: ParsedQuery, text: Floats, options: GraphOptions
) -> tuple[Seed, ...]:
    """Entities that the question names, and those of its best passages (docs/algorithm.md §think-on-graph.12)."""
    graph, allowed = known.graph, reading.query.allowed
    asked = " ".join([reading.query.text, *reading.query.keys])
    named = [*(rows for _, rows in reading.mentions), *(rows for _, rows, _ in reading.given)]
    keys = [int(key) for rows in named for key in rows]
    rows = [*graph.mentioned(asked)[: options.max_seeds].tolist(), *_entities(index, known, keys)]
    seeds = {row: name_score(graph, row) * rarity(known, index, row) for row in rows}
    best = best_rows(text, PASSAGES, allowed.chunks if allowed else None)
    for chunk in best.tolist():
        main = int(index.arrays.chunk_main_key[chunk])
        for row in _entities(index, known, [main] if main >= 0 else []):
            seeds[row] = max(seeds.get(row, 0.0), _BY_TEXT * float(text[chunk]))
    return tuple(seed for seed in seeds.items() if seed[1] > 0)


def rarity(known: ReleaseGraph, index: Index, row: int) -> float:
    """`1 − ln(documents that name the entity) / ln(documents)`: 1 for an entity of one document, 0 for one of all."""
    count = index.arrays.document_count
    documents = known.graph.document[known.graph.edges_of.row(row) >> 1]
    distinct = max(1, len(np.unique(documents)))
    return float(1 - np.log(distinct) / np.log(count)) if count > 1 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Novelty:
    """`(max(words, similarity of the event) + 3 · news) · rarity of the entity it leaves`.

    News is the share, by idf, of the question's words found in the edge's chunk and in no chunk of the path; 0 for
    the first edge. Source: docs/algorithm.md §think-on-graph.13.
    """

    index: Index
    known: ReleaseGraph
    reading: ParsedQuery
    likeness: Callable[[Rows64], Floats]
    _rarity: dict[int, float] = field(default_factory=dict)

    def __call__(self, path: Beam, edges: Rows64, by_words: Floats) -> Floats:
        """Shape (edges,)."""
        if path.last not in self._rarity:
            self._rarity[path.last] = rarity(self.known, self.index, path.last)
        relevance = np.maximum(by_words, self.likeness(edges))
        if path.edges and len(edges):
            relevance = relevance + _NEWS * self._news(path, edges)
        return relevance * self._rarity[path.last]

    def _news(self, path: Beam, edges: Rows64) -> Floats:
        text, terms = self.index.arrays.chunk_text, self.reading.terms
        total = sum(count * float(text.idf[term]) for term, count in terms.items())
        seen = self.known.chunk[np.array(path.edges) >> 1]
        ends, place = np.unique(self.known.chunk[edges >> 1], return_inverse=True)
        if total <= 0:
            return np.zeros(len(edges))
        lacking = (text.matrix(terms, seen) == 0).all(axis=1)
        news: Floats = lacking.astype(np.float64) @ text.matrix(terms, ends) / total
        return news[place]


def _event_likeness(index: Index, known: ReleaseGraph, reading: ParsedQuery) -> Callable[[Rows64], Floats]:
    """The relevance of an edge: the similarity of its event with the question."""
    vectors = index.arrays.vectors["events"]
    events = QuerySimilarity(vectors, reading.vector)
    if isinstance(vectors, SparseVectors) or vectors.row_count <= INDEXED_ROWS:
        events.all()
    return lambda edges: np.maximum(events.of(known.event[edges >> 1]), 0.0)


def _entities(index: Index, known: ReleaseGraph, keys: list[int]) -> list[int]:
    """Entities with the same names as some text keys."""
    names = take_rows(index.rows["keys"].select(["value_string"]), keys)["value_string"].to_pylist()
    return [row for name in names if name for row in known.graph.named(normal_name(name)).tolist()]


SEARCH: Final = GraphOptions(
    use_multi_hop=True,
    max_hops=3,
    beam_width=30,
    links="mentions",
    seeds="linked",
    relevance="news",
    pruned="filled",
    shown="triples",
    judged="mixed",
)
"""Options as a search method: a wider and longer walk from linked entities, along edges with new information."""

_NO_EVIDENCE: Final = 0.5
_TEXT: Final = 0.1
_REACHED: Final = 0.01


def think_on_graph_method(
    options: GraphOptions = SEARCH,
    *,
    chat: ChatModel | None = None,
    home: Path | None = None,
) -> Method:
    """Ranks chunks by the graph score of their document; within it, by evidence, then by text.

    `score(chunk) = share · g · (1 if it contains a triple of the evidence, else t/2) + (1 − 0.9 · share) · t`
    (docs/algorithm.md §think-on-graph.10).
    """

    def rank(index: Index, query: Query) -> Ranking:
        stopwatch = Stopwatch()
        with stopwatch("read"):
            reading = parse_query(index, query)
        with stopwatch("text"):
            text = text_scores(index, reading)
        with stopwatch("walk"):
            found = walk_release(index, reading, options, text, chat=chat, home=home)
        graph, is_evidence = _chunk_scores(index, graph_of(index, home), found)
        share = structure_share(index.arrays, text, is_judged=found.mode == "llm")
        pointed = graph * np.where(is_evidence, 1.0, _NO_EVIDENCE * text)
        scores = share * pointed + (1 - share * (1 - _TEXT)) * text
        allowed = query.allowed.chunks if query.allowed else None
        parts = {"graph": graph, "evidence": is_evidence.astype(np.float64), "text": text}
        ranking = rank_by(scores, query.top_k, allowed, parts, stopwatch.seconds)
        return with_walk(ranking, index, home, query.text, found, options)

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
    """The walk over a release's triples of allowed events; `text` are scores of all chunks in [0, 1]."""
    known = graph_of(index, home)
    query = reading.query
    allowed = None if options.links == "mentions" else known.is_stated
    if query.allowed:
        permitted = query.allowed.events[known.event]
        allowed = permitted if allowed is None else permitted & allowed
    hints = hints_of(index, known, reading, options, text)
    return walk(known.graph, " ".join([query.text, *query.keys]), options, chat=chat, hints=hints, allowed=allowed)


def text_scores(index: Index, reading: ParsedQuery) -> Floats:
    """Shape (chunks,): `mean_score` of BM25 and cosine."""
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    cosine = QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all()
    return mean_score(index.arrays.chunk_text.scores(reading.terms), cosine, allowed)


def _chunk_scores(index: Index, known: ReleaseGraph, found: Walk) -> tuple[Floats, Flags]:
    """Graph score of each chunk's document, and whether the chunk contains one of its evidence triples."""
    by_document = np.zeros(index.arrays.document_count)
    is_evidence = np.zeros(index.arrays.chunk_count, np.bool_)
    for document in found.documents:
        by_document[document.document] = _REACHED + (1 - _REACHED) * document.score
        is_evidence[known.chunk[list(document.evidence_triples)]] = True
    return by_document[index.arrays.chunk_document], is_evidence
