"""Run a step over its pending documents, in batches and commits; a failed document stops no other."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from sag_pipeline.engines.engine import EngineFor
from sag_pipeline.options import IngestOptions
from sag_pipeline.progress import listener, offer, reported
from sag_pipeline.store.step_batch import STEP, Batch, Made, StepResult, made_of
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_pipeline.table import StepInput
from sag_pipeline.tables import INPUTS, STORED, VERSIONS
from sag_retrieval.core.errors import BudgetExceeded, ModelUnavailable

_DOCUMENTS_A_GROUP: Final = 128
"""A commit ends with a group of this many documents, so that parts are the same whatever the batches of an engine."""
_DOCUMENTS_A_COMMIT, _ROWS_A_COMMIT = 512, 32_768
"""Rows are committed after this number of documents or rows. A commit costs two files and six syncs."""
_LEAST_A_BATCH, _MOST_BYTES_A_BATCH = 16, 1 << 20
"""Documents, and bytes of what a rule reads: handing over a batch costs some milliseconds, short texts less."""
_BATCHES_A_WORKER: Final = 8
"""At least, where there are enough documents: at the end of a step workers wait for the last batch."""


def step_of(table: str, options: IngestOptions, model: str = "") -> StepSpec:
    """The step that makes a table; `model` identifies the model and prompts its rows depend on."""
    parts = (table, VERSIONS.get(table, 0), options.of(table), model)
    digest = blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    varies = STORED[table].by_source if table in STORED else ""
    return StepSpec(
        table,
        INPUTS[table],
        digest,
        retries=bool(model) and model != "offline" and table != "vectors",
        of_source=getattr(options, varies).digest_of if varies else None,
    )


Work = Callable[[Sequence[StepInput]], Iterable[StepResult]]
"""Makes the records of a batch by asking a model: one `StepResult` per document, in order."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes the rows of a step."""

    make: Callable[[Iterable[Batch]], Iterator[Made]]
    """Makes the rows of batches; it may split what it makes of a batch, but keeps the order of documents."""
    batch: int
    """Documents of a batch; a group has a whole number of batches."""
    commit: int


@dataclass(slots=True)
class RunStats:
    """Counts of one step in one run; `seconds` is wall time."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def metadata(self) -> dict[str, float | int]:
        """Counts by name, all of them, and the seconds."""
        names = ("new", "changed", "removed", "skipped", "failed", "rows")
        return {name: self.counts[name] for name in names} | {"seconds": round(self.seconds, 3)}


def by_rules(engine: EngineFor, pending: int) -> Maker:
    """The engine for this number of documents, in batches that keep all workers busy."""
    opened = engine(pending)

    def make(batches: Iterable[Batch]) -> Iterator[Made]:
        return opened.map("step", (piece for batch in batches for piece in batch.pieces(_MOST_BYTES_A_BATCH)))

    return Maker(make, documents_a_batch(pending, opened.workers), _DOCUMENTS_A_COMMIT)


def documents_a_batch(pending: int, workers: int) -> int:
    """How many of the pending documents a worker gets at once; groups have a whole number of such batches.

    Examples:
        >>> documents_a_batch(100, 2), documents_a_batch(1_000, 2), documents_a_batch(100_000, 2)
        (16, 32, 128)
    """
    size = _DOCUMENTS_A_GROUP
    while size > _LEAST_A_BATCH and size * _BATCHES_A_WORKER * workers > pending:
        size //= 2
    return size


def by_model(work: Work) -> Maker:
    """Work by a model, which stays in this process; a batch has many documents, which share requests.

    What was made of a batch before the model could no longer be reached is committed, unless the work is one of whole
    batches (`whole_batches`): then its answers are kept, and the next run makes the batch from them.
    """

    def make(batches: Iterable[Batch]) -> Iterator[Made]:
        for batch in batches:
            results: list[StepResult] = []
            under_way = reported(work(batch.inputs()), batch.step, lambda _: "", batch.first, batch.total)
            try:
                results.extend(under_way)
            except (ModelUnavailable, BudgetExceeded):
                if not getattr(work, "whole_batches", False):
                    yield made_of(batch.step, results)
                raise
            yield made_of(batch.step, results)

    return Maker(make, _DOCUMENTS_A_GROUP, _DOCUMENTS_A_GROUP)


def run_step(store: Store, step: StepSpec, options: IngestOptions, choose: Callable[[int], Maker]) -> RunStats:
    """Bring a table up to date with its inputs; unchanged documents are not read.

    Raises:
        ModelUnavailable, BudgetExceeded: After everything done so far was committed; the next run continues from there.
    """
    tally, started = RunStats(), time.perf_counter()
    pending, tally.counts["removed"] = store.take_pending(step)
    maker = choose(len(pending))
    done, waiting = 0, list[Made]()
    report = listener()
    offer(failed=lambda: tally.counts["failed"])

    def commit() -> None:
        nonlocal done, waiting
        made, waiting = STEP.joined(waiting), []
        store.commit_rows(step, pending[done : done + len(made.outputs)], made)
        done += len(made.outputs)

    try:
        for made in maker.make(_batches(store, step, options, pending, maker.batch)):
            waiting.append(made)
            ready = sum(len(each.outputs) for each in waiting)
            _count(tally, pending[done + ready - len(made.outputs) : done + ready], made)
            report(step.name, done + ready, len(pending))
            is_due = ready >= maker.commit or sum(each.rows.num_rows for each in waiting) >= _ROWS_A_COMMIT
            if is_due and (done + ready) % _DOCUMENTS_A_GROUP == 0:
                commit()
    finally:  # paid answers are kept whatever ends the step
        if waiting:
            commit()
    tally.counts["skipped"] = max(0, store.ledger.document_count(step.name) - len(pending))
    tally.seconds = time.perf_counter() - started
    return tally


def _batches(
    store: Store, step: StepSpec, options: IngestOptions, pending: Sequence[Pending], size: int
) -> Iterator[Batch]:
    documents = [each.document_id for each in pending]
    readers = {name: store.document_rows(name, documents) for name in step.inputs}
    for first in range(0, len(documents), size):
        ids = documents[first : first + size]
        tables = {name: reader.of(ids) for name, reader in readers.items()}
        yield Batch(step.name, ids, tables, options, first, len(documents))


def _count(tally: RunStats, pending: Sequence[Pending], made: Made) -> None:
    for each, output in zip(pending, made.outputs, strict=True):
        tally.counts["new" if each.is_new else "changed"] += 1
        tally.counts["failed"] += bool(output.reason)
        tally.counts["rows"] += output.row_count
