"""Which version of each document each step has done, with what outcome, and in which part its rows lie.

A ledger is a folder of small Parquet files, each one commit, never changed. The newest row of a (unit, step) is in
force. A part without a row here does not exist, so a crash between the two loses nothing and doubles nothing.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import RLock
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.errors import SourceError

WHOLE = "*"
"""The unit of tables that are kept whole, not by document."""

SCHEMA = pa.schema(
    [
        pa.field("unit", pa.string(), nullable=False),
        pa.field("step", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("input_hash", pa.string(), nullable=False),
        pa.field("output_hash", pa.string(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("row_count", pa.int32(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("line", pa.int32(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("attempts", pa.int32(), nullable=False),
    ]
)
_FILES_BEFORE_SNAPSHOT = 200
_SNAPSHOT = "-snapshot"


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one unit (a document, or something put aside) in one step.

    `status`: `done`, `partial` (rows, but some chunks are missing), `failed` (no rows), `removed` (no longer there).
    `line` is -1 where there is none.
    """

    unit: str
    step: str
    status: str
    source: str = ""
    input_hash: str = ""
    output_hash: str = ""
    part: str = ""
    row_count: int = 0
    path: str = ""
    line: int = -1
    reason: str = ""
    attempts: int = 1


_COLUMNS = ", ".join(f.name for f in fields(Entry))


def write_durably(table: pa.Table, path: Path, *, packed: bool = True) -> None:
    """Write a Parquet file that is whole or absent, also after power is lost.

    `packed=False` neither compresses nor looks for repeats: vectors have none, and read four times faster.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        pq.write_table(table, draft, compression="zstd" if packed else "none", use_dictionary=packed)
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _number(files: Sequence[Path]) -> int:
    return int(files[-1].name[:10]) + 1 if files else 0


class Ledger:
    """The entries in force, with SQL over them; commits are durable when `commit` returns."""

    def __init__(self, folder: Path) -> None:
        """Read every commit below the folder; a folder that is not there is an empty ledger.

        Raises:
            SourceError: If a commit cannot be read.

        """
        self._folder = folder
        self._lock = RLock()
        self._database = duckdb.connect(config={"threads": 1})
        self._database.register("no_entries", SCHEMA.empty_table())
        self._database.execute(f"CREATE TABLE entries AS SELECT {_COLUMNS} FROM no_entries")
        if files := [str(path) for path in self._files()]:
            self._load(files)
        self._database.execute("CREATE VIEW current AS SELECT * FROM entries WHERE status <> 'removed'")

    def _load(self, files: Sequence[str]) -> None:
        try:
            self._database.execute(
                f"INSERT INTO entries SELECT {_COLUMNS} FROM read_parquet(?, filename = true) "
                "QUALIFY row_number() OVER (PARTITION BY unit, step ORDER BY filename DESC) = 1",
                [files],
            )
        except duckdb.Error as error:
            raise SourceError(
                f"the ledger below {self._folder} is damaged ({error}); put a copy of it back, or delete `tables` and "
                "`ledger` and run `sag ingest`: answers of the model are kept"
            ) from error

    def _files(self) -> list[Path]:
        """Commits in order, from the last snapshot on: what stood before it is already in it."""
        files = sorted(self._folder.glob("*.parquet"))
        first = max((i for i, path in enumerate(files) if path.stem.endswith(_SNAPSHOT)), default=0)
        return files[first:]

    def _insert(self, rows: pa.Table) -> None:
        self._database.register("fresh", rows)
        self._database.execute(
            "DELETE FROM entries USING fresh WHERE entries.unit = fresh.unit AND entries.step = fresh.step"
        )
        self._database.execute(f"INSERT INTO entries SELECT {_COLUMNS} FROM fresh")
        self._database.unregister("fresh")

    def commit(self, entries: Sequence[Entry]) -> None:
        """Put the entries in force, all or none; each (unit, step) at most once."""
        if not entries:
            return
        rows = pa.Table.from_pylist([asdict(entry) for entry in entries], schema=SCHEMA)
        with self._lock:
            files = self._files()
            write_durably(rows, self._folder / f"{_number(files):010d}.parquet")
            self._insert(rows)
            if len(files) >= _FILES_BEFORE_SNAPSHOT:
                self._take_snapshot()

    def _take_snapshot(self) -> None:
        files = self._files()
        rows = self._database.sql(f"SELECT {_COLUMNS} FROM current ORDER BY unit, step").to_arrow_table()
        write_durably(rows.cast(SCHEMA), self._folder / f"{_number(files):010d}{_SNAPSHOT}.parquet")
        for path in files:
            path.unlink()

    def select(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query over the view `current` (the columns of `Entry`)."""
        with self._lock:
            return self._database.execute(sql, list(values)).fetchall()

    def entries(self, where: str = "true", *values: object) -> list[Entry]:
        """Entries in force that meet a condition, ordered by unit and step."""
        rows = self.select(f"SELECT {_COLUMNS} FROM current WHERE {where} ORDER BY unit, step", *values)
        return [Entry(*row) for row in rows]  # type: ignore[arg-type]

    @contextmanager
    def registered(self, name: str, rows: pa.Table) -> Iterator[None]:
        """Make a table of values known to queries under a name, as long as the context lasts."""
        with self._lock:
            self._database.register(name, rows)
            try:
                yield
            finally:
                self._database.unregister(name)
