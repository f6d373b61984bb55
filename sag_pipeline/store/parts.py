"""Immutable Parquet files named by the hash of their bytes, the parts of tables kept in them, and rows by document."""

import re
import shutil
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sag_pipeline.tables import schema_of, with_columns
from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError
from sag_retrieval.release.table import no_rows, read_parquet

_PARTS_OPEN: Final = 4
"""Parts of a table that a reader keeps: documents of one part of a table may come from several of another."""
_SEALED = re.compile(r"-[0-9a-f]{24}$")


def write_sealed(rows: pa.Table, folder: Path, name: str, *, has_repeats: bool = True) -> Path:
    """Write `<name>-<hash of its bytes>.parquet`: whole or absent, also after power is lost.

    Pages also have checksums, which reading compares at next to no cost. Without repeats there are no dictionaries:
    where most values differ they take time and bytes.
    """
    durable.make_folder(folder)
    draft = folder / f".{name}.{uuid4().hex}"
    try:
        pq.write_table(rows, draft, compression="zstd", use_dictionary=has_repeats, write_page_checksum=True)
        path = folder / f"{name}-{durable.digest_of(draft, 12)}.parquet"
        durable.sync(draft)
        durable.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def read_rows(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of a file, every page compared with its checksum; a StoreError if it is damaged or missing."""
    with reading(path):
        if path.is_dir():
            raise IsADirectoryError("it is a folder")
        return read_parquet(path, columns, is_checked=True)


def read_footer(path: Path) -> pq.FileMetaData:
    """The metadata of a file: its rows and columns; a StoreError if it is damaged or missing."""
    with reading(path):
        return pq.read_metadata(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an error of reading into one that names the file and the next command."""
    try:
        yield
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; `sag repair` mends it") from None
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise StoreError(f"{path} is damaged ({_first_line(error)}); `sag repair` mends it") from error


def damage(path: Path) -> str:
    """What is wrong with the bytes of a file; empty if they are as written; without a hash, if it can be read."""
    try:
        if not is_sealed(path):
            read_parquet(path).validate(full=True)
        elif durable.digest_of(path, 12) != path.stem[-24:]:
            return "its bytes are not those that were written"
    except FileNotFoundError:
        return "it is missing"
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        return _first_line(error)
    return ""


def discard(path: Path) -> None:
    """Delete a file, or a folder in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_sealed(path: Path) -> bool:
    """Whether the name has the hash: version 0.1 wrote none."""
    return _SEALED.search(path.stem) is not None


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


class Parts:
    """The part files of every table below one folder."""

    def __init__(self, folder: Path, fetch: Callable[[Path], None] = lambda _: None) -> None:
        """Keep the folder; it is created with the first part. `fetch` brings a part from the bucket of a home."""
        self._folder = folder
        self._fetch = fetch
        self._last: dict[str, tuple[str, pa.Table]] = {}

    def path(self, table: str, part: str) -> Path:
        """The file of a part."""
        return self._folder / table / f"{part}.parquet"

    def write(self, table: str, rows: pa.Table, outcome: Sequence[str], *, has_repeats: bool = True) -> str:
        """Write a part; its name has the hashes of its content and bytes, so a repeated commit gives the same."""
        held = blake2b("\x1f".join(outcome).encode(), digest_size=12).hexdigest()
        return write_sealed(rows, self._folder / table, held, has_repeats=has_repeats).stem

    def read(self, table: str, part: str, columns: Sequence[str] | None = None) -> pa.Table:
        """All rows of a part, dead ones too, by `read_rows`; with `columns`, only those columns."""
        path = self.path(table, part)
        self._fetch(path)
        if columns is not None:
            return read_rows(path, columns)
        if table not in self._last or self._last[table][0] != part:  # batches read documents in part order
            self._last[table] = (part, read_rows(path))
        return self._last[table][1]

    def row_count(self, table: str, part: str) -> int:
        """Rows of a part, dead ones too, without reading them."""
        path = self.path(table, part)
        self._fetch(path)
        return int(read_footer(path).num_rows)

    def tables(self) -> list[str]:
        """Names of the tables that have a folder."""
        return sorted(path.name for path in self._folder.glob("*") if path.is_dir())

    def names(self, table: str) -> set[str]:
        """Names of all part files of a table, in use or not."""
        return {path.stem for path in (self._folder / table).glob("*.parquet")}

    def delete(self, table: str, part: str) -> None:
        """Delete a part that no entry names any more."""
        self.path(table, part).unlink(missing_ok=True)
        self._last.pop(table, None)

    def bytes_used(self) -> int:
        """Bytes of all parts on disk."""
        return sum(path.stat().st_size for path in self._folder.rglob("*.parquet"))


def of_documents(rows: pa.Table, documents: Collection[str]) -> pa.Table:
    """The rows of the given documents, in their order."""
    return rows.filter(pc.is_in(rows["document_id"], pa.array([*documents], pa.string())))


class DocumentRows:
    """Reads rows of documents by the parts that have them; each is read once while these come in the order of parts."""

    def __init__(self, parts: Parts, table: str, places: Mapping[str, Sequence[str]]) -> None:
        self._parts = parts
        self._table = table
        self._part_of = {document: part for part, members in places.items() for document in members}
        self._opened: OrderedDict[str, tuple[pa.Table, Mapping[str, tuple[int, int]]]] = OrderedDict()

    def of(self, documents: Sequence[str]) -> pa.Table:
        """The rows of some documents, in their order; rows that lie one after another are not copied."""
        found = [no_rows(schema_of(self._table))]
        placed = (document for document in documents if document in self._part_of)
        for part, members in groupby(placed, self._part_of.__getitem__):
            rows, places = self._open(part)
            found += [rows.slice(start, end - start) for start, end in _runs(places, members)]
        return pa.concat_tables(found)

    def _open(self, part: str) -> tuple[pa.Table, Mapping[str, tuple[int, int]]]:
        """The rows of a part, and where those of each document lie; the parts used last stay open."""
        if part not in self._opened:
            rows = self._parts.read(self._table, part)
            with reading(self._parts.path(self._table, part)):  # a file of another table has other columns
                runs = pc.run_end_encode(rows["document_id"].combine_chunks())
                ends = runs.run_ends.to_pylist()
                spans = dict(zip(runs.values.to_pylist(), zip([0, *ends], ends, strict=False), strict=True))
                self._opened[part] = with_columns(rows, schema_of(self._table)), spans
            if len(self._opened) > _PARTS_OPEN:
                self._opened.popitem(last=False)
        self._opened.move_to_end(part)
        return self._opened[part]


def _runs(places: Mapping[str, tuple[int, int]], documents: Iterator[str]) -> Iterator[tuple[int, int]]:
    """Spans of rows, those that meet as one."""
    first, last = 0, 0
    for document in documents:
        start, end = places.get(document, (last, last))
        if start != last:
            yield first, last
            first = start
        last = end
    yield first, last
