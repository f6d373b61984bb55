"""Measure a pipeline over questions: each record by RAGData's evaluators, and recall of the gold documents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.public import Convertible
from sag_retrieval.evaluation.answers import ANSWER_SCORES, RECORD_SCORES
from sag_retrieval.evaluation.metrics import distinct, has_all_at, recall_at
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.evaluation.runner import KS, Interval, bootstrap
from sag_retrieval.pipelines.catalogue import MEASURES
from sag_retrieval.rag.stages import BEST, RAGData, items_of

_NEEDS_REFERENCES = {*ANSWER_SCORES, "retrieval_recall"}


@dataclass(frozen=True, slots=True)
class RecordOutcome:
    """The record that a pipeline left for a question, and its scores."""

    question: Question
    record: RAGData
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """One line of `per_question`."""
        return {
            "id": self.question.id,
            "question": self.question.question,
            "answers": list(self.question.answers),
            "gold_documents": list(self.question.gold_documents),
            "documents": documents_of(self.record),
            "generated": self.record.get("generated"),
            "scores": self.scores,
        }


@dataclass(frozen=True, slots=True)
class PipelineEvaluation(Convertible):
    """A pipeline's record for every question. A mean is over the questions that have the score."""

    pipeline: str
    outcomes: tuple[RecordOutcome, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every score that a question has, in the order of the measures."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.scores))

    def score(self, name: str) -> Interval:
        """Mean of a score with its interval."""
        return bootstrap([o.scores[name] for o in self.outcomes if name in o.scores])

    def __repr__(self) -> str:
        return f"PipelineEvaluation({self.pipeline}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its documents, its answer, and each score as a column."""
        names = self.names
        rows = [
            (told := outcome.to_dict()) | {name: told["scores"].get(name) for name in names}
            for outcome in self.outcomes
        ]
        text, texts = pa.string(), pa.list_(pa.string())
        kinds = {"id": text, "question": text, "answers": texts, "gold_documents": texts, "documents": texts}
        return pa.Table.from_pylist(
            rows, schema=pa.schema(kinds | {"generated": text} | dict.fromkeys(names, pa.float64()))
        )

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values: what `sag evaluate --pipeline FILE --json` prints."""
        scores = {name: self.score(name) for name in self.names}
        return {
            "pipeline": self.pipeline,
            "questions": len(self.outcomes),
            **{name: interval.mean for name, interval in scores.items()},
            "intervals": {name: [interval.low, interval.high] for name, interval in scores.items()},
            "counts": {name: sum(name in o.scores for o in self.outcomes) for name in scores},
            "per_question": [outcome.to_dict() for outcome in self.outcomes],
        }


def evaluate_pipeline(
    run: Callable[[RAGData], RAGData],
    questions: Iterable[Question],
    *,
    measures: Sequence[str] = MEASURES,
    ks: Sequence[int] = KS,
    name: str = "",
) -> PipelineEvaluation:
    """The record of a pipeline for every question, scored.

    Scores against answers need right answers and a generated one, `recall` needs gold documents, `compression` refined
    documents; a question without them has no such score.

    Raises:
        QueryError: If there is no question, or a k is below 1.

    """
    cuts = sorted(set(ks))
    if not cuts or cuts[0] < 1:
        raise QueryError(f"k must be at least 1, got {list(ks)}")
    outcomes = []
    for question in questions:
        given = RAGData(query=question.question, references=list(question.answers))
        record = run(given | {"question": {"id": question.id, "references": list(question.answers)}})
        outcomes.append(RecordOutcome(question, record, _scores(record, question, measures, cuts)))
    if not outcomes:
        raise QueryError("there is no question to evaluate")
    return PipelineEvaluation(name, tuple(outcomes))


def documents_of(record: RAGData) -> list[str]:
    """Ids of the documents that the record holds last, each once, best first."""
    found = [(item.get("metadata") or {}).get("document_id") for item in items_of(record, BEST)]
    return distinct(str(document) for document in found if document is not None)


def _scores(record: RAGData, question: Question, measures: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in measures:
        if name == "recall":
            found |= _recall(documents_of(record), question.gold_documents, ks)
        elif _has_what_it_needs(name, record, question):
            found |= RECORD_SCORES[name](record)
    return found


def _has_what_it_needs(name: str, record: RAGData, question: Question) -> bool:
    if name in _NEEDS_REFERENCES and not question.answers:
        return False
    if name in ANSWER_SCORES:
        return "generated" in record
    return name != "compression" or "refining_docs" in record


def _recall(documents: Sequence[str], gold: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    if not gold:
        return {}
    shares = {f"recall@{k}": recall_at(documents, gold, k) for k in ks}
    return shares | {f"all_gold@{k}": has_all_at(documents, gold, k) for k in ks}
