"""Paths through the graph: where they start, how relevant an edge is, how paths grow, and which are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats, Rows, Rows64
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold
from sag_retrieval.release.knowledge_graph import KnowledgeGraph, Overlap
from sag_retrieval.release.mapped_arrays import join
from sag_retrieval.search.method import best_rows

Seed = tuple[int, float]
"""Entity row and score."""

_ENGLISH = patterns("en")["several_steps"]
_CHINESE = patterns("zh")["several_steps"]


def find_seeds(graph: KnowledgeGraph, query: str, overlap: Overlap, count: int) -> list[Seed]:
    """At most 2·`count` entities to start from, by name or shared words (docs/algorithm.md §think-on-graph.3)."""
    named = graph.mentioned(query)[:count]
    seeds = {int(row): name_score(graph, row) for row in named}
    if len(seeds) >= count:
        return list(seeds.items())
    sharing = overlap.above_zero()
    likeness = overlap.of(sharing)
    for place in np.lexsort((sharing, -likeness))[:count]:
        row, score = int(sharing[place]), 0.8 * float(likeness[place])
        seeds[row] = max(seeds.get(row, 0.0), score)
    return list(seeds.items())


def name_score(graph: KnowledgeGraph, row: int) -> float:
    """The score of a named entity: the longer its name, the less likely is a match by chance."""
    return min(1.0, 0.35 + 0.02 * len(graph.entities.texts[row]))


def asks_many_hops(query: str) -> bool:
    """Whether the wording of a question asks for a chain of facts; English phrases count as whole words.

    Examples:
        >>> asks_many_hops("A timeline of Acme"), asks_many_hops("authentic reviews")
        (True, False)
    """
    text = fold(query)
    return bool(_ENGLISH.search(text) or _CHINESE.search(text))


DECAY: Final = 0.75
SHOWN: Final = 20
"""Paths shown to the judge per request."""
CHOSEN: Final = 6
"""Most of these that it may choose."""


@dataclass(frozen=True, slots=True)
class Beam:
    """A path: its entities, the edges between them, how relevant each edge is, and the path's score."""

    entities: tuple[int, ...]
    score: float
    edges: tuple[int, ...] = ()
    relevance: tuple[float, ...] = ()

    @property
    def last(self) -> int:
        """The entity it has reached."""
        return self.entities[-1]


EdgeRelevance = Callable[[Beam, Rows64], Floats]
"""Edges that would continue a path → relevance of each to the question, at least 0."""


@dataclass(frozen=True, slots=True, eq=False)
class WordRelevance:
    """How many words of the question relation, target and source share (docs/algorithm.md §think-on-graph.4)."""

    graph: KnowledgeGraph
    entities: Overlap
    relations: Overlap

    def __call__(self, _path: Beam, edges: Rows64) -> Floats:
        """Shape (edges,), in [0, 1]; independent of the path."""
        graph = self.graph
        likeness: Floats = (
            0.45 * self.relations.of(graph.relation[edges >> 1])
            + 0.45 * self.entities.of(graph.target(edges))
            + 0.10 * self.entities.of(graph.source(edges))
        )
        return likeness


def expand(
    graph: KnowledgeGraph,
    beams: Sequence[Beam],
    relevance: EdgeRelevance,
    hop: int,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> "Grown":
    """Every beam, extended by each relevant edge to an entity not yet on it (docs/algorithm.md §think-on-graph.5)."""
    parts: list[tuple[Rows, Rows64, Floats, Floats]] = []
    for number, beam in enumerate(beams):
        edges = graph.edges_of.row(beam.last).astype(np.int64)
        edges = edges[~np.isin(graph.target(edges), beam.entities)]
        if allowed is not None:
            edges = edges[allowed[edges >> 1]]
        weight = relevance(beam, edges)
        edges, weight = edges[weight > 0], weight[weight > 0]
        owner = np.full(len(edges), number, np.int32)
        parts.append((owner, edges, weight, beam.score + DECAY ** (hop - 1) * weight))
    return Grown(
        tuple(beams),
        join((part[0] for part in parts), np.int32),
        join((part[1] for part in parts), np.int64),
        join((part[2] for part in parts), np.float64),
        join((part[3] for part in parts), np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """Beams as arrays: the parent of each, the edge added, its relevance and the new score."""

    parents: tuple[Beam, ...]
    owner: Rows
    edges: Rows64
    relevance: Floats
    scores: Floats

    def __len__(self) -> int:
        return len(self.edges)

    def take(self, graph: KnowledgeGraph, places: Sequence[int]) -> list[Beam]:
        """Some of them as beams."""
        targets = graph.target(self.edges[np.asarray(places, np.int64)])
        return [
            Beam(
                (*(parent := self.parents[self.owner[place]]).entities, int(target)),
                float(self.scores[place]),
                (*parent.edges, int(self.edges[place])),
                (*parent.relevance, float(self.relevance[place])),
            )
            for place, target in zip(places, targets, strict=True)
        ]

    def best(self, count: int) -> list[int]:
        """Places of the highest scores, best first, ties by place."""
        return [int(place) for place in best_rows(self.scores, count, np.ones(len(self), np.bool_))]


def keep_best(graph: KnowledgeGraph, grown: Grown, width: int) -> list[Beam]:
    """The `width` best beams, at most one for each entity reached (docs/algorithm.md §think-on-graph.6)."""
    count = 4 * width
    while True:
        places = grown.best(count)
        targets = graph.target(grown.edges[np.asarray(places, np.int64)])
        chosen = [place for place, is_first in zip(places, _is_first(targets), strict=True) if is_first][:width]
        if len(chosen) == width or len(places) == len(grown):
            return grown.take(graph, chosen)
        count *= 8


def keep_seeds(beams: Sequence[Beam], width: int) -> list[Beam]:
    """The `width` best of the seed beams."""
    return sorted(beams, key=lambda beam: -beam.score)[:width]


def path_text(graph: KnowledgeGraph, beam: Beam) -> str:
    """A path as text: `A -[relation]-> B <-[relation]- C -- D`; an arrow has the direction of its triple.

    Without a relation, both are named in one statement.
    """
    parts = [graph.entities.texts[beam.entities[0]]]
    for edge, entity in zip(beam.edges, beam.entities[1:], strict=True):
        relation = graph.relation_of(edge)
        arrow = f"<-[{relation}]-" if edge & 1 else f"-[{relation}]->"
        parts += [arrow if relation else "--", graph.entities.texts[entity]]
    return " ".join(parts)


def _is_first(values: Rows) -> npt.NDArray[np.bool_]:
    first = np.zeros(len(values), np.bool_)
    first[np.unique(values, return_index=True)[1]] = True
    return first
