"""Evaluate a search method: recall by document and by passage with bootstrap intervals, seconds, and stages."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sag_retrieval.ask.options import FoundPassage, FoundPassages, SearchFunction
from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.public import Convertible
from sag_retrieval.evaluation.metrics import distinct, evidence_coverage, has_all_at, held_share, holds, recall_at
from sag_retrieval.evaluation.questions import Evidence, Question

SAMPLES = 2000
SEED = 20251120


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds between which 95 % of the resampled means lie."""

    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def bootstrap(values: Sequence[float], *, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """The mean of some values and its 95 % interval; without values all zero.

    Source:
        docs/algorithm.md §evaluation.5

    """
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    given = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(given), size=(samples, len(given)))
    low, high = np.quantile(given[draws].mean(axis=1), [0.025, 0.975])
    return Interval(float(given.mean()), float(low), float(high))


def paired_difference(left: Mapping[str, float], right: Mapping[str, float]) -> Interval:
    """Mean of left − right over the same questions, with its interval.

    Raises:
        QueryError: If the two were not measured on the same questions.

    """
    if left.keys() != right.keys():
        odd = sorted(left.keys() ^ right.keys())
        raise QueryError(f"{len(odd)} questions were measured on one side only, such as {odd[:3]}")
    return bootstrap([left[question] - right[question] for question in left])


Unit = Literal["document", "passage"]
"""What is counted: distinct documents, or passages that hold evidence."""

KS = (2, 5, 10)
CHARACTERS = 3000
"""Returned characters within which evidence sentences are looked for."""

_CHUNKS_PER_DOCUMENT = 5
_MOST_CHUNKS = 2000


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """The result of a method for one question; the measures are empty without gold documents."""

    question: Question
    documents: tuple[str, ...]
    seconds: float
    recall: Mapping[int, float] = field(default_factory=dict)
    passage_recall: Mapping[int, float] = field(default_factory=dict)
    """Share of the evidence that the first k passages hold; empty without evidence."""
    all_gold: Mapping[int, float] = field(default_factory=dict)
    evidence: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """One line of `per_question`."""
        return {
            "id": self.question.id,
            "question": self.question.question,
            "gold_documents": list(self.question.gold_documents),
            "documents": list(self.documents),
            "recall": _by_k(self.recall),
            "all_gold": _by_k(self.all_gold),
            "seconds": self.seconds,
            **({"passage_recall": _by_k(self.passage_recall)} if self.passage_recall else {}),
            **({} if self.evidence is None else {"evidence": self.evidence}),
            **({"stages": dict(self.stages)} if self.stages else {}),
        }


@dataclass(frozen=True, slots=True)
class Evaluation(Convertible):
    """A method's outcome for every question. Means are over questions with gold documents."""

    method: str
    ks: tuple[int, ...]
    outcomes: tuple[QuestionOutcome, ...]

    def recall(self, k: int, by: Unit = "document") -> Interval:
        """Mean recall among the first k distinct documents, or of evidence among the first k passages."""
        return bootstrap(list(self.recall_by_question(k, by).values()))

    def recall_by_question(self, k: int, by: Unit = "document") -> dict[str, float]:
        """Recall of each question that has gold documents, or evidence, by its id."""
        each = ((o.question.id, o.recall if by == "document" else o.passage_recall) for o in self.outcomes)
        return {name: recall[k] for name, recall in each if recall}

    @property
    def has_passages(self) -> bool:
        """Whether any question has evidence."""
        return any(o.passage_recall for o in self.outcomes)

    def all_gold(self, k: int) -> Interval:
        """Share of questions with every gold document among the first k."""
        return bootstrap([o.all_gold[k] for o in self.outcomes if o.all_gold])

    def evidence(self) -> Interval:
        """Mean share of evidence sentences within the first 3,000 returned characters."""
        return bootstrap([o.evidence for o in self.outcomes if o.evidence is not None])

    def stages(self) -> dict[str, float]:
        """For each stage of the search that reports its candidates: mean share of gold documents still among them."""
        names = dict.fromkeys(name for o in self.outcomes for name in o.stages)
        return {name: _mean([o.stages[name] for o in self.outcomes if name in o.stages]) for name in names}

    def seconds_per_query(self) -> dict[str, float]:
        """Median and 95th percentile."""
        seconds = [outcome.seconds for outcome in self.outcomes]
        return {name: float(np.percentile(seconds, p)) for name, p in (("p50", 50), ("p95", 95))}

    def __repr__(self) -> str:
        return f"Evaluation({self.method}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its documents, gold documents and seconds, and `recall@k` and `all_gold@k`."""
        cuts = {f"{name}@{k}": (name, k) for name in ("recall", "all_gold") for k in self.ks}
        rows = [
            {name: told[name] for name in ("id", "question", "gold_documents", "documents", "seconds")}
            | {column: told[name].get(str(k)) for column, (name, k) in cuts.items()}
            for told in (outcome.to_dict() for outcome in self.outcomes)
        ]
        text, number = pa.string(), pa.float64()
        kinds = {"id": text, "question": text, "gold_documents": pa.list_(text), "documents": pa.list_(text)}
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds | dict.fromkeys(["seconds", *cuts], number)))

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values: what `sag evaluate --json` prints."""
        recall = {k: self.recall(k) for k in self.ks}
        all_gold = {k: self.all_gold(k) for k in self.ks}
        evidence: dict[str, Any] = {"evidence": self.evidence().mean} if self.has_passages else {}
        if self.has_passages:
            passages = {k: self.recall(k, "passage") for k in self.ks}
            evidence["passage_recall"] = _by_k({k: interval.mean for k, interval in passages.items()})
        stages = self.stages()
        return {
            "method": self.method,
            "questions": len(self.outcomes),
            "questions_with_gold": sum(1 for o in self.outcomes if o.recall),
            "recall": _by_k({k: interval.mean for k, interval in recall.items()}),
            "all_gold": _by_k({k: interval.mean for k, interval in all_gold.items()}),
            "intervals": {
                "recall": _by_k({k: [interval.low, interval.high] for k, interval in recall.items()}),
                "all_gold": _by_k({k: [interval.low, interval.high] for k, interval in all_gold.items()}),
            },
            "seconds_per_query": self.seconds_per_query(),
            **evidence,
            **({"stages": stages} if stages else {}),
            "per_question": [outcome.to_dict() for outcome in self.outcomes],
        }


def evaluate(
    search: SearchFunction,
    questions: Iterable[Question],
    *,
    ks: Sequence[int] = KS,
    method: str = "sag",
    explained: Callable[[Question], FoundPassages] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """The outcome of a search for every question.

    Args:
        search: The method that is measured.
        questions: The questions with their gold documents.
        ks: Cut-offs, in distinct documents.
        method: Its name in the result.
        explained: The same search with a trace that counts gold documents by stage; not timed.
        clock: Returns seconds.

    Raises:
        QueryError: If there is no question, or a k is below 1.

    """
    wanted = tuple(sorted(set(ks)))
    if not wanted or wanted[0] < 1:
        raise QueryError(f"k must be at least 1, got {list(ks)}")
    outcomes = tuple(_outcomes(search, questions, wanted, clock))
    if explained is not None:
        outcomes = tuple(_with_stages(outcome, explained(outcome.question)) for outcome in outcomes)
    if not outcomes:
        raise QueryError("there is no question to evaluate")
    return Evaluation(method, wanted, outcomes)


def compare(left: Evaluation, right: Evaluation, by: Unit = "document") -> dict[int, Interval]:
    """For each k of both: mean difference left − right of recall over the same questions."""
    ks = sorted(set(left.ks) & set(right.ks))
    return {k: paired_difference(left.recall_by_question(k, by), right.recall_by_question(k, by)) for k in ks}


def _outcomes(
    search: SearchFunction, questions: Iterable[Question], ks: tuple[int, ...], clock: Callable[[], float]
) -> Iterator[QuestionOutcome]:
    for question in questions:
        started = clock()
        result = search(question.question, question.keys, None, ks[-1] * _CHUNKS_PER_DOCUMENT)
        seconds = clock() - started
        yield _outcome(question, _with_enough_documents(search, question, ks[-1], result), ks, seconds)


def _with_enough_documents(
    search: SearchFunction, question: Question, wanted: int, result: FoundPassages
) -> FoundPassages:
    """The result, or that of a larger search where many chunks come from few documents."""
    top_k = wanted * _CHUNKS_PER_DOCUMENT
    while len({hit.document_id for hit in result.hits}) < wanted and len(result.hits) >= top_k < _MOST_CHUNKS:
        top_k *= 4
        result = search(question.question, question.keys, None, top_k)
    return result


def _outcome(question: Question, result: FoundPassages, ks: tuple[int, ...], seconds: float) -> QuestionOutcome:
    documents = tuple(distinct(hit.document_id for hit in result.hits)[: ks[-1]])
    gold, texts = question.gold_documents, [hit.text for hit in result.hits]
    return QuestionOutcome(
        question,
        documents,
        seconds,
        recall={k: recall_at(documents, gold, k) for k in ks} if gold else {},
        all_gold={k: has_all_at(documents, gold, k) for k in ks} if gold else {},
        passage_recall=_passage_recall(result, question.evidence, ks),
        evidence=evidence_coverage(texts, [piece.text for piece in question.evidence], CHARACTERS)
        if question.evidence
        else None,
    )


def _passage_recall(result: FoundPassages, evidence: Sequence[Evidence], ks: Sequence[int]) -> dict[int, float]:
    if not evidence:
        return {}
    found = [[n for n, piece in enumerate(evidence) if _is_in(piece, hit)] for hit in result.hits[: ks[-1]]]
    return {k: held_share(found, len(evidence), k) for k in ks}


def _is_in(piece: Evidence, hit: FoundPassage) -> bool:
    """Whether a passage holds any of a place, or all of a quote that has none."""
    if piece.document not in ("", hit.document_id):
        return False
    if piece.start is None or piece.end is None:
        return holds(hit.text, piece.text)
    return hit.start < piece.end and piece.start < hit.start + len(hit.text)


def _with_stages(outcome: QuestionOutcome, result: FoundPassages) -> QuestionOutcome:
    gold = outcome.question.gold_documents
    return replace(outcome, stages=_stage_coverage(result.trace, gold)) if gold else outcome


def _stage_coverage(trace: Mapping[str, Any], gold: Sequence[str]) -> dict[str, float]:
    """Share of gold documents that each stage of the search still held, where its trace counted them."""
    stages = [stage for stage in trace.get("stages", ()) if "gold_documents" in stage]
    return {stage["stage"]: stage["gold_documents"] / len(set(gold)) for stage in stages}


def _by_k(values: Mapping[int, Any]) -> dict[str, Any]:
    return {str(k): value for k, value in values.items()}


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0
