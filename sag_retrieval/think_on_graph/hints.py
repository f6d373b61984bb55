"""What a release knows beside its triples: what a question is about, and what a path has not said yet."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa

from sag_retrieval.core.types import Floats, Rows64
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.knowledge_graph import ReleaseGraph
from sag_retrieval.release.topk import INDEXED_ROWS
from sag_retrieval.release.vectors import SparseVectors
from sag_retrieval.search.method import ParsedQuery, QuerySimilarity, best_rows
from sag_retrieval.text.words import normal_name
from sag_retrieval.think_on_graph.beams import Beam, Seed, name_score
from sag_retrieval.think_on_graph.retriever import GraphOptions, Hints

PASSAGES: Final = 3
"""Best passages whose main entity is a seed."""

_BY_TEXT: Final = 0.8
_NEWS: Final = 3.0


def hints_of(index: Index, known: ReleaseGraph, reading: ParsedQuery, options: GraphOptions, text: Floats) -> Hints:
    """The hints that the options ask for; `text` are scores of all chunks in [0, 1]."""
    titles = index.rows["documents"]["title"]
    hints = Hints(title=lambda document: str(titles[document].as_py() or ""))
    if options.seeds == "linked":
        hints = replace(hints, seeds=linked_seeds(index, known, reading, text, options))
    if options.relevance == "words":
        return hints
    likeness = _event_likeness(index, known, reading)
    if options.relevance == "events":
        return replace(hints, refine=lambda _, edges, by_words: np.maximum(by_words, likeness(edges)))
    return replace(hints, refine=Novelty(index, known, reading, likeness))


def linked_seeds(
    index: Index, known: ReleaseGraph, reading: ParsedQuery, text: Floats, options: GraphOptions
) -> tuple[Seed, ...]:
    """Entities that the question names, by alias too, and those that its best passages are about, rare ones first.

    A named one scores as in §think-on-graph.3, times its rarity; that of a passage 0.8 · the passage's score.

    Source:
        docs/algorithm.md §think-on-graph.12

    """
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
    distinct = 1 + np.count_nonzero(np.diff(documents))  # triples stand in the order of their documents
    return float(1 - np.log(distinct) / np.log(count)) if count > 1 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Novelty:
    """`(max(words, likeness of the event) + 3 · news) · rarity of the entity it leaves`.

    News is the share, by idf, of the question's words that the edge's chunk says and no chunk of the path does; 0 for
    the first edge.

    Source:
        docs/algorithm.md §think-on-graph.13

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
        said = self.known.chunk[np.array(path.edges) >> 1]
        ends, place = np.unique(self.known.chunk[edges >> 1], return_inverse=True)
        if total <= 0:
            return np.zeros(len(edges))
        lacking = (text.matrix(terms, said) == 0).all(axis=1)
        news: Floats = lacking.astype(np.float64) @ text.matrix(terms, ends) / total
        return news[place]


def _event_likeness(index: Index, known: ReleaseGraph, reading: ParsedQuery) -> Callable[[Rows64], Floats]:
    """An edge is as relevant as the event that says it is like the question."""
    vectors = index.arrays.vectors["events"]
    events = QuerySimilarity(vectors, reading.vector)
    if isinstance(vectors, SparseVectors) or vectors.row_count <= INDEXED_ROWS:
        events.all()
    return lambda edges: np.maximum(events.of(known.event[edges >> 1]), 0.0)


def _entities(index: Index, known: ReleaseGraph, keys: list[int]) -> list[int]:
    """Entities with the names of some text keys."""
    names = index.rows["keys"]["value_string"].take(pa.array(keys, pa.int64())).to_pylist()
    return [row for name in names if name for row in known.graph.named(normal_name(name)).tolist()]
