"""What every stage of a pipeline does: read the record, work, append its own fields, keep the time."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.rag.stages import Item, RAGData, StageName, check_record

Clock = Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Stage(ABC):
    """A callable that fills its fields of a record and returns the same record."""

    clock: Clock = field(default=time.perf_counter, repr=False)

    def execute(self, data: RAGData) -> RAGData:
        """The same dict with this stage's fields appended.

        Raises:
            RecordError: If the record is not a dict.
            QueryError: If a field this stage needs is missing, or one it writes is filled already.

        """
        record = check_record(data)
        started = self.clock()
        fields = self._fields(record, lambda: self.clock() - started)
        filled = [name for name in fields if record.get(name)]
        if filled:
            raise QueryError(
                f"{type(self).__name__} would overwrite {filled}; stages append only, "
                "so run it on a record without them"
            )
        record.update(cast("RAGData", fields))
        return record

    __call__ = execute

    @abstractmethod
    def _fields(self, data: RAGData, seconds: Clock) -> Mapping[str, Any]:
        """The fields to append; `seconds` tells the time since the stage began."""


@dataclass(frozen=True, kw_only=True)
class DocumentStage(Stage):
    """A stage that brings documents: it fills `{stage}_results`, `{stage}_docs` and `{stage}_time`."""

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
    """Stages one after the other; itself a stage."""

    stages: Sequence[Callable[[RAGData], RAGData]]

    def run(self, data: RAGData) -> RAGData:
        """The same record after all stages."""
        for stage in self.stages:
            data = stage(data)
        return data

    __call__ = execute = run
