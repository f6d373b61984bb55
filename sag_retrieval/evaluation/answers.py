"""Score answers: records of a pipeline one by one, and a mode of asking over a set of questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import Any, cast

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse

from sag_retrieval.ask.answer import Answer
from sag_retrieval.ask.cited import without_markers
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.evaluation import metrics
from sag_retrieval.evaluation.questions import Question
from sag_retrieval.evaluation.runner import KS, ScoredOutcome, ScoredOutcomes
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.rag.stages import RAGData, check_record, docs_of, references_of

Scores = Mapping[str, float]

Score = Callable[[RAGData], Scores]

_TIMES = ("retrieval_time", "reranking_time", "refining_time", "generation_time")


@dataclass
class Evaluator:
    """Scores records one by one; `summary` is the mean over the records scored so far."""

    score: Score
    seen: list[Scores] = field(default_factory=list)

    def execute(self, data: RAGData) -> RAGData:
        """The record as it was, after scoring it."""
        self.seen.append(self.score(check_record(data)))
        return data

    __call__ = execute

    def summary(self) -> dict[str, float]:
        """Mean of every score over the records that had it; empty before the first record."""
        names = dict.fromkeys(name for scores in self.seen for name in scores)
        return {name: fmean(scores[name] for scores in self.seen if name in scores) for name in names}


def answer_score(name: str, metric: Callable[[str, str], float]) -> Score:
    """A measure of `generated` against the best matching reference."""

    def score(data: RAGData) -> Scores:
        return {name: metrics.best(metric, data.get("generated") or "", references_of(data))}

    return score


def accuracy_score(match: metrics.Match = "contains") -> Score:
    """Whether the answer is right, by one of three ways of matching."""
    return answer_score("accuracy", partial(metrics.accuracy, match=match))


def embedding_similarity_score(embedder: Embedder) -> Score:
    """Cosine of the answer and the most similar reference; 0 without any."""

    def score(data: RAGData) -> Scores:
        references = references_of(data)
        if not references:
            return {"embedding_similarity": 0.0}
        vectors = embedder.embed([data.get("generated") or "", *references])
        cosines = vectors[1:] @ vectors[:1].T
        dense = cast("Any", cosines).toarray() if issparse(cosines) else np.asarray(cosines)
        return {"embedding_similarity": float(dense.max())}

    return score


def token_count_score(data: RAGData) -> Scores:
    """Words of the best documents."""
    return {"token_count": float(_count(docs_of(data)))}


def retrieval_recall_score(data: RAGData) -> Scores:
    """Share of a reference's distinct words found in the best documents together."""
    joined = "\n".join(docs_of(data))
    return {"retrieval_recall": metrics.best(metrics.context_recall, joined, references_of(data))}


def compression_score(data: RAGData) -> Scores:
    """How much text refining kept: `compression_rate` in words, its inverse, and `doc_ratio` in documents.

    Each is 0 where its denominator is empty.
    """
    before, after = data.get("retrieval_docs") or [], data.get("refining_docs") or []
    was, left = _count(before), _count(after)
    return {
        "compression_rate": _ratio(left, was),
        "compression_factor": _ratio(was, left),
        "doc_ratio": _ratio(len(after), len(before)),
    }


def latency_score(data: RAGData) -> Scores:
    """Seconds of each stage, of all stages, and of refining with generation."""
    parts = {name: float(cast("Any", data).get(name) or 0.0) for name in _TIMES}
    return parts | {
        "total": sum(parts.values()),
        "refining_plus_generation": parts["refining_time"] + parts["generation_time"],
    }


ANSWER_SCORES: dict[str, Score] = {
    "exact_match": answer_score("exact_match", metrics.exact_match),
    "f1": answer_score("f1", metrics.f1),
    "answer_recall": answer_score("answer_recall", metrics.recall),
    "rouge_l": answer_score("rouge_l", metrics.rouge_l),
    "accuracy": accuracy_score(),
    "context_recall": answer_score("context_recall", metrics.context_recall),
    "character_recall": answer_score("character_recall", metrics.character_recall),
}
"""Measures that need only the answer and its references."""

RECORD_SCORES: dict[str, Score] = ANSWER_SCORES | {
    "token_count": token_count_score,
    "retrieval_recall": retrieval_recall_score,
    "compression": compression_score,
    "latency": latency_score,
}
"""Measures of a whole record; `embedding_similarity_score` also needs an embedder."""


def evaluators(names: Iterable[str] = RECORD_SCORES) -> list[Evaluator]:
    """A fresh evaluator for each name; an unknown one is refused."""
    chosen = list(names)
    if unknown := [name for name in chosen if name not in RECORD_SCORES]:
        raise SettingsError(f"unknown measures {unknown}; there are {list(RECORD_SCORES)}")
    return [Evaluator(RECORD_SCORES[name]) for name in chosen]


def _count(docs: Sequence[str]) -> int:
    return sum(len(metrics.plain_words(text)) for text in docs)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class AnswersEvaluation(ScoredOutcomes):
    """A mode's answer to every question."""

    mode: str

    def __repr__(self) -> str:
        return f"AnswersEvaluation({self.mode}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its answer, tokens and seconds, and each score as a column."""
        text, whole, number = pa.string(), pa.int64(), pa.float64()
        kinds = {"id": text, "question": text, "answers": pa.list_(text), "answer": text, "is_found": pa.bool_()}
        kinds |= {"documents": pa.list_(text), "calls": whole, "tokens": whole, "seconds": number}
        return self._table(kinds)

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values, every mean with its interval: what `--answers --json` prints."""
        told = [outcome.told for outcome in self.outcomes]
        return {
            "mode": self.mode,
            "questions": len(self.outcomes),
            **self._means(),
            "found": fmean(each["is_found"] for each in told),
            "calls_per_question": fmean(each["calls"] for each in told),
            "tokens_per_question": fmean(each["tokens"] for each in told),
            "seconds_per_query": self.seconds_per_query(),
            "per_question": [outcome.to_dict() for outcome in self.outcomes],
        }


def evaluate_answers(
    ask: Callable[..., Answer], questions: Iterable[Question], *, ks: Sequence[int] = KS, mode: str = ""
) -> AnswersEvaluation:
    """The outcome of a mode for every question; `ask` is bound to release, mode and options.

    It is called with the text of a question, and with its keys after it where it names some. A question with neither
    answers nor gold documents is unanswerable: it scores `refused`.
    """
    outcomes = tuple(_outcome(each, ask(each.question, *([each.keys] if each.keys else [])), ks) for each in questions)
    return AnswersEvaluation(outcomes, mode or next((each.found.mode for each in outcomes), ""))


def _outcome(question: Question, answer: Answer, ks: Sequence[int]) -> ScoredOutcome:
    scores: dict[str, float] = {}
    if question.answers:
        text = without_markers(answer.text) if answer.is_found else ""
        record = RAGData(generated=text, references=list(question.answers))
        scores |= {name: value for score in ANSWER_SCORES.values() for name, value in score(record).items()}
        context = "\n".join(hit.text for hit in answer.hits)
        scores["retrieval_recall"] = metrics.best(metrics.context_recall, context, question.answers)
    scores |= metrics.recall_scores(answer.documents, question.gold_documents, ks)
    scores["refused" if question.is_unanswerable else "answered"] = float(answer.is_found != question.is_unanswerable)
    told = {
        "answer": answer.text,
        "is_found": answer.is_found,
        "documents": list(answer.documents),
        "calls": answer.usage.calls,
        "tokens": answer.usage.input_tokens + answer.usage.output_tokens,
        "seconds": answer.seconds,
        "notes": list(answer.notes),
    }
    return ScoredOutcome(question, told, scores, answer)
