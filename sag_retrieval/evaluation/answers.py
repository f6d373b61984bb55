"""A mode of asking over a set of questions: how often and how well it answers, and what that costs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sag_retrieval.ask.answer import Answer
from sag_retrieval.ask.cited import without_markers
from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.public import Convertible
from sag_retrieval.evaluation import metrics
from sag_retrieval.evaluation.answers import ANSWER_SCORES
from sag_retrieval.evaluation.metrics import has_all_at, recall_at
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.evaluation.runner import KS, Interval, bootstrap
from sag_retrieval.rag.stages import RAGData


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """What a mode answered, with its scores where right answers or gold documents are known."""

    question: Question
    answer: Answer
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """One line of `per_question`."""
        return {
            "id": self.question.id,
            "question": self.question.question,
            "answers": list(self.question.answers),
            "answer": self.answer.text,
            "is_found": self.answer.is_found,
            "documents": list(self.answer.documents),
            "scores": self.scores,
            "calls": self.answer.usage.calls,
            "tokens": self.answer.usage.input_tokens + self.answer.usage.output_tokens,
            "seconds": self.answer.seconds,
            "notes": list(self.answer.notes),
        }


@dataclass(frozen=True, slots=True)
class AnswersEvaluation(Convertible):
    """A mode's outcome for every question."""

    mode: str
    outcomes: tuple[AnswerOutcome, ...]

    def score(self, name: str) -> Interval:
        """Mean of a score over the questions that have it."""
        return bootstrap([o.scores[name] for o in self.outcomes if name in o.scores])

    def __repr__(self) -> str:
        return f"AnswersEvaluation({self.mode}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its answer, tokens and seconds, and each score as a column."""
        names = dict.fromkeys(name for outcome in self.outcomes for name in outcome.scores)
        told = [outcome.to_dict() for outcome in self.outcomes]
        rows = [each | {name: each["scores"].get(name) for name in names} for each in told]
        text, whole, number = pa.string(), pa.int64(), pa.float64()
        kinds = {"id": text, "question": text, "answers": pa.list_(text), "answer": text, "is_found": pa.bool_()}
        kinds |= {"documents": pa.list_(text), "calls": whole, "tokens": whole, "seconds": number}
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds | dict.fromkeys(names, number)))

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, every mean beside its interval: what `--answers --json` prints."""
        names = dict.fromkeys(name for outcome in self.outcomes for name in outcome.scores)
        scores = {name: self.score(name) for name in names}
        usages = [outcome.answer.usage for outcome in self.outcomes]
        seconds = [outcome.answer.seconds for outcome in self.outcomes]
        return {
            "mode": self.mode,
            "questions": len(self.outcomes),
            **{name: interval.mean for name, interval in scores.items()},
            "intervals": {name: [interval.low, interval.high] for name, interval in scores.items()},
            "found": _mean([outcome.answer.is_found for outcome in self.outcomes]),
            "calls_per_question": _mean([usage.calls for usage in usages]),
            "tokens_per_question": _mean([usage.input_tokens + usage.output_tokens for usage in usages]),
            "seconds_per_query": {f"p{p}": float(np.percentile(seconds, p)) for p in (50, 95)},
            "per_question": [outcome.to_dict() for outcome in self.outcomes],
        }


def evaluate_answers(
    ask: Callable[[str], Answer], questions: Iterable[Question], *, ks: Sequence[int] = KS, mode: str = ""
) -> AnswersEvaluation:
    """The outcome of a mode for every question; `ask` is bound to release, mode and options.

    A question with neither answers nor gold documents asks for what is not there: it scores `refused`.

    Raises:
        QueryError: If there is no question.

    """
    outcomes = tuple(_outcome(question, ask(question.question), ks) for question in questions)
    if not outcomes:
        raise QueryError("there is no question to evaluate")
    return AnswersEvaluation(mode or outcomes[0].answer.mode, outcomes)


def _outcome(question: Question, answer: Answer, ks: Sequence[int]) -> AnswerOutcome:
    scores: dict[str, float] = {}
    if question.answers:
        text = without_markers(answer.text) if answer.is_found else ""
        record = RAGData(generated=text, references=list(question.answers))
        scores |= {name: value for score in ANSWER_SCORES.values() for name, value in score(record).items()}
        context = "\n".join(hit.text for hit in answer.hits)
        scores["retrieval_recall"] = metrics.best(metrics.context_recall, context, question.answers)
    if question.gold_documents:
        scores |= {f"recall@{k}": recall_at(answer.documents, question.gold_documents, k) for k in ks}
        scores |= {f"all_gold@{k}": has_all_at(answer.documents, question.gold_documents, k) for k in ks}
    if not question.answers and not question.gold_documents:
        scores["refused"] = float(not answer.is_found)
    return AnswerOutcome(question, answer, scores)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
