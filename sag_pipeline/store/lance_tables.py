"""Lance tables below one folder, and the list of their files: what it does not name was left by a killed process.

Where vectors lie in those files is found by comparing bytes, so that nothing depends on how Lance arranges them.
"""

import hashlib
import json
import mmap
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError
from sag_retrieval.core.types import Flags, Floats32, Rows64
from sag_retrieval.release.vectors import VECTOR, matrix_of, open_database

Run = tuple[int, str, int, int]
"""Consecutive rows that lie one after another in a file: row id of the first, file, its byte, and how many."""
Moved = tuple[int, int, int]
"""Consecutive rows: the first id that they had, the first that they have, and how many."""
_FILE_BITS: Final = 32
"""The lower bits of a row id are the place in a file, the upper ones the number of the file."""


def locate(files: Mapping[str, Path], blocks: Iterable[tuple[Rows64, Floats32]]) -> list[Run]:
    """Runs of the vectors of blocks, each with the row ids; none if a vector was not found as consecutive floats."""
    runs: list[Run] = []
    with ExitStack() as stack:
        opened = {name: stack.enter_context(path.open("rb")) for name, path in files.items() if path.stat().st_size}
        maps = {
            name: stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            for name, file in opened.items()
        }
        for row_ids, block in blocks:
            vectors, at = np.ascontiguousarray(block).view(np.uint32), 0
            while at < len(vectors):
                name, start = _find(maps, runs, vectors[at])
                if not name:
                    return []
                rising = _before(np.diff(row_ids[at:]) == 1) + 1
                count = min(_equal(maps[name], start, vectors[at:]), rising)
                runs = _grown(runs, (int(row_ids[at]), name, start, count), vectors.shape[1] * 4)
                at += count
    return runs


def _find(maps: Mapping[str, mmap.mmap], runs: Sequence[Run], vector: npt.NDArray[np.uint32]) -> tuple[str, int]:
    """File and byte of a vector: behind the last run, or else anywhere; no name if it is nowhere."""
    wanted = vector.tobytes()
    tried = [(name, 0) for name in maps]
    if runs:
        _, name, start, count = runs[-1]
        tried.insert(0, (name, start + count * len(wanted)))
    for name, start in tried:
        place = maps[name].find(wanted, start)
        while place % 4 and place >= 0:
            place = maps[name].find(wanted, place + 1)
        if place >= 0:
            return name, place
    return "", 0


def _equal(held: mmap.mmap, start: int, vectors: npt.NDArray[np.uint32]) -> int:
    """How many vectors lie one after another from a byte on."""
    width = vectors.shape[1]
    count = min(len(vectors), (len(held) - start) // (4 * width))
    there = np.frombuffer(held, np.uint32, count * width, start).reshape(count, width)
    is_same = (there == vectors[:count]).all(axis=1)
    del there  # or the map could not be closed
    return _before(is_same)


def _before(flags: Flags) -> int:
    """How many flags at the start are set."""
    return int(np.argmin(np.append(flags, np.False_)))


def _grown(runs: list[Run], run: Run, width: int) -> list[Run]:
    """Runs with one more, which lengthens the last if it continues it."""
    if runs:
        first, name, start, count = runs[-1]
        if (first + count, name, start + count * width) == run[:3]:
            return [*runs[:-1], (first, name, start, count + run[3])]
    return [*runs, run]


def _moved_rows(before: Rows64, now: Rows64) -> list[Moved]:
    """Ids that rows had and have, both ascending.

    Examples:
        >>> _moved_rows(np.array([3, 4, 6]), np.array([10, 11, 12]))
        [(3, 10, 2), (6, 12, 1)]
    """
    starts = np.flatnonzero((np.diff(before, prepend=-2) != 1) | (np.diff(now, prepend=-2) != 1))
    counts = np.diff(np.append(starts, len(before)))
    return list(zip(before[starts].tolist(), now[starts].tolist(), counts.tolist(), strict=True))


def _followed(piece: Moved, pieces: Sequence[Moved], files: Sequence[int]) -> Iterator[Moved]:
    """Where rows that have moved before are now, after rows of some files were written again."""
    had, have, count = map(int, piece)
    if have >> _FILE_BITS not in files:
        yield had, have, count
        return
    for first, now, size in pieces:
        start, end = max(have, first), min(have + count, first + size)
        if start < end:
            yield had + start - have, now + start - first, end - start


SEALED: Final = "sealed.json"
ID: Final = "vector_id"
_BATCH: Final = 16_384
_LARGE_BATCH: Final = 1 << 20
_HIDDEN: Final = "_deletions/"
"""Folder of lists of hidden rows: a file is named by the number of the file of data, and by the version before."""
_UNINDEXED_AT_MOST: Final = 0.2
"""Lance compares rows outside its index one by one; with a larger share the index is trained again."""
_VERSIONS: Final = 2**64 - 1
"""Lance names the manifest of version n by this minus n, so that the newest stands first."""


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A Lance table as it was last written."""

    folder: str
    rows: int
    files: Mapping[str, Sequence[Any]]
    """Below the folder: length and XXH3 (128 bits, in hex) of each file of the newest version."""
    runs: Sequence[Run] = ()
    """Where vectors lie in the files; empty where they are sparse, or stored in a form that cannot be mapped."""
    moved: Sequence[Moved] = ()
    """Rows that were written again: ids that they had, and have now."""
    release: str = ""
    """The release whose rows it has; empty for vectors by the hash of their text."""


class LanceTables:
    """The tables of one embedder. A change is whole once the list names its files, and is undone before that."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._compared: set[tuple[Path, str]] = set()
        self._opened: dict[str, tuple[SealedTable, Any]] = {}
        self._unlisted: dict[str, SealedTable] | None = None
        self._ids: dict[str, tuple[SealedTable, pa.Table]] = {}

    @contextmanager
    def together(self) -> Iterator[None]:
        """Changes that are listed in one step at the end, so that a process that is killed before has made none.

        What `ids` reads meanwhile is read once, until the innermost of nested ones ends.
        """
        if is_first := self._unlisted is None:
            self.sweep()
            self._unlisted = self.sealed()
        tables = self._unlisted
        try:
            yield
        finally:
            self._ids.clear()
            if is_first:
                changed, self._unlisted = self._unlisted, None
                self._opened.clear()
        if is_first and changed is not tables:
            self._save(changed or {})

    def sealed(self) -> dict[str, SealedTable]:
        """What the list names, or will name; a StoreError if it is damaged."""
        if self._unlisted is not None:
            return self._unlisted
        path = self.folder / SEALED
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            tables = {name: SealedTable(**each) for name, each in told["tables"].items()}
            if told["hash"] != _hash_of(told["tables"]):
                raise ValueError("its text has another hash than it names")  # noqa: TRY301
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{path} is damaged ({error}); `sag repair` mends it") from error
        return tables

    def faults(self, *, deep: bool, names: Iterable[str] | None = None) -> Iterator[tuple[Path, str]]:
        """Files that are not as written: of another length, with `deep` of another hash."""
        tables = self.sealed()
        for name in tables if names is None else names:
            for file, (length, digest) in tables[name].files.items():
                path = self.folder / tables[name].folder / file
                if what := _fault_of(path, length, digest if deep else ""):
                    yield path, what

    def open(self, name: str) -> Any:  # noqa: ANN401  lancedb ships no types
        """A table whose every byte was compared with the list, as Lance trusts what it reads; else a StoreError."""
        table = self.sealed()[name]
        if name in self._opened and self._opened[name][0] == table:
            return self._opened[name][1]
        for file, (length, digest) in table.files.items():
            path = self.folder / table.folder / file
            if (path, digest) not in self._compared:
                if what := _fault_of(path, length, digest):
                    raise StoreError(f"{path} is damaged ({what}); `sag repair` mends it")
                self._compared.add((path, digest))
        opened = self._database.open_table(table.folder.removesuffix(".lance"))
        self._opened[name] = (table, opened)
        return opened

    def _open_to_change(self, name: str) -> Any:  # noqa: ANN401
        """The same for itself: of the other, no version changes."""
        self._opened.pop(name, None)
        table = self.open(name)
        del self._opened[name]
        return table

    @cached_property
    def _database(self) -> Any:  # noqa: ANN401
        return open_database(self.folder)

    def ids(self, name: str, columns: Sequence[str] = (ID,), first: int = 0) -> pa.Table:
        """Some columns of a table with `_rowid`, from a row on, in its order."""
        table, held = self.sealed()[name], self._ids.get(name)
        if held and held[0] is table and {*columns} <= {*held[1].column_names}:
            return held[1].select([*columns, "_rowid"]).slice(first)
        query = self.open(name).search().with_row_id(with_row_id=True).select([*columns])
        wanted = (query.offset(first) if first else query).limit(table.rows - first)
        stream = wanted.to_batches(batch_size=_LARGE_BATCH)  # each takes Lance a millisecond
        found = pa.Table.from_batches(stream, stream.schema).combine_chunks()
        if self._unlisted is not None and not first:
            self._ids[name] = (table, found)
        return found

    def rows(self, name: str, row_ids: Rows64, columns: Sequence[str]) -> pa.Table:
        """Some columns of rows by their ascending ids."""
        return pa.Table.from_batches(_rows_of(self.open(name), row_ids, columns)).combine_chunks()

    def show(
        self,
        name: str,
        batches: Iterator[pa.RecordBatch] | None,
        hidden: Rows64 | None = None,
        release: str = "",
        *,
        is_new: bool = False,
    ) -> None:
        """Append rows and hide others, by their ids, in one step; the bytes of hidden rows stay until `leave_out`.

        The table has the rows of `release` then; `is_new`: it is written again, of these rows alone.
        """
        before = None if is_new else self.sealed().get(name)
        durable.make_folder(self.folder)
        self.sweep()
        if before is None:
            self._write(name, batches or (), release)
            return
        table, told = self._open_to_change(name), replace(before, release=release)
        if batches is not None:
            table.add(_reader(next(batches), batches))
            rows = int(table.count_rows())
            told = replace(told, rows=rows, runs=self._grown_runs(before, table, rows))
        hidden = np.zeros(0, np.int64) if hidden is None else hidden
        for at in range(0, len(hidden), _BATCH):
            table.delete(f"_rowid IN ({', '.join(map(str, hidden[at : at + _BATCH].tolist()))})")
        self._seal(name, told, table)

    def rewrite(
        self, name: str, select: Callable[[pa.RecordBatch], pa.RecordBatch], more: Iterable[pa.RecordBatch] = ()
    ) -> None:
        """Write a table again with what `select` leaves of each batch, and more; nothing else stays in any file."""
        before = self.sealed()[name]
        stream = self.open(name).search().limit(before.rows).to_batches(batch_size=_BATCH)
        self._write(name, chain((select(batch) for batch in stream), more), before.release)

    def leave_out(self, name: str, is_kept: Callable[[pa.Table], Flags], more: Iterable[pa.RecordBatch] = ()) -> None:
        """Write those files again that hold rows to be left out, and append more; nothing of these stays in any file.

        Rows that move keep the ids they had, by `moved`. Of hidden rows nothing stays either, and no index. A table
        that is not mapped is written again as a whole.
        """
        self.sweep()
        before = self.sealed()[name]
        if not before.runs:
            self.rewrite(name, lambda batch: batch.filter(pa.array(is_kept(batch))), more)
            return
        rows, table = self.ids(name), self._open_to_change(name)
        row_ids, kept = rows["_rowid"].to_numpy().astype(np.int64), is_kept(rows)
        hiding = {file: int(Path(file).name.partition("-")[0]) for file in before.files if file.startswith(_HIDDEN)}
        files = sorted({*np.unique(row_ids[~kept] >> _FILE_BITS).tolist(), *hiding.values()})
        is_affected = np.isin(row_ids >> _FILE_BITS, files)
        left, staying = len(rows) - int(is_affected.sum()), row_ids[is_affected & kept]
        if not kept.any():
            self._write(name, more, before.release)
            return
        batches = chain(_rows_of(table, staying), more)
        first, now = next(batches, None), staying
        if first is not None:
            table.add(_reader(first, batches))
        elif not files:
            return
        for index in table.list_indices():
            table.drop_index(index.name)
        for file in files:
            table.delete(f"_rowid >= {file << _FILE_BITS} AND _rowid < {(file + 1) << _FILE_BITS}")
        if len(staying):  # they come first
            query = table.search().with_row_id(with_row_id=True).select([ID]).offset(left).limit(len(staying))
            now = query.to_arrow()["_rowid"].to_numpy().astype(np.int64)
        gone = {run[1] for run in before.runs if run[0] >> _FILE_BITS in files} | {*hiding}
        gone |= {file for file in before.files if file.startswith("_indices")}
        pieces = _moved_rows(staying, now)
        moved = sorted([*pieces, *(each for one in before.moved for each in _followed(one, pieces, files))])
        seen = replace(before, rows=left, runs=[run for run in before.runs if run[1] not in gone], moved=moved)
        self._seal(name, seen, table, {self.folder / before.folder / file for file in gone})

    def index(self, name: str, column: str, config: Any) -> None:  # noqa: ANN401
        """Train Lance's index of a column, unless most rows are in one."""
        before, table = self.sealed()[name], self._open_to_change(name)
        own = [index for index in table.list_indices() if column in index.columns]
        if own and max(index.num_unindexed_rows for index in own) <= _UNINDEXED_AT_MOST * before.rows:
            return
        indexes = self.folder / before.folder / "_indices"
        replaced = {path for index in own for path in indexes.glob(f"{index.index_uuid}/*")}
        table.create_index(column, config=config, replace=True)
        self._seal(name, before, table, replaced)

    def salvage(self) -> None:
        """Write damaged tables again with the rows of their undamaged files; where that cannot be, delete them."""
        for name, table in self.sealed().items():
            folder = self.folder / table.folder
            bad = {path.relative_to(folder).as_posix() for path, _ in self.faults(deep=True, names=[name])}
            good = [run for run in table.runs if run[1] not in bad]
            if bad and good and all(file.startswith("data/") for file in bad):
                rows = np.concatenate([np.arange(first, first + count) for first, _, _, count in good])
                self._write(
                    name, _rows_of(self._database.open_table(table.folder.removesuffix(".lance")), rows)
                )  # of no release any more
            elif bad:
                self.drop(name)

    def drop(self, name: str) -> None:
        """Delete a table."""
        self._save({other: table for other, table in self.sealed().items() if other != name})

    def _write(self, name: str, batches: Iterable[pa.RecordBatch], release: str = "") -> None:
        """A table of its own, which takes the place of the one before; none without a row."""
        rows = (batch for batch in batches if len(batch))
        if (first := next(rows, None)) is None:
            self.drop(name)
            return
        folder = f"{name}-{uuid4().hex[:12]}"
        table = self._database.create_table(folder, _reader(first, rows), schema=first.schema)
        self._seal(name, SealedTable(f"{folder}.lance", 0, {}, release=release), table)

    def _seal(self, name: str, before: SealedTable, table: Any, replaced: Collection[Path] = ()) -> None:  # noqa: ANN401
        """List the files of the newest version, without replaced ones, after they are on disk."""
        folder, rows = self.folder / before.folder, int(table.count_rows())
        paths = sorted(_files_of(folder, table.version) - {*replaced})
        durable.sync_all([*paths, *{path.parent for path in paths}, folder, self.folder])
        listed = {path.relative_to(folder).as_posix(): path for path in paths}
        runs = self._grown_runs(before, table, rows) if rows > before.rows else before.runs
        runs = [run for run in runs if run[1] in listed]
        known = before.files
        files = {file: known.get(file) or (path.stat().st_size, _digest(path)) for file, path in listed.items()}
        self._compared |= {(folder / file, files[file][1]) for file in files if file not in known}
        sealed = replace(before, rows=rows, files=files, runs=runs)
        self._save(self.sealed() | {name: sealed})
        self._opened[name] = (sealed, table)

    def _grown_runs(self, before: SealedTable, table: Any, rows: int) -> Sequence[Run]:  # noqa: ANN401
        """Where vectors lie after rows were appended; none if new ones were not found: all are mapped or none is."""
        if VECTOR not in table.schema.names or rows <= before.rows or bool(before.runs) != bool(before.rows):
            return before.runs
        if table.schema.field(VECTOR).type.value_type != pa.float32():  # of half the bytes: zeros alone would be found
            return before.runs
        folder = self.folder / before.folder
        new = {f"data/{path.name}": path for path in folder.glob("data/*") if f"data/{path.name}" not in before.files}
        found = locate(new, _vectors(table, before.rows, rows))
        return [*before.runs, *found] if found else []

    def _save(self, tables: dict[str, SealedTable]) -> None:
        if self._unlisted is not None:
            self._unlisted = tables
            return
        plain = {name: asdict(table) for name, table in sorted(tables.items())}
        durable.write_text(self.folder / SEALED, json.dumps({"hash": _hash_of(plain), "tables": plain}, indent=1))
        self.sweep()

    def sweep(self) -> None:
        """Delete what the list does not name: older versions, and what a killed process left."""
        if self._unlisted is not None:
            return
        tables = {table.folder: table for table in self.sealed().values()}
        for folder in self.folder.glob("*.lance"):
            if folder.name not in tables:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            for path in folder.rglob("*"):
                if path.is_file() and path.relative_to(folder).as_posix() not in tables[folder.name].files:
                    path.unlink(missing_ok=True)


def _reader(first: pa.RecordBatch, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))


def _vectors(table: Any, first: int, last: int) -> Iterator[tuple[Rows64, Floats32]]:  # noqa: ANN401
    """Row ids and vectors of the rows from `first` to `last`, in the table's order."""
    query = table.search().with_row_id(with_row_id=True).select([VECTOR]).offset(first).limit(last - first)
    for batch in query.to_batches(batch_size=_BATCH):
        yield batch["_rowid"].to_numpy().astype(np.int64), matrix_of(batch[VECTOR])


def _rows_of(table: Any, row_ids: Rows64, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:  # noqa: ANN401
    """Rows by their ids, blocks of them at a time; other files are not read."""
    for at in range(0, len(row_ids), _BATCH):
        query = table.take_row_ids(row_ids[at : at + _BATCH].tolist())
        yield from (query.select([*columns]) if columns else query).to_arrow().to_batches()


def _files_of(folder: Path, version: int) -> set[Path]:
    """The files of a version: all data that its manifest names, of each file the newest list of hidden rows."""
    manifest = folder / "_versions" / f"{_VERSIONS - version:020d}.manifest"
    if not manifest.is_file():
        raise StoreError(f"{folder} has no manifest of version {version}; install the version of lancedb it names")
    told = manifest.read_bytes()
    hidden: dict[str, tuple[int, Path]] = {}
    for path in folder.glob(f"{_HIDDEN}*"):
        file, read, _ = path.name.split("-")
        hidden[file] = max(hidden.get(file, (-1, path)), (int(read), path))
    data = {path for path in folder.glob("data/*") if path.name.encode() in told}
    return {manifest, *data, *folder.glob("_indices/*/*"), *(path for _, path in hidden.values())}


def _fault_of(path: Path, length: int, digest: str) -> str:
    try:
        size = path.stat().st_size
        if not path.is_file():
            return "it is no file"
        if size != length:
            return f"it has {size} bytes, not {length}"
        return "its bytes are not those that were written" if digest and _digest(path) != digest else ""
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"


def _digest(path: Path) -> str:
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()


def _hash_of(value: Any) -> str:  # noqa: ANN401  plain values
    return xxhash.xxh3_128_hexdigest(json.dumps(value, sort_keys=True).encode())
