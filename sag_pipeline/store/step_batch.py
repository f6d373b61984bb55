"""What a step makes of a batch of documents: Arrow rows in, Arrow rows and a hash per document out.

Nothing here opens the store, the ledger or the network, so that any process of any machine can do it: a worker finds
the rule of a table by the name in the table's entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final

import numpy as np
import pyarrow as pa

from sag_pipeline.engines.bounds import one_document, reason_of
from sag_pipeline.options import IngestOptions
from sag_pipeline.progress import reported
from sag_pipeline.store.parts import of_documents
from sag_pipeline.table import StepInput
from sag_pipeline.tables import STORED, by_document, content_hash, to_table
from sag_retrieval.release.mapped_arrays import arrow_numbers


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents of a step, with the rows of each table that it reads."""

    step: str
    documents: Sequence[str]
    tables: Mapping[str, pa.Table]
    options: IngestOptions
    first: int = 0
    """Documents of the step before these."""
    total: int = 0
    """Documents of the step in all."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Slices of tables without the rest of their buffers, which pickling them would bring along."""
        tables = {name: rows.take(arrow_numbers(np.arange(len(rows)))) for name, rows in self.tables.items()}
        return Batch, (self.step, [*self.documents], tables, self.options, self.first, self.total)

    def inputs(self) -> list[StepInput]:
        """The records of each document."""
        found = {name: by_document(name, rows) for name, rows in self.tables.items()}
        return [
            StepInput(document, {name: records.get(document, []) for name, records in found.items()})
            for document in self.documents
        ]

    def pieces(self, most_bytes: int) -> "Iterator[Batch]":
        """Batches of about this many bytes; the whole if it has no more."""
        size = sum(rows.nbytes for rows in self.tables.values())
        return iter([self]) if size <= most_bytes else self.split(len(self.documents) * most_bytes // size)

    def split(self, size: int = 1) -> "Iterator[Batch]":
        """Batches of this many documents, of one at least."""
        for place in range(0, len(self.documents), max(1, size)):
            documents = self.documents[place : place + max(1, size)]
            tables = {name: of_documents(rows, documents) for name, rows in self.tables.items()}
            yield Batch(self.step, documents, tables, self.options, self.first + place, self.total)


@dataclass(frozen=True, slots=True)
class StepResult:
    """Records made of one document; with a reason, some are missing, or, if there are none, the document failed."""

    records: Sequence[Any] = ()
    reason: str = ""
    warning: str = ""
    """What its parser warned of; the records are whole."""


@dataclass(frozen=True, slots=True)
class Output:
    """A `StepResult` next to its rows: the hash of its records, and how many there are."""

    content: str
    row_count: int
    reason: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """Outputs of documents, in order, and the rows of all of them, in the same order."""

    rows: pa.Table
    outputs: Sequence[Output]


_NOTHING: Final = pa.table({})
"""No rows, of any table."""

Rule = Callable[[StepInput, IngestOptions], Sequence[Any]]
"""Makes the records of a table of one document."""


@cache
def rule_of(table: str) -> Rule:
    """The rule that the entry of a table names."""
    rule: Rule = resolve_name(STORED[table].rule)
    return rule


def _result(rule: Rule, inputs: StepInput, options: IngestOptions) -> StepResult:
    try:
        with one_document():
            return StepResult(tuple(rule(inputs, options)))
    except Exception as error:  # noqa: BLE001  an error in one document fails that document alone
        return StepResult(reason=reason_of(error))


def made_of(table: str, results: Iterable[StepResult]) -> Made:
    """Results as rows."""
    found = list(results)
    outputs = [Output(content_hash(one.records), len(one.records), one.reason, one.warning) for one in found]
    records = [record for one in found for record in one.records]
    return Made(to_table(table, records) if records else _NOTHING, outputs)


class _Step:
    """The rule of a table on documents, as a task of an engine."""

    @staticmethod
    def do(batch: Batch, shared: object = None) -> Made:  # noqa: ARG004  as every task
        """The rows that the rule makes; an exception fails only its document."""
        rule = rule_of(batch.step)
        inputs = reported(batch.inputs(), batch.step, lambda one: one.document_id, batch.first, batch.total)
        return made_of(batch.step, [_result(rule, one, batch.options) for one in inputs])

    @staticmethod
    def split(batch: Batch) -> list[Batch]:
        return [*batch.split()]

    @staticmethod
    def failed(batch: Batch, reason: str) -> Made:
        return made_of(batch.step, [StepResult(reason=reason) for _ in batch.documents])

    @staticmethod
    def joined(parts: Iterable[Made]) -> Made:
        made = [*parts]
        tables = [part.rows for part in made if part.rows.num_rows]
        rows = pa.concat_tables(tables).combine_chunks() if tables else _NOTHING
        return Made(rows, [output for part in made for output in part.outputs])


STEP: Final = _Step()
