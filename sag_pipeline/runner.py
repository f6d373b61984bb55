"""How a step is done: batches of pending documents in, one commit a batch out, one document's failure its own."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sag_pipeline.store.store import DocumentOutcome, Pending, StepSpec, Store
from sag_retrieval.core.errors import BudgetExceeded, ModelUnavailable
from sag_retrieval.core.records import batched

_DOCUMENTS_A_BATCH = 128


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step reads of one document: the records of each table it names."""

    document_id: str
    tables: Mapping[str, Sequence[Any]]

    def one(self, table: str) -> Any:  # noqa: ANN401  the record of whichever table is named
        """The only record of a table that has one a document."""
        return self.tables[table][0]


@dataclass(frozen=True, slots=True)
class StepResult:
    """Records made of one document; a reason says what is missing, or, without records, why all of it is."""

    records: Sequence[Any] = ()
    reason: str = ""


Work = Callable[[Sequence[StepInput]], Iterable[StepResult]]
"""Makes the records of a batch: one `StepResult` a document, in order."""


class ProgressCallback(Protocol):
    """Hears how far a step is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """`done` of `total` documents are committed."""
        ...


def ignore_progress(step: str, done: int, total: int) -> None:
    """Progress nobody watches."""


@dataclass(slots=True)
class RunStats:
    """Counts of one step in one run; `seconds` is wall time."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def metadata(self) -> dict[str, float | int]:
        """Counts by name, all of them, and the seconds."""
        names = ("new", "changed", "removed", "skipped", "failed", "rows")
        return {name: self.counts[name] for name in names} | {"seconds": round(self.seconds, 3)}


def per_document(make: Callable[[StepInput], Sequence[Any]]) -> Work:
    """Work that looks at one document at a time; an exception puts only that document aside."""

    def work(batch: Sequence[StepInput]) -> Iterable[StepResult]:
        for inputs in batch:
            try:
                yield StepResult(tuple(make(inputs)))
            except Exception as error:  # noqa: BLE001  any fault of one document is its own
                yield StepResult(reason=f"{type(error).__name__}: {error}")

    return work


def run_step(store: Store, step: StepSpec, work: Work, progress: ProgressCallback = ignore_progress) -> RunStats:
    """Bring a table up to date with its inputs; documents that nothing changed for are not read.

    Raises:
        ModelUnavailable, BudgetExceeded: After everything done so far was committed; the next run goes on from there.

    """
    tally, started = RunStats(), time.perf_counter()
    tally.counts["removed"] = store.drop_stale(step)
    pending = store.pending(step)
    done = 0
    for batch in batched(pending, _DOCUMENTS_A_BATCH):
        done += _run_batch(store, step, work, batch, tally)
        progress(step.name, done, len(pending))
    tally.counts["skipped"] = max(0, store.ledger.document_count(step.name) - len(pending))
    tally.seconds = time.perf_counter() - started
    return tally


def _run_batch(store: Store, step: StepSpec, work: Work, batch: Sequence[Pending], tally: RunStats) -> int:
    ids = [p.document_id for p in batch]
    tables = {name: store.read(name, ids) for name in step.inputs}
    inputs = [StepInput(i, {name: rows[i] for name, rows in tables.items()}) for i in ids]
    outcomes: list[DocumentOutcome] = []
    try:
        for pending, made in zip(batch, work(inputs), strict=True):
            outcomes.append(DocumentOutcome(pending, made.records, made.reason))
            tally.counts["new" if pending.is_new else "changed"] += 1
            tally.counts["failed"] += bool(made.reason)
            tally.counts["rows"] += len(made.records)
    except (ModelUnavailable, BudgetExceeded):
        store.commit(step, outcomes)
        raise
    store.commit(step, outcomes)
    return len(batch)
