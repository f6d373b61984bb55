"""Evaluate a search method: recall by document and by passage with bootstrap intervals, seconds, and stages."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple, cast

import numpy as np
import pyarrow as pa

from sag_retrieval.ask.options import FoundPassage, FoundPassages, SearchFunction
from sag_retrieval.core.errors import QueryError, SettingsError
from sag_retrieval.core.public import Convertible
from sag_retrieval.evaluation.metrics import distinct, evidence_coverage, holds, recall_scores
from sag_retrieval.evaluation.questions import Evidence, Question

SAMPLES = 2000
SEED = 20251120


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds between which 95 % of the resampled means lie."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean of some values and its 95 % interval; without values all zero (docs/algorithm.md §evaluation.5)."""
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    given = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(SEED).integers(0, len(given), size=(SAMPLES, len(given)))
    low, high = np.quantile(given[draws].mean(axis=1), [0.025, 0.975])
    return Interval(float(given.mean()), float(low), float(high))


def paired_difference(left: Mapping[str, float], right: Mapping[str, float]) -> Interval:
    """Mean of left − right with its interval; both have to be measured on the same questions."""
    if left.keys() != right.keys():
        odd = sorted(left.keys() ^ right.keys())
        raise QueryError(f"{len(odd)} questions were measured on one side only, such as {odd[:3]}")
    return bootstrap([left[question] - right[question] for question in left])


Unit = Literal["document", "passage"]
"""What is counted: distinct documents, or passages that hold evidence."""

_RECALL: Final[Mapping[Unit, str]] = {"document": "recall", "passage": "passage_recall"}
KS = (2, 5, 10)
CHARACTERS = 3000
"""Returned characters within which evidence sentences are looked for."""

_CHUNKS_PER_DOCUMENT = 5
_MOST_CHUNKS = 2000


@dataclass(frozen=True, slots=True)
class ScoredOutcome:
    """What a question got, with its scores where right answers or gold documents are known."""

    question: Question
    told: Mapping[str, Any]
    """What is printed of it, as plain values."""
    scores: Mapping[str, float]
    found: Any = None
    """The answer of a mode, or the record of a pipeline."""

    def to_dict(self) -> dict[str, Any]:
        """One line of `per_question`."""
        asked = {name: getattr(self.question, name) for name in ("id", "question")}
        return asked | {"answers": list(self.question.answers)} | dict(self.told) | {"scores": dict(self.scores)}


@dataclass(frozen=True, slots=True)
class ScoredOutcomes(Convertible):
    """Scores of every question. A mean is over the questions that have the score."""

    outcomes: tuple[ScoredOutcome, ...]

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise QueryError("there is no question to evaluate")

    @property
    def names(self) -> tuple[str, ...]:
        """Every score that a question has, in the order of the measures."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.scores))

    def score(self, name: str) -> Interval:
        """Mean of a score with its interval."""
        return bootstrap([o.scores[name] for o in self.outcomes if name in o.scores])

    def seconds_per_query(self) -> dict[str, float]:
        """Median and 95th percentile."""
        seconds = [outcome.told["seconds"] for outcome in self.outcomes]
        return {f"p{p}": float(np.percentile(seconds, p)) for p in (50, 95)}

    def _means(self) -> dict[str, Any]:
        """Each mean by the name of its score, and the intervals of all."""
        scores = {name: self.score(name) for name in self.names}
        means: dict[str, Any] = {name: interval.mean for name, interval in scores.items()}
        return means | {"intervals": {name: [interval.low, interval.high] for name, interval in scores.items()}}

    def _table(self, kinds: Mapping[str, pa.DataType]) -> pa.Table:
        """One row for each question: some values of its outcome, and each score as a column."""
        rows = [outcome.to_dict() | dict.fromkeys(self.names) | dict(outcome.scores) for outcome in self.outcomes]
        return pa.Table.from_pylist(rows, schema=pa.schema({**kinds, **dict.fromkeys(self.names, pa.float64())}))


@dataclass(frozen=True, slots=True)
class Evaluation(ScoredOutcomes):
    """What a method found for every question. Means are over questions with gold documents."""

    method: str
    ks: tuple[int, ...]

    def recall(self, k: int, by: Unit = "document") -> Interval:
        """Mean recall among the first k distinct documents, or of evidence among the first k passages."""
        return self.score(f"{_RECALL[by]}@{k}")

    def recall_by_question(self, k: int, by: Unit = "document") -> dict[str, float]:
        """Recall of each question that has gold documents, or evidence, by its id."""
        name = f"{_RECALL[by]}@{k}"
        return {o.question.id: o.scores[name] for o in self.outcomes if name in o.scores}

    @property
    def has_passages(self) -> bool:
        """Whether any question has evidence."""
        return "evidence" in self.names

    def all_gold(self, k: int) -> Interval:
        """Share of questions with every gold document among the first k."""
        return self.score(f"all_gold@{k}")

    def stages(self) -> dict[str, float]:
        """For each stage of the search that reports its candidates: mean share of gold documents still among them."""
        shares = [o.told["stages"] for o in self.outcomes if "stages" in o.told]
        names = dict.fromkeys(name for each in shares for name in each)
        return {name: float(np.mean([each[name] for each in shares if name in each])) for name in names}

    def __repr__(self) -> str:
        return f"Evaluation({self.method}, {len(self.outcomes)} questions)"

    def to_arrow(self) -> pa.Table:
        """One row for each question: its documents, gold documents and seconds, and each score, such as `recall@2`."""
        text, number = pa.string(), pa.float64()
        kinds = {"id": text, "question": text, "gold_documents": pa.list_(text), "documents": pa.list_(text)}
        cuts = [f"{name}@{k}" for name in ("recall", "all_gold") for k in self.ks]
        return self._table(kinds | dict.fromkeys(["seconds", *cuts], number))

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain values: what `sag evaluate --json` prints."""
        names = ("recall", "all_gold")
        scores = {f"{name}@{k}": self.score(f"{name}@{k}") for name in (*names, "passage_recall") for k in self.ks}
        means = {name: interval.mean for name, interval in scores.items()}
        bounds = {name: [interval.low, interval.high] for name, interval in scores.items()}
        passages = {"evidence": self.score("evidence").mean, "passage_recall": self._by_k("passage_recall", means)}
        stages = self.stages()
        return {
            "method": self.method,
            "questions": len(self.outcomes),
            "questions_with_gold": sum(1 for o in self.outcomes if o.question.gold_documents),
            **{name: self._by_k(name, means) for name in names},
            "intervals": {name: self._by_k(name, bounds) for name in names},
            "seconds_per_query": self.seconds_per_query(),
            **(passages if self.has_passages else {}),
            **({"stages": stages} if stages else {}),
            "per_question": [self._line(outcome) for outcome in self.outcomes],
        }

    def _line(self, outcome: ScoredOutcome) -> dict[str, Any]:
        scores = outcome.scores
        passages = {name: value for name, value in scores.items() if name == "evidence"}
        if passages:
            passages["passage_recall"] = self._by_k("passage_recall", scores)
        cuts = {name: self._by_k(name, scores) for name in ("recall", "all_gold")}
        return {"id": outcome.question.id, "question": outcome.question.question, **outcome.told} | cuts | passages

    def _by_k(self, name: str, values: Mapping[str, Any]) -> Any:  # noqa: ANN401  values of any kind
        return {str(k): values[f"{name}@{k}"] for k in self.ks if f"{name}@{k}" in values}


def evaluate(
    search: SearchFunction,
    questions: Iterable[Question],
    *,
    ks: Sequence[int] = KS,
    method: str = "sag",
    explained: Callable[[Question], FoundPassages] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """The outcome of a search for every question, under the name of its method.

    Args:
        search: The method that is measured.
        questions: The questions with their gold documents.
        ks: Cut-offs, in distinct documents.
        method: Its name in the result.
        explained: The same search with a trace that counts gold documents by stage; not timed.
        clock: Returns seconds.
    """
    wanted = checked_cuts(ks)
    outcomes = tuple(_outcomes(search, questions, wanted, clock))
    if explained is not None:
        outcomes = tuple(_with_stages(outcome, explained(outcome.question)) for outcome in outcomes)
    return Evaluation(outcomes, method, wanted)


def checked_cuts(ks: Sequence[int]) -> tuple[int, ...]:
    """Each cut-off once, in order; a QueryError if there is none, or one is below 1."""
    cuts = tuple(sorted(set(ks)))
    if not cuts or cuts[0] < 1:
        raise QueryError(f"k must be at least 1, got {list(ks)}")
    return cuts


def compare(left: Evaluation, right: Evaluation, by: Unit = "document") -> dict[int, Interval]:
    """For each k of both: mean difference left − right of recall over the same questions."""
    ks = sorted(set(left.ks) & set(right.ks))
    return {k: paired_difference(left.recall_by_question(k, by), right.recall_by_question(k, by)) for k in ks}


def _outcomes(
    search: SearchFunction, questions: Iterable[Question], ks: tuple[int, ...], clock: Callable[[], float]
) -> Iterator[ScoredOutcome]:
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


def _outcome(question: Question, result: FoundPassages, ks: tuple[int, ...], seconds: float) -> ScoredOutcome:
    documents = distinct(hit.document_id for hit in result.hits)[: ks[-1]]
    told = {"gold_documents": list(question.gold_documents), "documents": documents, "seconds": seconds}
    scores = recall_scores(documents, question.gold_documents, ks)
    if evidence := question.evidence:
        held = [{n for n, piece in enumerate(evidence) if _is_in(piece, hit)} for hit in result.hits[: ks[-1]]]
        scores |= {f"passage_recall@{k}": len(set[int]().union(*held[:k])) / len(evidence) for k in ks}
        texts = [hit.text for hit in result.hits]
        scores["evidence"] = evidence_coverage(texts, [piece.text for piece in evidence], CHARACTERS)
    return ScoredOutcome(question, told, scores)


def _is_in(piece: Evidence, hit: FoundPassage) -> bool:
    """Whether a passage holds any of a place, or all of a quote that has none."""
    if piece.document not in ("", hit.document_id):
        return False
    if piece.start is None or piece.end is None:
        return holds(hit.text, piece.text)
    return hit.start < piece.end and piece.start < hit.start + len(hit.text)


def _with_stages(outcome: ScoredOutcome, result: FoundPassages) -> ScoredOutcome:
    """With the share of gold documents that each stage of the search still held, where its trace counted them."""
    count = len(set(outcome.question.gold_documents))
    stages = [stage for stage in result.trace.get("stages", ()) if count and "gold_documents" in stage]
    shares = {stage["stage"]: stage["gold_documents"] / count for stage in stages}
    return replace(outcome, told={**outcome.told, "stages": shares}) if shares else outcome


class GivenPassage(NamedTuple):
    """What a retriever of somebody's own found."""

    document_id: str
    text: str = ""
    start: int = 0


def named_retriever(place: str) -> SearchFunction:
    """A retriever of one's own, by `module:function`, as what `evaluate` measures.

    The function takes a question and how many passages are wanted, and gives them best first: ids of documents, or
    pairs of such an id and the text that was found.
    """
    try:
        ask = resolve_name(place)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(
            f"--retriever {place}: {error}; name a function as `module:function` that takes a question and a count"
        ) from error

    def search(text: str, /, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10) -> SimpleNamespace:  # noqa: ARG001
        found = [GivenPassage(*((one,) if isinstance(one, str) else one)) for one in ask(text, top_k)]
        return SimpleNamespace(hits=found, keys=(), trace={})

    return cast("SearchFunction", search)
