"""The ledger: which version of each document each step has done, with what outcome, and in which part its rows are.

A ledger is a folder of small Parquet files, each one commit, never changed. The newest row of a (kind, unit, step) is
current. A part without a current row does not count, so a crash between the two loses nothing and doubles nothing.

The files are a chain: numbered without a gap, each with the name of the previous one, the last in HEAD.

    0000000041-snapshot-<hash>.parquet     contains everything before it
    0000000042-<hash>.parquet              names ...41-snapshot-<hash> as the previous file
    HEAD                                   0000000042-<hash>

A commit writes its file first and HEAD second, so HEAD names the last file or, after a kill between the two, the
previous one. A lost file leaves a gap, or HEAD names a missing file. The file `ledger.last` beside the folder names the
last commit once more, so that the loss of the last file together with HEAD is seen too. It is not synced: after a power
cut it may be older, which says nothing.
"""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal
from weakref import WeakValueDictionary

import duckdb
import pyarrow as pa

from sag_pipeline.store.parts import damage, discard, is_sealed, read_footer, write_sealed
from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError
from sag_retrieval.release.table import rows_of

HEAD = "HEAD"
_SNAPSHOT = "-snapshot"
_NAME = re.compile(r"(\d{10})(-snapshot)?(-[0-9a-f]{24})?")
_PREVIOUS = b"sag.previous"

_READ_ENTRIES: Final = """
    WITH found AS (
        SELECT * FROM no_entries
        UNION ALL BY NAME SELECT * FROM read_parquet(?, filename = true, union_by_name = true)
    ), known AS (
        SELECT * REPLACE (CASE
            WHEN kind IS NOT NULL THEN kind
            WHEN step = 'calls' THEN 'appended'
            WHEN unit = '*' AND step NOT IN (
                'documents', 'summaries', 'sections', 'chunks', 'events', 'keys', 'triples', 'vectors'
            ) THEN 'whole'
            WHEN step = 'documents' AND regexp_matches(unit, '^!.*\x1f.*\x1f-?[0-9]+$', 's') THEN 'aside'
            ELSE 'document' END AS kind), kind IS NULL AS is_old
        FROM found
    )
    SELECT * REPLACE (CASE
        WHEN NOT is_old THEN unit
        WHEN kind = 'whole' THEN ''
        WHEN kind = 'appended' THEN part
        WHEN kind = 'aside' THEN substr(unit, 2)
        ELSE unit END AS unit)
    FROM known
"""
"""Every entry with its kind. Version 0.1 wrote none: there it follows from the step and the form of the unit."""


@dataclass(frozen=True, slots=True)
class Break:
    """A break in the chain: the file, and what is wrong with it."""

    path: Path
    what: str


def link_files(folder: Path) -> list[Path]:
    """The files in order, from the last snapshot on, which contains everything before it."""
    if not folder.is_dir():
        return []
    names = sorted(name for name in os.listdir(folder) if name.endswith(".parquet"))  # noqa: PTH208  Path sorts slowly
    first = max((i for i, name in enumerate(names) if _SNAPSHOT in name), default=0)
    return [folder / name for name in names[first:]]


def _append_link(folder: Path, rows: pa.Table, *, is_snapshot: bool = False, previous: str | None = None) -> Path:
    """Write the next file and name it in HEAD; `previous` replaces the name of the last file as the previous one."""
    files = link_files(folder)
    before = previous if previous is not None else (files[-1].stem if files else "")
    number = _number(files[-1]) + 1 if files else 0
    linked = rows.replace_schema_metadata({_PREVIOUS: before.encode()})
    path = write_sealed(linked, folder, f"{number:010d}{_SNAPSHOT if is_snapshot else ''}")
    if (folder / HEAD).is_dir():
        discard(folder / HEAD)
    durable.write_text(folder / HEAD, path.stem + "\n")
    draft = folder / f".{_last(folder).name}.{os.getpid()}"  # there, where drafts of killed processes are deleted
    draft.write_text(path.stem + "\n", encoding="ascii")
    draft.replace(_last(folder))
    return path


def _last(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.last")


def state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of every file: the same as long as nothing was written, removed or damaged there."""
    if not folder.is_dir():
        return ()
    stats = ((path.name, path.stat()) for path in sorted(folder.iterdir()))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def read_head(folder: Path) -> str:
    """The name in HEAD; empty if there is no HEAD, `?` if it holds no valid name."""
    return _name_in(folder / HEAD)


def _name_in(path: Path) -> str:
    try:
        name = path.read_bytes().decode("ascii", "replace").removesuffix("\n")
    except FileNotFoundError:
        return ""
    except OSError:
        return "?"
    return name if _NAME.fullmatch(name) else "?"


def breaks(folder: Path) -> list[Break]:
    """Breaks of the chain; empty if every commit since the last snapshot is present, undamaged and in its place."""
    every = sorted(folder.glob("*.parquet"))
    found = [Break(path, "its name is not that of a commit") for path in every if not _NAME.fullmatch(path.stem)]
    files = [path for path in link_files(folder) if _NAME.fullmatch(path.stem)]
    found += [Break(path, what) for path in files if (what := damage(path))]
    harmed = {each.path for each in found}
    whole = [path for path in files if path not in harmed]
    found += _gaps(folder, files) + _wrong_links(whole) + _lost_end(folder, files)
    return found + _wrong_head(folder, files, whole)


def is_doubtful(found: Sequence[Break], path: Path) -> bool:
    """Whether a commit after this file may be lost, so that entries of this file may be out of date."""
    return any(each.path.name > path.name or each.path.name == HEAD for each in found)


def _gaps(folder: Path, files: Sequence[Path]) -> list[Break]:
    found = []
    expected = None if not files or _SNAPSHOT in files[0].stem else 0
    for path in files:
        number = _number(path)
        if expected is not None and number < expected:
            found.append(Break(path, f"a second commit has the number {number}"))
        elif expected is not None and number > expected:
            lost = folder / f"{number - 1:010d}"
            found.append(Break(lost, f"commits {expected} to {number - 1} are missing"))
        expected = number + 1
    return found


def _lost_end(folder: Path, files: Sequence[Path]) -> list[Break]:
    """The last commit as `ledger.last` names it, if it and those after it are gone with HEAD."""
    named = _name_in(_last(folder))
    if named in {"", "?", read_head(folder)} or int(named[:10]) <= (_number(files[-1]) if files else -1):
        return []  # what HEAD names too is reported as a wrong HEAD
    return [Break(_last(folder), f"it names {named}, and the last commit is {files[-1].stem if files else 'none'}")]


def _wrong_links(whole: Sequence[Path]) -> list[Break]:
    found = []
    for before, path in pairwise(whole):
        follows = _number(path) == _number(before) + 1
        if follows and is_sealed(path) and _previous(path) != before.stem:
            found.append(Break(path, f"it follows {_previous(path) or 'nothing'}, not {before.stem}"))
    return found


def _wrong_head(folder: Path, files: Sequence[Path], whole: Sequence[Path]) -> list[Break]:
    head = read_head(folder)
    if files and files[-1] not in whole:
        return []  # the last file is damaged, which is reported already
    if head in ({files[-1].stem, _previous(files[-1])} if files else {""}):
        return []
    state = f"names {head}" if head else "is missing"
    last = files[-1].stem if files else "no commit at all"
    return [Break(folder / HEAD, f"it {state}, the last commit is {last}".replace("names ?", "cannot be read"))]


def _previous(path: Path) -> str:
    try:
        metadata = read_footer(path).metadata or {}
    except StoreError:
        return ""
    return str(metadata.get(_PREVIOUS, b"").decode())


def _number(path: Path) -> int:
    return int(path.name[:10])


Kind = Literal["document", "aside", "whole", "appended"]
"""What a unit names: `document`, a document by its id; `aside`, a file or line skipped with errors, by its place;
`whole`, nothing, for a table or mark kept as one; `appended`, rows of a table that only grows, by their part."""

_FILES_BEFORE_SNAPSHOT = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of one unit in one step.

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
    kind: Kind = "document"

    @classmethod
    def of_whole(cls, step: str, status: str = "done", **values: str | int) -> "Entry":
        """The one entry of a table that is kept whole, or of a mark such as the current release."""
        return cls("", step, status, kind="whole", **values)  # type: ignore[arg-type]


SCHEMA: Final = pa.schema(
    [pa.field(each.name, pa.int32() if each.type is int else pa.string(), nullable=False) for each in fields(Entry)]
)
View = Literal["current", "stored"]
"""`stored` has the documents that are away too."""
OnCommit = Callable[[set[tuple[str, str]]], None]
"""Called with the tables and parts that a commit names, after its file is written and before it counts."""
AMONG: Final = "SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS wanted_id) ON wanted_id = unit"
"""Restricts a query to a list of units."""
_COLUMNS = ", ".join(f.name for f in fields(Entry))
_DECLARED = ", ".join(f"{each.name} {'INTEGER' if each.type == pa.int32() else 'VARCHAR'}" for each in SCHEMA)


def _whole_files(folder: Path) -> Sequence[Path]:
    if found := breaks(folder):
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise StoreError(f"the ledger is damaged: {found[0].path}: {found[0].what}{more}; `sag repair` mends it")
    return link_files(folder)


_held: WeakValueDictionary[Path, "Ledger"] = WeakValueDictionary()
"""The newest ledger of each folder that somebody holds."""


class Ledger:
    """The current entries, with SQL over them; commits are durable when `commit` returns."""

    def __init__(self, folder: Path, files: Sequence[Path] | None = None, on_commit: OnCommit = lambda _: None) -> None:
        """Read every commit below the folder, or these files alone, although others are damaged; for repair.

        Where somebody in this process still holds the ledger of this folder, and no file there has changed since it
        was read, its entries are shared and nothing is read.

        Raises:
            StoreError: If a commit is damaged or missing.
        """
        self._folder = folder
        self._on_commit = on_commit
        self._lock = RLock()
        self._state = state_of(folder)
        self._database: duckdb.DuckDBPyConnection
        self._told: dict[object, Any] = {}
        self._away = set[str]()
        held = _held.get(folder) if files is None else None
        if held is not None and held._state == self._state:  # noqa: SLF001  another one of this class
            self._lock, self._database = held._lock, held._database  # noqa: SLF001
            self._told, self._away = held._told, held._away  # noqa: SLF001
        else:
            self._database = duckdb.connect(config={"threads": 1})
            self._open(_whole_files(folder) if files is None else files)
        if files is None:
            _held[folder] = self

    def _open(self, files: Sequence[Path]) -> None:
        self._database.execute(
            f"CREATE TABLE no_entries ({_DECLARED});"  # registering Arrow rows would import pandas
            "CREATE TABLE entries AS SELECT * FROM no_entries;"
            "CREATE TABLE away (unit VARCHAR);"
            "CREATE VIEW stored AS SELECT * FROM entries WHERE status <> 'removed';"
            "CREATE VIEW current AS SELECT * FROM stored;"
            "CREATE VIEW by_document AS SELECT * FROM current WHERE kind = 'document'"
        )
        if files:
            self._database.execute(
                f"INSERT INTO entries SELECT {_COLUMNS} FROM ({_READ_ENTRIES}) "
                "QUALIFY filename = max(filename) OVER (PARTITION BY kind, unit, step)",  # half the time of numbers
                [[str(path) for path in files]],
            )

    def set_away(self, documents: Collection[str]) -> None:
        """Leave documents out of `current` and `by_document`, as if they were not there; `stored` has them."""
        with self._lock:
            if self._away == documents:
                return
            self._told.clear()
            self._away.clear()
            self._away.update(documents)
            self._database.execute("DELETE FROM away")
            self._database.execute("INSERT INTO away SELECT unnest(?)", [sorted(documents)])
            chosen = "WHERE kind <> 'document' OR unit NOT IN (SELECT unit FROM away)" if documents else ""
            self._database.execute(f"CREATE OR REPLACE VIEW current AS SELECT * FROM stored {chosen}")

    def _insert(self, rows: pa.Table) -> None:
        self._told.clear()
        self._database.register("fresh", rows)
        self._database.execute(
            "DELETE FROM entries USING fresh "
            "WHERE entries.kind = fresh.kind AND entries.unit = fresh.unit AND entries.step = fresh.step"
        )
        self._database.execute(f"INSERT INTO entries SELECT {_COLUMNS} FROM fresh")
        self._database.unregister("fresh")

    def commit(self, entries: Sequence[Entry]) -> None:
        """Make the entries current, all or none; each (kind, unit, step) at most once."""
        if not entries:
            return
        rows = rows_of(SCHEMA, entries)
        with self._lock:
            _append_link(self._folder, rows)
            self._on_commit({(entry.step, entry.part) for entry in entries if entry.part})
            self._insert(rows)
            self._state = state_of(self._folder)
            if len(link_files(self._folder)) > _FILES_BEFORE_SNAPSHOT:
                self.take_snapshot()

    def take_snapshot(self, previous: str | None = None) -> None:
        """Write all current entries as one file in place of the commits, so that no trace of what was removed stays."""
        with self._lock:
            self._state = ()  # of no folder: the next one reads the snapshot
            rows = self._database.sql(f"SELECT {_COLUMNS} FROM stored ORDER BY kind, unit, step").to_arrow_table()
            snapshot = _append_link(self._folder, rows.cast(SCHEMA), is_snapshot=True, previous=previous)
            for path in self._folder.glob("*.parquet"):
                if path != snapshot:  # it contains them all
                    discard(path)
            self._on_commit(set())

    def parts(self) -> set[tuple[str, str]]:
        """Tables and parts that entries name, those of documents that are away too."""
        rows = self.select_once("SELECT DISTINCT step, part FROM stored WHERE part <> ''")
        return {(str(step), str(part)) for step, part in rows}

    def rebuild(self, entries: Sequence[Entry]) -> None:
        """Replace all files, damaged ones too, by one snapshot of what was read and of these entries."""
        with self._lock:
            self._insert(rows_of(SCHEMA, entries))
            self.take_snapshot(previous=read_head(self._folder))

    def select(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Rows of a query over the views `current`, `by_document` and `stored` (the columns of `Entry`)."""
        with self._lock:
            try:
                return self._database.execute(sql, list(values)).fetchall()
            except BaseException:
                self._database.abort()  # a signal may fall between the two calls; what is half fetched blocks the next
                raise

    def select_once(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """The same, asked again only after a commit: several checks and assets want the same numbers."""
        with self._lock:
            asked = (sql, repr(values))
            if asked not in self._told:
                self._told[asked] = self.select(sql, *values)
            found: list[tuple[object, ...]] = self._told[asked]
            return found

    def entries(self, where: str = "true", *values: object, view: View = "current") -> list[Entry]:
        """Entries that meet a condition, ordered by kind, unit and step."""
        rows = self.select(f"SELECT {_COLUMNS} FROM {view} WHERE {where} ORDER BY kind, unit, step", *values)
        return [Entry(*row) for row in rows]  # type: ignore[arg-type]

    def whole(self, step: str) -> Entry | None:
        """The current entry of a table that is kept whole, or of a mark; None if there is none."""
        found = self.select_once(f"SELECT {_COLUMNS} FROM current WHERE kind = 'whole' AND step = ?", step)
        return Entry(*found[0]) if found else None  # type: ignore[arg-type]

    def row_count(self, *steps: str) -> int:
        """Number of current rows of some tables together."""
        ((rows,),) = self.select_once(
            "SELECT coalesce(sum(row_count), 0)::BIGINT FROM current WHERE list_contains(?, step)", steps
        )
        return int(str(rows))

    def counts(self, step: str) -> dict[str, int]:
        """Of a table kept by document: documents, rows, documents that failed, are partial or empty, skipped files."""
        ((*numbers,),) = self.select_once(
            "SELECT count(*) FILTER (kind = 'document'), coalesce(sum(row_count), 0)::BIGINT, "
            "count(*) FILTER (kind = 'document' AND status = 'failed'), count(*) FILTER (status = 'partial'), "
            "count(*) FILTER (status <> 'failed' AND row_count = 0), count(*) FILTER (kind = 'aside') "
            "FROM current WHERE step = ?",
            step,
        )
        names = ("documents", "rows", "failed", "partial", "without_rows", "skipped")
        return {name: int(str(number)) for name, number in zip(names, numbers, strict=True)}

    def documents_with(self, steps: Sequence[str]) -> set[str]:
        """Documents that every one of some steps has processed."""
        rows = self.select_once(
            "SELECT unit FROM by_document WHERE status <> 'failed' AND list_contains(?, step) "
            "GROUP BY 1 HAVING count(*) = ?",
            list(steps),
            len(steps),
        )
        return {str(unit) for (unit,) in rows}

    def source_names(self) -> list[str]:
        """Names of sources that entries have, those of most documents first."""
        rows = self.select_once(
            "SELECT source, count(*) FILTER (kind = 'document') FROM current "
            "WHERE step = 'documents' AND source <> '' GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        return [str(name) for name, _ in rows]

    def document_count(self, step: str) -> int:
        """Number of documents with a current entry of a step."""
        ((count,),) = self.select_once("SELECT count(*) FROM current WHERE step = ? AND kind = 'document'", step)
        return int(str(count))

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection for tables of a caller's own; opening another database would take longer than a small query."""
        with self._lock:
            return self._database.cursor()
