"""The record `RAGData`, the base classes of stages that fill it, and pipelines of them.

After every stage, also where a stage runs again, these hold, and are checked here alone:

1. `{stage}_docs` are the texts of `{stage}_results`, in their order.
2. `{stage}_time` is in seconds, finite and not negative; of a stage that ran again, the sum of its rounds.
3. No value is lost: what a field held is still there, or stands in the field `sag_steps` under `replaced`.
4. Once a stage has run again, `sag_steps` lists the stages in the order in which they ran.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, TypedDict, cast

from sag_retrieval.core.errors import QueryError, RecordError, shown
from sag_retrieval.core.options import Internal, check_options

StageName = Literal["retrieval", "reranking", "refining"]
Item = dict[str, Any]
"""A document at a stage: `text`, `score`, `metadata` and further fields of the stage."""


class RAGData(TypedDict, total=False):
    """Fields `{stage}_{results, docs, time}`, times in seconds; unknown fields are kept.

    After every stage the invariants of `rag/stages.py` hold.
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
    """The record itself; a RecordError if it is no dict. Tuples `(query, docs)` are an old form."""
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
    docs = next((docs for stage in _reading_order(data, order) if (docs := _listed(data, f"{stage}_docs"))), [])
    if not all(isinstance(text, str) for text in docs):
        raise RecordError("documents of a record must be texts")
    return docs


def items_of(data: Mapping[str, Any], order: tuple[StageName, ...] = BEST, reader: str = "") -> list[Item]:
    """Items of the first stage in the order that has documents; texts without items become items of score 0.

    If the stage that reads ran before, or another did twice, the stages that ran last come first.
    """
    for stage in _reading_order(data, order, reader):
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
    """A copy with the current field names; a field that already has its current name wins. Twice is as once.

    The ambiguous `results` are those of `stage`; by default of refining if there is any refining field.
    """
    given, metrics = dict(check_record(old)), old.get("refine_metrics")
    owner = stage or ("refining" if any(name in old for name in _REFINED) else "retrieval")
    if isinstance(metrics, dict):
        given = {name: value for name, value in metrics.items() if name == "refine_time"} | given
        given["refine_metrics"] = {name: value for name, value in metrics.items() if name != "refine_time"}
        given = {name: value for name, value in given.items() if name != "refine_metrics" or value}
    renamed = _RENAMED | {"results": f"{owner}_results"}
    new = {name: value for name, value in given.items() if name not in renamed}
    for name, today in renamed.items():
        if name in given:
            new.setdefault(today, given[name])
    return cast("RAGData", new)


STEPS: Final = "sag_steps"
"""Field with the stages in the order they ran, each `{"stage": name}`, with `replaced` where it wrote fields again."""

_KINDS: Final = ("results", "docs", "time")
_STAGES: Final = ("retrieval", "reranking", "refining")
_STAGE_OF: Final = {f"{stage}_{kind}": stage for stage in _STAGES for kind in _KINDS} | {
    "prompt": "prompt",
    "generated": "generation",
    "generation_time": "generation",
}


def _write_fields(record: MutableMapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Write what a stage made; values that the fields held go to `sag_steps`, and times of rounds are added."""
    stage = next((_STAGE_OF[name] for name in fields if name in _STAGE_OF), "own")
    replaced = {name: record[name] for name in fields if name in record}
    steps = _steps(record) if STEPS in record else _written(record)
    for name in replaced:
        del record[name]  # so that the order of the fields is the order of writing
    record.update(fields)
    time = f"{stage}_time"
    if isinstance(replaced.get(time), int | float) and time in fields:
        record[time] = fields[time] + replaced[time]
    if fields and (replaced or STEPS in record):
        record[STEPS] = [*steps, {"stage": stage} | ({"replaced": replaced} if replaced else {})]


def _reading_order(data: Mapping[str, Any], order: tuple[str, ...], stage: str = "") -> tuple[str, ...]:
    """Stages from whose documents a reader takes the first that has any.

    The given order, as long as each stage ran once. Where one ran again, or `stage` is about to, the last one written
    comes first, so that a stage reads what the one ahead of it wrote.
    """
    if STEPS in data:
        steps = _steps(data)
    elif data.get(f"{stage}_docs"):
        steps = _written(data)
    else:
        return order
    newest = [step["stage"] for step in reversed(steps) if step["stage"] in _STAGES]
    return tuple(dict.fromkeys([*newest, *order]))


def has_current_prompt(data: Mapping[str, Any]) -> bool:
    """Whether there is a prompt, and no stage has found other documents since it was written."""
    ran = [step["stage"] for step in _steps(data)] if STEPS in data else []
    last = next((stage for stage in reversed(ran) if stage in {"prompt", *_STAGES}), "prompt")
    return bool(data.get("prompt")) and last == "prompt"


def _check_step(before: Mapping[str, Any], after: Mapping[str, Any], who: str) -> None:
    """Refuse a record that a stage left with a broken invariant; the message names the stage and each fault."""
    written = [name for name in after if name not in before or after[name] is not before[name]]
    stages = dict.fromkeys(_STAGE_OF[name] for name in written if name in _STAGE_OF)
    faults = [fault for stage in stages for fault in _faults(after, stage)]
    held = [step["replaced"] for step in (_steps(after) if STEPS in after else ()) if "replaced" in step]
    lost = [
        name
        for name, value in before.items()
        if name != STEPS and after.get(name) is not value and not any(kept.get(name) is value for kept in held)
    ]
    if lost:
        faults.append(f"{', '.join(map(repr, lost))} was overwritten; write fields of your own, or subclass Stage")
    if faults:
        raise RecordError(f"{who} broke the record: {'; '.join(faults)}")


def _faults(record: Mapping[str, Any], stage: str) -> list[str]:
    found = []
    results, docs, time = (record.get(f"{stage}_{kind}") for kind in _KINDS)
    if stage in _STAGES and (docs or results):
        items = results if isinstance(results, list | tuple) else ()
        if docs != [item.get("text") if isinstance(item, Mapping) else None for item in items]:
            found.append(f"`{stage}_docs` must be the texts of `{stage}_results`, got {shown(docs)}")
    is_number = isinstance(time, int | float) and not isinstance(time, bool)
    if time is not None and not (is_number and math.isfinite(time) and time >= 0):
        found.append(f"`{stage}_time` must be seconds, 0 or more, got {shown(time)}")
    return found


def _written(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stages with a field in a record, in the order of the fields, which is that of writing."""
    last = {_STAGE_OF[name]: None for name in reversed(list(record)) if record[name] and name in _STAGE_OF}
    return [{"stage": stage} for stage in reversed(last)]


def _steps(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    steps = record[STEPS]
    if isinstance(steps, list | tuple) and all(isinstance(step, Mapping) and "stage" in step for step in steps):
        return [dict(step) for step in steps]
    raise RecordError(f"`{STEPS}` must be a list of objects with `stage`, as stages write it, got {shown(steps)}")


Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Stage(ABC):
    """A callable that adds its fields to a record and returns the same record."""

    clock: Annotated[Clock, Internal()] = field(default=time.perf_counter, repr=False)

    def __post_init__(self) -> None:
        check_options(self)

    def execute(self, data: RAGData) -> RAGData:
        """The same dict with this stage's fields appended; what they held before goes to `sag_steps`.

        Raises:
            RecordError: If the record is not a dict, or the stage broke an invariant.
            QueryError: If a field this stage needs is missing.
        """
        record = check_record(data)
        before, started = dict(record), self.clock()
        _write_fields(cast("dict[str, Any]", record), self._fields(record, lambda: self.clock() - started))
        _check_step(before, record, type(self).__name__)
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


def metadata_of(item: Item) -> Mapping[str, Any]:
    """What is known of an item besides its text; empty without any."""
    found: Mapping[str, Any] = item.get("metadata") or {}
    return found


def titles_of(items: Sequence[Item]) -> list[str]:
    """The title of each item's document; empty where it is not known."""
    return [str(metadata_of(item).get("title", "")) for item in items]


def query_of(data: RAGData, stage: Stage) -> str:
    """The record's query; a QueryError if it is missing or blank."""
    query = data.get("query")
    if not isinstance(query, str) or not query.strip():
        raise QueryError(f"{type(stage).__name__} needs a non-empty `query`, got {shown(query)}")
    return query


@dataclass(frozen=True)
class Pipeline:
    """Stages in sequence; itself a stage."""

    stages: Sequence[Callable[[RAGData], RAGData]]

    def run(self, data: RAGData) -> RAGData:
        """The same record after all stages; a RecordError names the stage that broke it."""
        record = check_record(data)
        for stage in self.stages:
            before = dict(record)
            record = check_record(stage(record))
            _check_step(before, record, getattr(stage, "__name__", type(stage).__name__))
        return record

    __call__ = execute = run
