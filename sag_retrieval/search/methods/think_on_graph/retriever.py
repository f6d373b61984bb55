"""Think-on-Graph: beam search from the entities of a question to the documents that its paths cite."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.types import Floats, Rows64
from sag_retrieval.language.words import language_of, words
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.knowledge_graph import KnowledgeGraph
from sag_retrieval.search.methods.think_on_graph import scoring
from sag_retrieval.search.methods.think_on_graph.beams import (
    CHOSEN,
    SHOWN,
    Beam,
    EdgeRelevance,
    Grown,
    Seed,
    WordRelevance,
    asks_many_hops,
    expand,
    find_seeds,
    keep_best,
    keep_seeds,
    path_text,
)
from sag_retrieval.search.methods.think_on_graph.scoring import MOST_BEAMS, MOST_DOCUMENTS, PathJudge


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions(CheckedOptions):
    """Options of the beam search and of the judge, see docs/algorithm.md §think-on-graph."""

    max_hops: Annotated[int, Bounds(0, 6)] = 2
    """Longest path, in edges."""
    beam_width: Annotated[int, Bounds(1, 100)] = 6
    """Paths kept after each hop."""
    top_docs: Annotated[int, Bounds(1, 10_000), Internal()] = 50
    """Highest number of documents returned."""
    max_seeds: Annotated[int, Bounds(1, 100), Internal()] = 6
    """Entities where the walk starts."""
    use_llm: bool = True
    """Let the language model prune paths and score documents, if there is one."""
    pruned: Annotated[Literal["alone", "filled"], Internal()] = "alone"
    """Whether only the paths chosen by the language model are extended, or also the best of those not shown to it."""
    shown: Annotated[Literal["paths", "triples"], Internal()] = "paths"
    """What the language model reads of a document: whole paths through it, or only its own triples."""
    judged: Annotated[Literal["alone", "mixed"], Internal()] = "alone"
    """Whether only the language model's scores of documents count, or their mean with the path scores."""
    use_multi_hop: Annotated[bool | None, Internal()] = None
    """More than one hop: True, False, or None to decide by the wording of the question."""
    seeds: Annotated[Literal["words", "linked"], Internal()] = "words"
    """Start of the walk: entities named or with shared words; or entities by names, aliases and the best passages."""
    relevance: Annotated[Literal["words", "news"], Internal()] = "words"
    """Relevance of an edge: by shared words; also by the similarity of its event and new query words in its passage."""
    links: Annotated[Literal["triples", "mentions"], Internal()] = "triples"
    """What paths go over: triples alone, or also from the main entity of a chunk to each other one in its events."""
    scale: Annotated[Literal["range", "rank"], Internal()] = "range"
    """Scaling of path scores to [0, 1]: by minimum and maximum, or by rank, which keeps the last documents above those
    not reached."""
    language: str | None = None
    """Language of the prompts; None: the question's."""


LITERAL: Final = GraphOptions()
"""Options of the method `think-on-graph-literal`: those of the first description."""

WalkMode = Literal["llm", "heuristic"]


@dataclass(frozen=True, slots=True)
class GraphDocument:
    """A document reached by paths: its score in [0, 1], and its triples on them."""

    document: int
    score: float
    evidence_triples: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Hints:
    """Additional information for the walk: seeds, another relevance of edges, titles."""

    seeds: tuple[Seed, ...] = ()
    """Used in place of seeds by words, unless empty."""
    refine: Callable[[Beam, Rows64, Floats], Floats] | None = None
    """(path, edges that would continue it, their relevance by words) → relevance."""
    title: Callable[[int], str] | None = None
    """Title of a document, shown to the judge before its paths."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The result of a walk from a question to documents, with its seeds and beams."""

    documents: tuple[GraphDocument, ...]
    seeds: tuple[Seed, ...]
    beams: tuple[Beam, ...]
    raw: dict[int, float]
    mode: WalkMode
    calls: int = 0
    failures: tuple[str, ...] = ()


NO_HINTS: Final = Hints()


def walk(
    graph: KnowledgeGraph,
    query: str,
    options: GraphOptions,
    *,
    chat: ChatModel | None = None,
    hints: Hints = NO_HINTS,
    allowed: npt.NDArray[np.bool_] | None = None,
) -> Walk:
    """Documents for a question, best first, ties in the order reached; none if no path is found.

    Without a usable score of the judge (`chat`) the whole walk is repeated with the heuristic. `allowed` has one flag
    per triple. Source: docs/algorithm.md §think-on-graph.3 to 9.
    """
    asked = frozenset(words(query))
    overlap = graph.entities.jaccard(asked)
    by_words = WordRelevance(graph, overlap, graph.relations.jaccard(asked))
    judge = PathJudge(chat, query, options.language or language_of(query)) if chat and options.use_llm else None
    seeds = hints.seeds or tuple(find_seeds(graph, query, overlap, options.max_seeds))
    goes_on = asks_many_hops(query) if options.use_multi_hop is None else options.use_multi_hop
    hops = options.max_hops if goes_on else min(1, options.max_hops)
    refine = hints.refine
    relevance: EdgeRelevance = by_words
    if refine is not None:
        relevance = lambda path, edges: refine(path, edges, by_words(path, edges))  # noqa: E731  as short as it gets
    search = _Search(graph, options, relevance, judge, allowed, hints.title)
    found = search.walk(seeds, hops)
    if judge is None:
        return found
    if found.mode == "heuristic":
        found = replace(search, judge=None).walk(seeds, hops)
    return replace(found, calls=judge.calls, failures=tuple(judge.failures))


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    graph: KnowledgeGraph
    options: GraphOptions
    relevance: EdgeRelevance
    judge: PathJudge | None
    allowed: npt.NDArray[np.bool_] | None
    title: Callable[[int], str] | None = None

    def walk(self, seeds: tuple[Seed, ...], hops: int) -> Walk:
        beams = self.beams([Beam((row,), score) for row, score in seeds], hops)
        raw, mode = self.judged(beams)
        scores = self._scaled(raw) if mode == "heuristic" else scoring.scale(raw)
        best = sorted(scores, key=lambda document: -scores[document])[: self.options.top_docs]
        triples = scoring.evidence(sorted(beams, key=lambda beam: -beam.score), self.graph)
        documents = tuple(GraphDocument(each, scores[each], tuple(triples.get(each, ()))) for each in best)
        return Walk(documents, seeds, tuple(beams), raw, mode)

    def beams(self, seeds: list[Beam], hops: int) -> list[Beam]:
        """The beams kept at every hop, those of the seeds first."""
        kept = self._prune_seeds(seeds)
        everything = list(kept)
        for hop in range(1, hops + 1):
            grown = expand(self.graph, kept, self.relevance, hop, self.allowed)
            if not len(grown):
                break
            kept = self._prune(grown, is_first=hop == 1)
            everything += kept
        return everything

    def _prune_seeds(self, seeds: list[Beam]) -> list[Beam]:
        width = self.options.beam_width
        if self.judge is not None and len(seeds) > self._most_chosen:
            shown = keep_seeds(seeds, SHOWN)
            chosen = self._chosen(self.judge, shown)
            if chosen:
                return chosen
        return keep_seeds(seeds, width)

    def _chosen(self, judge: PathJudge, shown: list[Beam]) -> list[Beam]:
        places = judge.choose([path_text(self.graph, beam) for beam in shown], self._most_chosen)
        return [shown[place] for place in places]

    @property
    def _most_chosen(self) -> int:
        """Paths that the judge may choose: clearly fewer than it is shown, whatever the width."""
        return min(self.options.beam_width, CHOSEN)

    def _prune(self, grown: Grown, *, is_first: bool = False) -> list[Beam]:
        """The kept beams; of the first hop the judge is shown stated relations before names in one statement."""
        width = self.options.beam_width
        if self.judge is not None and len(grown) <= self._most_chosen:
            return grown.take(self.graph, range(len(grown)))
        if self.judge is not None and self.options.pruned == "filled":
            shown = keep_best(self.graph, grown, SHOWN + width)
            if is_first:
                shown.sort(key=lambda beam: not self.graph.relation_of(beam.edges[-1]))
            chosen = self._chosen(self.judge, shown[:SHOWN])
            return [*chosen, *shown[SHOWN:]][:width] if chosen else shown[:width]
        if self.judge is not None:
            chosen = self._chosen(self.judge, grown.take(self.graph, grown.best(SHOWN)))
            if chosen:
                return chosen
        return keep_best(self.graph, grown, width)

    def judged(self, beams: Sequence[Beam]) -> tuple[dict[int, float], WalkMode]:
        by_paths = scoring.score_by_paths(self.graph, beams)
        if self.judge is None or not by_paths:
            return by_paths, "heuristic"
        read = scoring.triples_said if self.options.shown == "triples" else scoring.paths_through
        shown = read(self._best_paths(beams), self.graph)
        best = sorted(shown, key=lambda document: (-by_paths[document], document))[:MOST_DOCUMENTS]
        title = self.title or (lambda _: "")
        judged = self.judge.score({document: shown[document] for document in best}, title)
        if not judged:
            return by_paths, "heuristic"
        if self.options.judged == "mixed":
            return scoring.mix(judged, self._scaled(by_paths)), "llm"
        return scoring.combine(best, judged, by_paths), "llm"

    def _best_paths(self, beams: Sequence[Beam]) -> list[Beam]:
        """The beams shown to the judge, in the order they were kept: late hops have the highest scores."""
        walked = [beam for beam in beams if beam.edges]
        best = sorted(range(len(walked)), key=lambda place: -walked[place].score)[:MOST_BEAMS]
        return [walked[place] for place in sorted(best)]

    def _scaled(self, by_paths: dict[int, float]) -> dict[int, float]:
        return (scoring.scale_by_rank if self.options.scale == "rank" else scoring.scale)(by_paths)


def debug_record(graph: KnowledgeGraph, query: str, found: Walk, options: GraphOptions) -> dict[str, Any]:
    """The walk as plain values: seeds, the 20 best beams, raw and scaled scores, mode, calls."""
    best = sorted(found.beams, key=lambda beam: -beam.score)[:SHOWN]
    return {
        "query": query,
        "language": options.language or language_of(query),
        "seeds": [{"name": graph.entities.texts[row], "score": score} for row, score in found.seeds],
        "beams": [{"score": beam.score, "path": path_text(graph, beam), "hops": len(beam.edges)} for beam in best],
        "raw": dict(found.raw),
        "normalised": {document.document: document.score for document in found.documents},
        "mode": found.mode,
        "calls": found.calls,
        "failures": list(found.failures),
    }
