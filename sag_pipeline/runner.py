"""Run a step over its pending documents in batches; each batch is one commit; a failed document stops no other."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from sag_pipeline.options import IngestOptions
from sag_pipeline.progress import reported
from sag_pipeline.store.store import DocumentOutcome, Pending, StepSpec, Store
from sag_pipeline.tables import INPUTS, VERSIONS
from sag_retrieval.core.errors import BudgetExceeded, ModelUnavailable
from sag_retrieval.core.records import batched

_DOCUMENTS_A_BATCH = 128


def step_of(table: str, options: IngestOptions, model: str = "") -> StepSpec:
    """The step that makes a table; `model` identifies the model and prompts its rows depend on."""
    parts = (table, VERSIONS.get(table, 0), options.of(table), model)
    digest = blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    return StepSpec(table, INPUTS[table], digest, retries=bool(model) and model != "offline" and table != "vectors")


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step reads of one document: the records of each table it names."""

    document_id: str
    tables: Mapping[str, Sequence[Any]]

    def one(self, table: str) -> Any:  # noqa: ANN401  the record of whichever table is named
        """The only record of a table with one record per document."""
        return self.tables[table][0]


@dataclass(frozen=True, slots=True)
class StepResult:
    """Records made of one document; with a reason, some are missing, or, if there are none, the document failed."""

    records: Sequence[Any] = ()
    reason: str = ""


Work = Callable[[Sequence[StepInput]], Iterable[StepResult]]
"""Makes the records of a batch: one `StepResult` per document, in order."""


class ProgressCallback(Protocol):
    """Receives the progress of a step."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """`done` of `total` documents are committed."""
        ...


def ignore_progress(step: str, done: int, total: int) -> None:
    """Ignore progress."""


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
    """Work that processes one document at a time; an exception fails only that document."""

    def work(batch: Sequence[StepInput]) -> Iterable[StepResult]:
        for inputs in batch:
            try:
                yield StepResult(tuple(make(inputs)))
            except Exception as error:  # noqa: BLE001  an error in one document fails that document alone
                yield StepResult(reason=f"{type(error).__name__}: {error}")

    return work


def run_step(store: Store, step: StepSpec, work: Work, progress: ProgressCallback = ignore_progress) -> RunStats:
    """Bring a table up to date with its inputs; unchanged documents are not read.

    Raises:
        ModelUnavailable, BudgetExceeded: After everything done so far was committed; the next run continues from there.

    """
    tally, started = RunStats(), time.perf_counter()
    tally.counts["removed"] = store.drop_stale(step)
    pending = store.pending(step)
    done = 0
    for batch in batched(pending, _DOCUMENTS_A_BATCH):
        done += _run_batch(store, step, work, batch, tally, (done, len(pending)))
        progress(step.name, done, len(pending))
    tally.counts["skipped"] = max(0, store.ledger.document_count(step.name) - len(pending))
    tally.seconds = time.perf_counter() - started
    return tally


def _run_batch(
    store: Store, step: StepSpec, work: Work, batch: Sequence[Pending], tally: RunStats, place: tuple[int, int]
) -> int:
    ids = [p.document_id for p in batch]
    tables = {name: store.read(name, ids) for name in step.inputs}
    inputs = [StepInput(i, {name: rows[i] for name, rows in tables.items()}) for i in ids]
    outcomes: list[DocumentOutcome] = []
    try:
        under_way = reported(batch, step.name, lambda pending: pending.document_id, *place)
        for pending, made in zip(under_way, work(inputs), strict=True):
            outcomes.append(DocumentOutcome(pending, made.records, made.reason))
            tally.counts["new" if pending.is_new else "changed"] += 1
            tally.counts["failed"] += bool(made.reason)
            tally.counts["rows"] += len(made.records)
    except (ModelUnavailable, BudgetExceeded):
        store.commit(step, outcomes)
        raise
    store.commit(step, outcomes)
    return len(batch)
