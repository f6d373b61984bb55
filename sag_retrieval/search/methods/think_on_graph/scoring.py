"""Scores of paths and documents, by formula and by a language model as judge."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from pydantic import BaseModel, Field

from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.protocols import AnswerShape, ChatModel, Request
from sag_retrieval.prompts import load_prompt
from sag_retrieval.release.knowledge_graph import KnowledgeGraph
from sag_retrieval.search.methods.think_on_graph.beams import Beam, path_text

MOST_DOCUMENTS = 20
MOST_BEAMS = 30

_log = logging.getLogger(__name__)
JudgeReply = TypeVar("JudgeReply", bound=BaseModel)


class ChosenPaths(AnswerShape):
    """Paths worth following."""

    paths: list[int] = Field(description="numbers of the chosen paths, the best first")


class DocumentScore(AnswerShape):
    """How much a document helps."""

    document: int = Field(description="number of the document")
    score: float = Field(description="from 0, of no use, to 1, answers the question")


class DocumentScores(AnswerShape):
    """How much each document helps."""

    scores: list[DocumentScore]


@dataclass(slots=True)
class PathJudge:
    """Asks a language model in the question's language; what it answered before is not asked again.

    `calls` counts what was asked, `failures` lists the errors so far.
    """

    chat: ChatModel
    question: str
    language: str
    calls: int = 0
    failures: list[str] = field(default_factory=list)

    def choose(self, paths: Sequence[str], count: int) -> list[int]:
        """At most `count` positions, each once; none without an answer (docs/algorithm.md §think-on-graph.6)."""
        listed = "\n".join(f"{number}. {path}" for number, path in enumerate(paths, start=1))
        answer = self._ask("graph_prune", ChosenPaths, paths=listed, count=count)
        numbers = answer.paths if answer else []
        return [n - 1 for n in dict.fromkeys(numbers) if 1 <= n <= len(paths)][:count]

    def score(
        self, paths_of: Mapping[int, Sequence[str]], title: Callable[[int], str] = lambda _: ""
    ) -> dict[int, float]:
        """Document → score in [0, 1], without unusable ones (docs/algorithm.md §think-on-graph.8)."""
        documents = list(paths_of)[:MOST_DOCUMENTS]
        lines = [f"{title(document)}: {'; '.join(paths_of[document])}".removeprefix(": ") for document in documents]
        listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
        answer = self._ask("graph_score", DocumentScores, documents=listed)
        return {
            documents[given.document - 1]: given.score
            for given in (answer.scores if answer else [])
            if 1 <= given.document <= len(documents) and 0 <= given.score <= 1
        }

    def _ask(self, step: str, answer: type[JudgeReply], **values: object) -> JudgeReply | None:
        prompt = load_prompt(step, self.language)
        request = Request(
            prompt=prompt.fill(question=self.question, **values),
            answer=answer,
            step=step,
            system=prompt.system,
        )
        with _lock:
            known = _answers.setdefault(self.chat, {})
        place = (step, prompt.system, request.prompt)
        if place in known:
            return answer.model_validate(known[place])
        self.calls += 1
        try:
            found = self.chat.ask(request).value
        except (ModelError, OSError, ValueError, RuntimeError) as error:
            _log.warning("%s: no answer, the heuristic decides (%s)", step, error)
            self.failures.append(f"{step}: {error}")
            return None
        while len(known) >= _MOST_ANSWERS:
            known.pop(next(iter(known)), None)
        known[place] = found.model_dump()
        return found


_MOST_ANSWERS = 2_000
_answers: "WeakKeyDictionary[ChatModel, dict[tuple[str, str, str], Any]]" = WeakKeyDictionary()
"""Usable answers of a model by step and prompt, as long as it is open: the same question costs once."""
_lock = Lock()

DocumentScoreMap = Mapping[int, float]
"""Document → score."""

_FILLED = 0.7


def score_by_paths(graph: KnowledgeGraph, beams: Sequence[Beam]) -> dict[int, float]:
    """Every edge adds `0.6 · max(0, beam score) + 0.4 · relevance` (docs/algorithm.md §think-on-graph.7)."""
    scores: dict[int, float] = {}
    for beam in beams:
        for edge, relevance in zip(beam.edges, beam.relevance, strict=True):
            document = int(graph.document[edge >> 1])
            scores[document] = scores.get(document, 0.0) + 0.6 * max(0.0, beam.score) + 0.4 * relevance
    return scores


def combine(candidates: Sequence[int], judged: DocumentScoreMap, by_paths: DocumentScoreMap) -> dict[int, float]:
    """The judge's scores, with path scores where they are few (docs/algorithm.md §think-on-graph.8)."""
    scores = {document: judged[document] for document in candidates if document in judged}
    if 2 * len(scores) >= len(candidates):
        return scores
    scaled = scale({document: by_paths.get(document, 0.0) for document in candidates})
    return {d: scores[d] if d in scores else _FILLED * scaled.get(d, 0.0) for d in candidates}


def mix(judged: DocumentScoreMap, scaled: DocumentScoreMap) -> dict[int, float]:
    """Half the judge's score, and half the scaled path score (docs/algorithm.md §think-on-graph.8)."""
    return {document: 0.5 * judged.get(document, 0.0) + 0.5 * score for document, score in scaled.items()}


def scale(scores: DocumentScoreMap) -> dict[int, float]:
    """Scores above 0, scaled to [0, 1]; all 1 if they are equal (docs/algorithm.md §think-on-graph.9)."""
    above = {document: score for document, score in scores.items() if score > 0}
    if not above:
        return {}
    low, high = min(above.values()), max(above.values())
    if high == low:
        return dict.fromkeys(above, 1.0)
    return {d: float(np.clip((score - low) / (high - low), 0.0, 1.0)) for d, score in above.items()}


def scale_by_rank(scores: DocumentScoreMap) -> dict[int, float]:
    """Scores above 0 as `1 − p / 2n`, the p-th best of n, from 0 (docs/algorithm.md §think-on-graph.9)."""
    best = sorted((document for document, score in scores.items() if score > 0), key=lambda d: -scores[d])
    return {document: 1 - place / (2 * len(best)) for place, document in enumerate(best)}


def evidence(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 10) -> dict[int, list[int]]:
    """For each document the triples of its edges on the beams, each once, in the order of the beams."""
    found: dict[int, list[int]] = {}
    for beam in beams:
        for edge in beam.edges:
            triples = found.setdefault(int(graph.document[edge >> 1]), [])
            if edge >> 1 not in triples and len(triples) < most:
                triples.append(edge >> 1)
    return found


def paths_through(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 5) -> dict[int, list[str]]:
    """For each document the paths that have one of its edges, each once, in the order of the beams."""
    pairs = ((int(graph.document[edge >> 1]), beam) for beam in beams for edge in beam.edges)
    return _grouped(pairs, graph, most)


def triples_said(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 5) -> dict[int, list[str]]:
    """For each document its triples on the beams as paths of one edge, each once, in the order of the beams."""
    pairs = (
        (int(graph.document[edge >> 1]), Beam(beam.entities[place : place + 2], 0.0, (edge,), (0.0,)))
        for beam in beams
        for place, edge in enumerate(beam.edges)
    )
    return _grouped(pairs, graph, most)


def _grouped(pairs: Iterable[tuple[int, Beam]], graph: KnowledgeGraph, most: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for document, beam in pairs:
        paths = found.setdefault(document, [])
        text = path_text(graph, beam)
        if text not in paths and len(paths) < most:
            paths.append(text)
    return found
