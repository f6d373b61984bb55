"""The store: tables by document on disk, pending documents of each step, and commits that survive a crash."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from sag_pipeline.store.bucket import BucketHome, bucket_home, lease, refreshed
from sag_pipeline.store.ledger import AMONG, Entry, Ledger, View
from sag_pipeline.store.parts import DocumentRows, Parts, of_documents, reading
from sag_pipeline.store.step_batch import Made, StepResult, made_of
from sag_pipeline.tables import by_document, schema_of, with_columns
from sag_retrieval.release.folders import write_lock
from sag_retrieval.release.table import no_rows
from sag_retrieval.release.taken_out import read_taken_out

PURGE = "purge"
"""Ledger step that marks: a document was removed, so no dead row may stay after this run."""
_LIVE_ROWS = "SELECT part, sum(row_count)::BIGINT FROM current WHERE step = ? AND part <> '' GROUP BY 1 ORDER BY 1"


@dataclass(frozen=True, slots=True)
class StepSpec:
    """The step of one table: its name, the tables it reads, and a hash of everything else its rows depend on."""

    name: str
    inputs: tuple[str, ...] = ()
    fingerprint: str = ""
    retries: bool = False
    """Whether a failed document is tried again in the next run although nothing changed (models fail by chance)."""
    of_source: Callable[[str], str] | None = None
    """What else the rows of a source's documents depend on; empty or None: nothing."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A document that a step has still to process, and the hash of the step's input of it."""

    document_id: str
    input_hash: str
    attempts: int = 0
    is_new: bool = True


class Store:
    """The tables below `home`; one writer at a time (`Store.locked`), any number of readers of `status`."""

    def __init__(self, home: Path, ledger: Ledger | None = None, bucket: BucketHome | None = None) -> None:
        """Open the tables of a home, for repair with the ledger of the undamaged commits; a new one is empty.

        Raises:
            StoreError: If a commit of the ledger is damaged or missing.
            BucketError: If the bucket of the home cannot be read.
            ReleaseError: If the file of documents that were taken out is wrong.
        """
        self.home = home
        self.bucket = bucket or refreshed(home)
        self.ledger = ledger or Ledger(home / "ledger", on_commit=bucket.commit if bucket else _nothing)
        self.taken_out = read_taken_out(home)
        """Documents that people took out, which no step and no release sees."""
        self.ledger.set_away(set(self.taken_out))
        self.parts = Parts(home / "tables", self.bucket.fetch if self.bucket else _nothing)

    @classmethod
    @contextmanager
    def locked(cls, home: Path, patience: float = 600) -> Iterator["Store"]:
        """The store of a home, locked against other writers.

        Raises:
            SourceError: If another run still writes to the same home after `patience` seconds.
            BucketError: If the bucket of the home cannot be read or written.
        """
        with write_lock(home, patience):
            bucket = bucket_home(home)
            if bucket is None:
                yield cls(home)
                return
            bucket.probe()
            with lease(bucket.mirror, patience):
                bucket.pull(whole=True)
                store = cls(home, bucket=bucket)
                bucket.note_sent(store.ledger.parts())
                yield store
                bucket.save()

    def pending(self, step: StepSpec) -> list[Pending]:
        """Documents to process, as their inputs or the step changed; ordered by the part of their input."""
        return self._outdated(step)[0]

    def take_pending(self, step: StepSpec) -> tuple[list[Pending], int]:
        """The same; a step's entries of documents that are gone or have failed inputs are removed, and counted."""
        pending, stale = self._outdated(step)
        self.ledger.commit([Entry(unit, step.name, "removed") for unit in stale])
        return pending, len(stale)

    def _outdated(self, step: StepSpec) -> tuple[list[Pending], list[str]]:
        again = "OR s.status <> 'done'" if step.retries else ""
        rows = self.ledger.select(
            f"""
            SELECT coalesce(e.unit, s.unit), e.input_hash,
                   CASE WHEN s.input_hash = e.input_hash THEN s.attempts ELSE 0 END, s.unit IS NULL
            FROM ({self._expected(step)}) e
            FULL JOIN (SELECT * FROM by_document WHERE step = '{step.name}') s ON s.unit = e.unit
            WHERE s.unit IS NULL OR e.unit IS NULL OR s.input_hash <> e.input_hash {again}
            ORDER BY e.place, e.unit, s.unit
            """
        )
        stale = [str(unit) for unit, digest, *_ in rows if digest is None]
        return [Pending(*row) for row in rows if row[1] is not None], stale  # type: ignore[arg-type]

    def _expected(self, step: StepSpec) -> str:
        joins = " ".join(
            f"JOIN by_document i{n} ON i{n}.unit = d.unit AND i{n}.step = '{name}' AND i{n}.status <> 'failed'"
            for n, name in enumerate(step.inputs)
        )
        read = ", ".join(f"i{n}.output_hash" for n in range(len(step.inputs)))
        place = f"i{len(step.inputs) - 1}.part" if step.inputs else "d.part"
        return (
            f"SELECT d.unit, md5(concat_ws('|', '{step.fingerprint}', {self._varying(step)}, {read})) AS input_hash, "
            f"{place} AS place "
            f"FROM by_document d {joins} WHERE d.step = 'documents' AND d.status = 'done'"
        )

    def _varying(self, step: StepSpec) -> str:
        """An expression for what else the rows of a document depend on, by its source; null where nothing."""
        if step.of_source is None:
            return "NULL"
        sources = self.ledger.select("SELECT DISTINCT source FROM by_document WHERE step = 'documents' ORDER BY 1")
        found = {str(source).replace("'", "''"): step.of_source(str(source)) for (source,) in sources}
        cases = " ".join(f"WHEN '{source}' THEN '{digest}'" for source, digest in found.items() if digest)
        return f"CASE d.source {cases} END" if cases else "NULL"

    def state_hash(self, tables: Iterable[str]) -> str:
        """Hash of the current content of tables, from the ledger alone."""
        names = ", ".join(f"'{name}'" for name in tables)
        ((digest,),) = self.ledger.select_once(
            "WITH lines AS (SELECT unit, step, kind, concat_ws('|', unit, step, source, output_hash) AS line "
            f"FROM current WHERE step IN ({names}) AND status <> 'failed') "
            "SELECT coalesce(md5(string_agg(line, '\n' ORDER BY unit, step, kind)), '') FROM lines"
        )
        return str(digest)

    def read(self, table: str, documents: Sequence[str]) -> dict[str, list[Any]]:
        """Current records of some documents; a document without rows has an empty list."""
        return {document: [] for document in documents} | by_document(table, self.rows(table, documents))

    def rows(self, table: str, documents: Sequence[str]) -> pa.Table:
        """Current rows of some documents; the rows of one document are adjacent."""
        return self.document_rows(table, documents).of(documents).combine_chunks()

    def document_rows(self, table: str, documents: Sequence[str]) -> DocumentRows:
        """A reader of the current rows of these documents, for those who take them batch by batch."""
        return DocumentRows(self.parts, table, self.places(table, documents))

    def places(
        self, table: str, documents: Sequence[str] | None = None, view: View = "current"
    ) -> dict[str, list[str]]:
        """Parts with current rows of some documents, or of all; for each part the documents that have rows in it."""
        rows = f"SELECT part, list(unit ORDER BY unit) FROM {view} {'' if documents is None else AMONG}"
        wanted = [] if documents is None else [[*documents]]
        sql = f"{rows} WHERE step = ? AND part <> '' GROUP BY 1 ORDER BY 1"
        return dict(self.ledger.select(sql, *wanted, table))  # type: ignore[arg-type]

    def scan(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All current rows of a table, one part at a time, in a stable order; at least one table, which may be empty.

        With `columns`, at least those columns.
        """
        yield no_rows(schema_of(table))
        live = self.ledger.select_once(_LIVE_ROWS, table)
        read = None if columns is None else sorted({"document_id", *columns})
        for part, count in live:
            rows = self.parts.read(table, str(part), read)
            with reading(self.parts.path(table, str(part))):  # a file of another table has other columns
                if rows.num_rows != count:
                    members = self.ledger.select("SELECT unit FROM current WHERE step = ? AND part = ?", table, part)
                    rows = of_documents(rows, {str(member) for (member,) in members})
                rows = with_columns(rows, schema_of(table)) if read is None else rows.select(read)
            yield rows

    def whole(self, table: str) -> pa.Table | None:
        """A table that is kept whole, or None before it was made."""
        found = self.ledger.whole(table)
        return self.parts.read(table, found.part) if found else None

    def commit(
        self, step: StepSpec, results: Mapping[Pending, StepResult], sources: Mapping[str, Entry] | None = None
    ) -> None:
        """Write one part with the records of all documents, then make them current, all or none."""
        self.commit_rows(step, [*results], made_of(step.name, results.values()), sources)

    def commit_rows(
        self, step: StepSpec, pending: Sequence[Pending], made: Made, sources: Mapping[str, Entry] | None = None
    ) -> None:
        """Write one part with the rows of some documents, then make them current, all or none.

        `sources` gives the entries of the step `documents` their source, path and line.
        """
        names = [f"{one.document_id}|{output.content}" for one, output in zip(pending, made.outputs, strict=True)]
        part = self.parts.write(step.name, made.rows, names) if made.rows.num_rows else ""
        nowhere = Entry("", "", "")
        self.ledger.commit(
            [
                replace(
                    (sources or {}).get(one.document_id, nowhere),
                    unit=one.document_id,
                    step=step.name,
                    status="done" if not output.reason else "partial" if output.row_count else "failed",
                    input_hash=one.input_hash,
                    output_hash=output.content,
                    part=part if output.row_count else "",
                    row_count=output.row_count,
                    reason="; ".join(filter(None, (output.reason, output.warning))),
                    attempts=one.attempts + 1,
                )
                for one, output in zip(pending, made.outputs, strict=True)
            ]
        )

    def redo(self, step: str, documents: Collection[str]) -> None:
        """Let a step process documents again; their rows stay current until it has, also if the run is killed."""
        entries = self.ledger.entries("step = ? AND kind = 'document'", step)
        self.ledger.commit([replace(entry, input_hash="") for entry in entries if entry.unit in documents])

    def remove(self, documents: Sequence[str], others: Sequence[Entry] = ()) -> None:
        """Remove documents from every step, and other entries, and mark that no row of theirs may stay."""
        if not documents and not others:
            return
        stored = self.ledger.select(
            f"SELECT unit, step FROM stored {AMONG} WHERE kind = 'document' ORDER BY 1, 2", [*documents]
        )
        removed = [Entry(str(unit), str(step), "removed") for unit, step in stored]
        removed += [replace(entry, status="removed") for entry in others]
        self.ledger.commit([*removed, Entry.of_whole(PURGE)] if removed else [])

    def remove_deleted(self) -> None:
        """Remove what people deleted and is still stored."""
        self.remove([each.document_id for each in self.taken_out.values() if each.verb == "delete"])

    def append(self, table: str, rows: pa.Table) -> None:
        """Add rows to a table that only grows, such as `calls`; no rows add nothing."""
        if not rows.num_rows:
            return
        part = self.parts.write(table, rows, [uuid4().hex])
        entry = Entry(part, table, "done", part=part, row_count=rows.num_rows, output_hash=part, kind="appended")
        self.ledger.commit([entry])

    def commit_wholes(self, tables: Mapping[str, pa.Table], input_hash: str) -> None:
        """Replace several tables that are kept whole, all or none."""
        parts = {t: self.parts.write(t, rows, [input_hash], has_repeats=False) for t, rows in tables.items()}
        old = [(table, name) for table, part in parts.items() for name in self.parts.names(table) - {part}]
        made = {"input_hash": input_hash, "output_hash": input_hash}
        self.ledger.commit([Entry.of_whole(t, part=parts[t], row_count=len(tables[t]), **made) for t in tables])
        for table, name in old:
            self.parts.delete(table, name)

    def is_current_whole(self, table: str, input_hash: str) -> bool:
        """Whether a whole table was made from this input."""
        made = self.ledger.whole(table)
        return made is not None and made.input_hash == input_hash


def _nothing(_: object) -> None:
    """What a home that is a folder does with its commits and parts."""
