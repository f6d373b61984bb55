"""The record `RAGData`, the base classes of stages that fill it, and pipelines of them."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypedDict, cast

from sag_retrieval.core.errors import QueryError, RecordError, shown
from sag_retrieval.core.options import Internal
from sag_retrieval.rag.rounds import check_step, reading_order, write_fields

StageName = Literal["retrieval", "reranking", "refining"]
Item = dict[str, Any]
"""A document at a stage: `text`, `score`, `metadata` and further fields of the stage."""


class RAGData(TypedDict, total=False):
    """Fields `{stage}_{results, docs, time}`, times in seconds; unknown fields are kept.

    After every stage the invariants of `rag/rounds.py` hold.
    """

    query: str
    question: dict[str, Any]
    references: list[str]
    retrieval_results: list[dict[str, Any]]
    retrieval_docs: list[str]
    retrieval_time: float
    reranking_results: list[dict[str, Any]]
    reranking_docs: list[str]
    reranking_time: float
    refining_results: list[dict[str, Any]]
    refining_docs: list[str]
    refining_time: float
    prompt: str
    generated: str
    generation_time: float
    input: Any


BEST: tuple[StageName, ...] = ("refining", "reranking", "retrieval")
"""Order of stages in which prompts and measures take documents; empty lists are skipped."""
TO_RERANK: tuple[StageName, ...] = ("refining", "retrieval")
TO_REFINE: tuple[StageName, ...] = ("reranking", "retrieval")

_RENAMED = {
    "retrieved_docs": "retrieval_docs",
    "refined_docs": "refining_docs",
    "retrieve_time": "retrieval_time",
    "refine_time": "refining_time",
    "generate_time": "generation_time",
    "pred": "generated",
    "golds": "references",
}
_REFINED = ("refined_docs", "refine_time", "refine_metrics", "refining_docs", "refining_time")


def check_record(data: object) -> RAGData:
    """The record itself.

    Raises:
        RecordError: If it is not a dict; tuples `(query, docs)` are an old form.

    """
    if isinstance(data, tuple):
        raise RecordError(
            'the tuple form (query, docs) was removed; pass a dict such as {"query": query, "retrieval_docs": docs}'
        )
    if not isinstance(data, dict):
        raise RecordError(f"a RAGData record is a dict, got {type(data).__name__}")
    return cast("RAGData", data)


def docs_of(data: Mapping[str, Any], order: tuple[StageName, ...] = BEST) -> list[str]:
    """Texts of the first stage in the order that has any; empty if no stage has any.

    Where a stage ran again, the stages that ran last come first.
    """
    docs = next((docs for stage in reading_order(data, order) if (docs := _listed(data, f"{stage}_docs"))), [])
    if not all(isinstance(text, str) for text in docs):
        raise RecordError("documents of a record must be texts")
    return docs


def items_of(data: Mapping[str, Any], order: tuple[StageName, ...] = BEST, reader: str = "") -> list[Item]:
    """Items of the first stage in the order that has documents; texts without items become items of score 0.

    Args:
        data: The record.
        order: Stages to read from.
        reader: The stage that reads; if it ran before, or another did twice, the stages that ran last come first.

    """
    for stage in reading_order(data, order, reader):
        docs, results = (_listed(data, f"{stage}_{kind}") for kind in ("docs", "results"))
        if results and (not docs or len(docs) == len(results)):
            return [_checked(item, stage) for item in results]
        if docs:
            return [_checked({"text": text, "score": 0.0}, stage) for text in docs]
    return []


def _listed(data: Mapping[str, Any], name: str) -> list[Any]:
    value = data.get(name)
    if value is not None and not isinstance(value, list | tuple):
        raise RecordError(f"{name!r} of a record must be a list, got {shown(value)}")
    return list(value or ())


def _checked(item: object, stage: str) -> Item:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise RecordError(f"a document of {stage} must be an object with a text `text`, got {shown(item)}")
    if not isinstance(item.get("metadata") or {}, Mapping):
        raise RecordError(f"metadata of a document of {stage} must be an object, got {shown(item['metadata'])}")
    return item


def references_of(data: Mapping[str, Any]) -> list[str]:
    """Correct answers: `references`, else those of the question, else none."""
    question = data.get("question")
    asked = question.get("references") if isinstance(question, dict) else None
    return list(data.get("references") or asked or [])


def migrate(old: Mapping[str, Any], stage: StageName | None = None) -> RAGData:
    """A record with the current field names; a field that already has its current name wins.

    Applying it twice changes nothing.

    Args:
        old: A record with old names; not modified.
        stage: The stage of the ambiguous field `results`; by default refining if there is any refining field.

    """
    check_record(old)
    owner = stage or ("refining" if any(name in old for name in _REFINED) else "retrieval")
    renamed = _RENAMED | {"results": f"{owner}_results"}
    new = {name: value for name, value in old.items() if name not in renamed and name != "refine_metrics"}
    for name, today in renamed.items():
        if name in old:
            new.setdefault(today, old[name])
    metrics = old.get("refine_metrics")
    if isinstance(metrics, dict):
        rest = {name: value for name, value in metrics.items() if name != "refine_time"}
        if "refine_time" in metrics:
            new.setdefault("refining_time", metrics["refine_time"])
        if rest:
            new["refine_metrics"] = rest
    elif metrics is not None:
        new["refine_metrics"] = metrics
    return cast("RAGData", new)


Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Stage(ABC):
    """A callable that adds its fields to a record and returns the same record."""

    clock: Annotated[Clock, Internal()] = field(default=time.perf_counter, repr=False)

    def execute(self, data: RAGData) -> RAGData:
        """The same dict with this stage's fields appended; what they held before goes to `sag_steps`.

        Raises:
            RecordError: If the record is not a dict, or the stage broke an invariant.
            QueryError: If a field this stage needs is missing.

        """
        record = check_record(data)
        before, started = dict(record), self.clock()
        write_fields(cast("dict[str, Any]", record), self._fields(record, lambda: self.clock() - started))
        check_step(before, record, type(self).__name__)
        return record

    __call__ = execute

    @abstractmethod
    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:
        """The fields to append; `seconds` returns the time since the stage began."""


@dataclass(frozen=True, kw_only=True)
class DocumentStage(Stage):
    """A stage that returns documents: it fills `{stage}_results`, `{stage}_docs` and `{stage}_time`."""

    stage: ClassVar[StageName]

    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:
        items = list(self._items(data))
        return {
            f"{self.stage}_results": items,
            f"{self.stage}_docs": [item["text"] for item in items],
            f"{self.stage}_time": float(seconds()),
        }

    @abstractmethod
    def _items(self, data: RAGData) -> Iterable[Item]:
        """The documents of this stage, best first."""


def query_of(data: RAGData, stage: Stage) -> str:
    """The record's query.

    Raises:
        QueryError: If it is missing or blank.

    """
    query = data.get("query")
    if not isinstance(query, str) or not query.strip():
        raise QueryError(f"{type(stage).__name__} needs a non-empty `query`, got {shown(query)}")
    return query


@dataclass(frozen=True)
class Pipeline:
    """Stages in sequence; itself a stage."""

    stages: Sequence[Callable[[RAGData], RAGData]]

    def run(self, data: RAGData) -> RAGData:
        """The same record after all stages.

        Raises:
            RecordError: If a stage broke an invariant of the record.

        """
        record = check_record(data)
        for stage in self.stages:
            before = dict(record)
            record = check_record(stage(record))
            check_step(before, record, getattr(stage, "__name__", type(stage).__name__))
        return record

    __call__ = execute = run
