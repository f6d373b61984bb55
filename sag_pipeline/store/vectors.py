"""Vectors by the hash of their text, each embedded once, however many rows share it; and rows of the newest release.

A Lance table has the rows of a kind, each once, with its vector. Releases link its files, as they are then.
Rows that leave a release are hidden, new ones are appended, in one step; the vectors of texts that no row has any more
stay, by the hash of their text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.lance_tables import ID, SEALED, LanceTables
from sag_pipeline.store.parts import read_footer, read_rows
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.core.types import Flags, Floats32, Rows, Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import places_of
from sag_retrieval.release.folders import delete, link, sweep
from sag_retrieval.release.topk import INDEXED_ROWS
from sag_retrieval.release.vectors import METRIC, VECTOR, PlacedRows, matrix_of, runs_of

KINDS = ("chunks", "events", "keys")
"""Tables whose texts are embedded; each has a Lance table of its own, which a reader can search by itself."""
VectorIds = npt.NDArray[np.bytes_]
"""Shape (texts,), 16 bytes each: hashes of the embedded texts."""


PUBLISHED: Final = "published_"
"""Before the name of a kind: the table of its rows in the newest release, each with its vector."""
PROJECTED: Final = "projected_"
"""The same with projections of sparse vectors, which are computed for each layer of a release and not kept."""
_TEXTS: Final = {"chunks": "text", "events": "content", "keys": "value_string"}
MOST_FILES: Final = 32
"""A table with more files is rewritten."""


def vector_ids(texts: Iterable[str]) -> VectorIds:
    """Hash of each text."""
    digests = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "S16")


def fixed(ids: VectorIds) -> pa.FixedSizeBinaryArray:
    """Ids as a column."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [None, pa.py_buffer(ids.tobytes())])


def among(column: pa.FixedSizeBinaryArray | pa.ChunkedArray, ids: VectorIds) -> Flags:
    """Whether each id is one of some."""
    return np.asarray(pc.is_in(column, fixed(ids)))


def raw(column: pa.FixedSizeBinaryArray) -> VectorIds:
    """The ids of a column without nulls."""
    return np.frombuffer(column.buffers()[1], dtype="S16", count=len(column), offset=16 * column.offset)


def stored_vectors(home: Path) -> int:
    """Number of vectors below a home, of all embedders together; none of a damaged file, which `sag verify` names."""
    count = 0
    for path in (home / "vectors").rglob(SEALED):
        with suppress(StoreError):
            count += sum(table.rows for table in LanceTables(path.parent).sealed().values())
    return count


class VectorStore:
    """The vectors of one embedder: Lance tables for each of `KINDS` below `home/vectors/<fingerprint>`.

    One has the rows of the newest release with their vectors, one the vectors of texts that it does not have yet.
    """

    def __init__(self, home: Path, fingerprint: str, dimension: int) -> None:
        self.fingerprint = fingerprint
        self._all = home / "vectors"
        self._folder = self._all / fingerprint
        self._dimension = dimension
        self.tables = LanceTables(self._folder)
        """Of `KINDS`: vectors of texts that no row of the newest release has."""

    def shown(self, kind: str) -> str | None:
        """Name of the table of a kind's rows in the newest release; None if there is none."""
        names = (f"{before}{kind}" for before in (PUBLISHED, PROJECTED))
        return next((name for name in names if name in self.tables.sealed()), None)

    def known(self, *kinds: str) -> VectorIds:
        """Ids of all texts that have a vector in one of these kinds, or any, sorted."""
        names = [name for name in self._sources() if name.removeprefix(PUBLISHED) in (kinds or KINDS)]
        ids = [raw(self.tables.ids(name)[ID].chunk(0)) for name in names]
        return np.unique(np.concatenate(ids)) if ids else np.empty(0, "S16")

    def count(self) -> int:
        """Number of stored vectors, used or not; Lance is not loaded for it."""
        old = sum(int(read_footer(path).num_rows) for path in self._old())
        return old + sum(table.rows for table in self.tables.sealed().values())

    def _sources(self) -> list[str]:
        """Tables that have vectors by the hash of their text; first those of texts that no release has yet."""
        names = [name for name in self.tables.sealed() if not name.startswith(PROJECTED)]
        return sorted(names, key=lambda name: name.startswith(PUBLISHED))

    def append(self, kind: str, ids: VectorIds, vectors: Vectors) -> None:
        """Add vectors of texts that have none in this kind, durably, as far as `check_vectors` allows."""
        check_vectors(ids, vectors, self._dimension)
        self.tables.show(kind, iter([to_rows(ids, vectors)]))

    def blocks(self, ids: VectorIds, rows_a_block: int) -> Iterator[tuple[npt.NDArray[np.int32], Floats32]]:
        """Vectors of the texts in order, with their numbers; texts without a vector are left out."""
        places, left = dict[str, Rows64](), np.arange(len(ids))
        for name in self._sources():  # each text from the first table that has it
            places[name] = np.full(len(ids), -1, np.int64)
            if len(left):
                places[name][left] = self.row_ids(name, ids[left])
                left = left[places[name][left] < 0]
        for start in range(0, len(ids), rows_a_block):
            block = slice(start, start + rows_a_block)
            pieces = [self.taker(name)(rows[block]) for name, rows in places.items() if (rows[block] >= 0).any()]
            if pieces:
                numbers = np.concatenate([np.flatnonzero(rows[block] >= 0) for rows in places.values()])
                order = np.argsort(numbers, kind="stable")
                yield (start + numbers[order]).astype(np.int32), np.concatenate(pieces)[order]

    def row_ids(self, name: str, ids: VectorIds) -> Rows64:
        """The row of each text in a Lance table; -1 where it has none."""
        return row_ids_of(self.tables.ids(name), ID, fixed(ids))

    def taker(self, name: str) -> Callable[[Rows64], Floats32]:
        """Gives the vectors of rows of a table as it is now, in order, also after it is changed; -1 is left out."""
        held, opened = self.tables.sealed()[name], self.tables.open(name)

        def take(row_ids: Rows64) -> Floats32:
            if held.runs:
                runs = runs_of(held.runs, self._dimension)
                return PlacedRows(self._folder / held.folder, row_ids[row_ids >= 0], runs)[:]
            wanted, back = np.unique(row_ids[row_ids >= 0], return_inverse=True)
            rows = opened.take_row_ids(wanted.tolist()).select([VECTOR]).to_arrow()
            return matrix_of(rows[VECTOR].combine_chunks())[back]

        return take

    def link(self, name: str, folder: Path) -> None:
        """Put the files of the newest version of a table into a folder: by hard links, so that they lie once."""
        table = self.tables.sealed()[name]
        for file in table.files:
            link(self._folder / table.folder / file, folder / file)

    def purge(self, keep: VectorIds) -> int:
        """Keep the vectors of the texts in `keep` (sorted ids) alone, in any file; the number deleted."""
        before = self.count()
        for kind in self.tables.sealed():
            self.tables.leave_out(kind, lambda rows: among(rows[ID], keep))
        return before - self.count()

    def compact(self) -> None:
        """Rewrite each table that was appended to many times, so that a query opens few files."""
        for kind, table in self.tables.sealed().items():
            if kind in KINDS and len(table.files) > MOST_FILES:
                self.tables.rewrite(kind, lambda batch: batch)

    def index(self, name: str) -> None:
        """Train Lance's indexes for readers that search by it: of the vectors of a large table, and of words.

        Vectors by scalar quantization in inverted lists; words as ICU divides text, Chinese too, English ones stemmed.
        """
        from lancedb.index import FTS, IvfSq  # noqa: PLC0415  `open_database` says why

        if self.tables.sealed()[name].rows > INDEXED_ROWS:
            self.tables.index(name, VECTOR, IvfSq(distance_type=METRIC))
        if name not in KINDS:  # by the hash of their text there is no text
            text = _TEXTS[name.rpartition("_")[2]]
            self.tables.index(name, text, FTS(base_tokenizer="icu", remove_stop_words=False))

    def _old(self) -> list[Path]:
        """Parquet files, in which version 0.1 kept vectors."""
        return sorted(self._folder.glob("*.parquet"))

    def is_old(self) -> bool:
        """Whether vectors are still to be moved by `adopt`."""
        return bool(self._old())

    def old_ids(self) -> VectorIds:
        """Ids of the texts whose vectors are still to be moved, sorted."""
        return np.unique(np.concatenate([np.empty(0, "S16"), *(_ids(read_rows(path, [ID])) for path in self._old())]))

    def adopt(self, wanted: Mapping[str, VectorIds]) -> None:
        """Move vectors from Parquet files into Lance, bit by bit: of each kind those of the wanted texts, sorted."""
        paths = self._old()
        for kind, ids in wanted.items():
            missing = np.setdiff1d(ids, self.known(kind))
            for path in paths:
                rows = read_rows(path)
                own, first = np.unique(_ids(rows), return_index=True)
                chosen = np.isin(own, missing)
                if chosen.any():
                    values = rows["values"].combine_chunks()
                    flat = np.frombuffer(values.buffers()[1], "<f4", len(values) * self._dimension)
                    self.append(kind, own[chosen], flat.reshape(-1, self._dimension)[first[chosen]])
                    missing = np.setdiff1d(missing, own)
        for path in paths:
            path.unlink()
        self.compact()

    def drop_others(self, kept: Iterable[str]) -> list[str]:
        """Delete the vectors of embedders other than this one and those in `kept`; their fingerprints."""
        names = {Path(each).parts[0] for each in kept if each} | {self._folder.relative_to(self._all).parts[0]}
        gone = sorted(path for path in self._all.glob("[!.]*") if path.name not in names)
        for path in gone:
            delete(path)
        sweep(self._all)
        return [path.name for path in gone]


def check_vectors(ids: VectorIds, vectors: Vectors, dimension: int) -> None:
    """Refuse vectors, with a ModelError, if one is missing, has another dimension, or is not finite."""
    if vectors.shape != (len(ids), dimension):
        raise ModelError(
            f"{len(ids)} texts of dimension {dimension} expected, the embedder gave {vectors.shape}; "
            "check SAG_EMBEDDING_MODEL"
        )
    if not np.isfinite(np.asarray(vectors)).all():
        raise ModelError("the embedder gave a vector with NaN or infinity; check SAG_EMBEDDING_MODEL")


def row_ids_of(rows: pa.Table, column: str, wanted: pa.Array | pa.ChunkedArray) -> Rows64:
    """The `_rowid` of each wanted id of a column; -1 where it has none."""
    return np.append(lance_rows(rows), -1)[places_of(wanted, rows[column])]


def lance_rows(rows: pa.Table) -> Rows64:
    """The `_rowid` of each row."""
    return np.asarray(rows["_rowid"].to_numpy()).astype(np.int64)


def _ids(rows: pa.Table) -> VectorIds:
    return raw(rows[ID].combine_chunks()).copy()


def to_rows(ids: VectorIds, vectors: Vectors) -> pa.RecordBatch:
    """Rows of a table of vectors by the hash of their text."""
    flat = np.ascontiguousarray(vectors, dtype="<f4")
    column = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), flat.shape[1])
    return pa.RecordBatch.from_pydict({ID: fixed(ids), VECTOR: column})


_ROWS_A_BLOCK: Final = 16_384
_LEAST_STAYING: Final = 0.75
"""A table of which a smaller share stays is written again: layers of releases are merged at the same share."""
_STORED: Final = pa.schema([("", pa.binary(16)), ("id", pa.string()), ("row", pa.int64())])
_NOTHING: Final = pa.Table.from_batches([], _STORED)  # arrays of no rows would import pandas
_NO_TEXT: Final = vector_ids([""])[0]
_Block = tuple[Rows, npt.NDArray[np.floating[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedRows:
    """Rows of a kind, their first column the id, and the hashes of their embedded texts."""

    kind: str
    rows: pa.Table
    texts: VectorIds
    wanted: pa.Array | None = None
    """Ids of all rows of the release that have a vector, where the given rows are those of one layer."""
    projections: npt.NDArray[np.float16] | None = None
    """Of each row with a text, zeros of others; where there are some, the store has no vectors."""

    @property
    def id(self) -> str:
        """Name of the first column."""
        return str(self.rows.column_names[0])

    @property
    def ids(self) -> pa.ChunkedArray:
        """The first column."""
        return self.rows.column(0)

    @property
    def name(self) -> str:
        """Name of the table in Lance."""
        return f"{PUBLISHED if self.projections is None else PROJECTED}{self.kind}"

    def blocks(self, store: VectorStore, at: Rows64) -> Iterator[_Block]:
        """What Lance has as vectors of some rows, with their numbers among these; rows without one are left out."""
        if self.projections is None:
            yield from store.blocks(self.texts[at], _ROWS_A_BLOCK)
            return
        numbers = np.flatnonzero(self.texts[at] != _NO_TEXT)
        for block in (numbers[start : start + _ROWS_A_BLOCK] for start in range(0, len(numbers), _ROWS_A_BLOCK)):
            yield block.astype(np.int32), self.projections[at[block]]

    def equal(self, at: Rows64, held: pa.Table) -> Flags:
        """Whether given rows are as they are held."""
        now = self.rows.append_column(ID, fixed(self.texts)).take(pa.array(at))
        other: Flags = np.logical_or.reduce([differs(held[name], now[name]) for name in now.column_names])
        return ~other


def differs(before: pa.ChunkedArray, after: pa.ChunkedArray) -> Flags:
    """Where two columns have different values; null equals null."""
    is_other = pc.fill_null(pc.not_equal(before, after), pa.scalar(False))  # noqa: FBT003  a value
    flags: Flags = np.asarray(pc.or_(is_other, pc.xor(before.is_null(), after.is_null())))
    return flags


def show(store: VectorStore, given: ReleasedRows, release: str, *, is_erased: bool = False) -> Rows64:
    """Make the table of a kind have the rows of a release; the row in it of each given one, -1 without a vector.

    Given are the rows of the release, or of its newest layer: then the table has those of the release before, or there
    is a StoreError. `is_erased`: of rows that are hidden nothing may stay in any file.
    """
    with store.tables.together():
        if given.projections is not None and given.kind in store.tables.sealed():
            store.tables.drop(given.kind)  # versions before 0.3 kept sparse vectors too
        return _shown(store, given, release, is_erased=is_erased)


def _shown(store: VectorStore, given: ReleasedRows, release: str, *, is_erased: bool) -> Rows64:
    name, tables = store.shown(given.kind), store.tables
    before = tables.ids(name, [ID, given.id]) if name else _NOTHING.rename_columns([ID, given.id, "_rowid"])
    is_done = name is not None and tables.sealed()[name].release == release
    stays, is_new = _stays(store, given, name, before, is_done=is_done), False
    if name and given.wanted is None and not is_done:
        is_new = len(tables.sealed()[name].files) > MOST_FILES or stays.sum() < _LEAST_STAYING * len(stays)
        stays &= not is_new
    known = before.select([given.id, ID, "_rowid"]).filter(pa.array(stays))
    gone = before.select([ID, "_rowid"]).filter(pa.array(~stays))
    at = places_of(given.ids, known[given.id])
    new = np.flatnonzero(at < 0)
    shown = 0 if given.wanted is None else np.count_nonzero(pc.is_in(given.ids.take(pa.array(new)), given.wanted))
    if given.wanted is not None and len(known) + shown < len(given.wanted):
        raise StoreError(f"{store.fingerprint}: rows of the layers of {given.kind} are not in the store")
    blocks = given.blocks(store, new)
    first = next(blocks, None)
    if name is None:
        if first is None:
            return np.full(len(given.rows), -1, np.int64)
        name = given.name
    kept = _kept(store, name, gone, [raw(known[ID].combine_chunks()), given.texts[new]])
    written = [np.zeros(0, np.int64)]
    batches = None if first is None else _batches(given, new, chain([first], blocks), written)
    tables.show(name, batches, lance_rows(gone), release, is_new=is_new)
    if name.startswith(PUBLISHED):
        _move(store, given.kind, given.texts[new], kept)
    if name not in tables.sealed():
        return np.full(len(given.rows), -1, np.int64)
    if is_erased:
        tables.leave_out(name, lambda rows: np.ones(len(rows), np.bool_))
        return row_ids_of(tables.ids(name, [given.id]), given.id, given.ids)
    found: Rows64 = np.append(lance_rows(known), -1)[at]
    found[np.concatenate(written)] = tables.ids(name, [given.id], len(known))["_rowid"].to_numpy()
    return found


def _stays(store: VectorStore, given: ReleasedRows, name: str | None, before: pa.Table, *, is_done: bool) -> Flags:
    """Which rows that the table has stay shown; rows of a release that is built again are compared no more."""
    at = places_of(before[given.id], given.ids)
    stays = at >= 0 if given.wanted is None else np.array(pc.is_in(before[given.id], given.wanted))
    both = np.flatnonzero(stays & (at >= 0))
    if name and len(both) and not is_done:
        row_ids = lance_rows(before)[both]
        order = np.argsort(row_ids)
        held = store.tables.rows(name, row_ids[order], [ID, *given.rows.column_names])
        stays[both[order]] = given.equal(at[both[order]], held)
    return stays


def _batches(
    given: ReleasedRows, new: Rows64, blocks: Iterator[_Block], written: list[Rows64]
) -> Iterator[pa.RecordBatch]:
    """Rows with their vectors; rows without a vector are left out of `written` too."""
    for numbers, vectors in blocks:
        at, matrix = new[numbers], np.asarray(vectors)
        written.append(at)
        rows = given.rows.take(pa.array(at)).append_column(ID, fixed(given.texts[at]))
        column = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), matrix.shape[1])
        yield from rows.append_column(VECTOR, column).combine_chunks().to_batches()


def _kept(
    store: VectorStore, name: str, gone: pa.Table, others: Sequence[VectorIds]
) -> Iterator[tuple[VectorIds, Vectors]]:
    """Vectors of texts that only hidden rows have: they are kept by the hash of the text, as it is embedded once."""
    kind, (ids, first) = name.removeprefix(PUBLISHED), np.unique(raw(gone[ID].combine_chunks()), return_index=True)
    if kind == name or not len(ids):
        return iter(())
    if kind in store.tables.sealed():
        others = [*others, raw(store.tables.ids(kind)[ID].combine_chunks())]
    own = fixed(ids)
    is_lost = ~among(own, np.concatenate([each[among(fixed(each), ids)] for each in others]))
    row_ids, take = lance_rows(gone)[first[is_lost]], store.taker(name)
    starts = range(0, len(row_ids), _ROWS_A_BLOCK)
    return ((ids[is_lost][at : at + _ROWS_A_BLOCK], take(row_ids[at : at + _ROWS_A_BLOCK])) for at in starts)


def _move(store: VectorStore, kind: str, shown: VectorIds, kept: Iterator[tuple[VectorIds, Vectors]]) -> None:
    """By their hash no vectors are held of texts that a row of the table has now, and those of others are."""
    batches = (to_rows(ids, vectors) for ids, vectors in kept)
    if kind in store.tables.sealed():
        store.tables.leave_out(kind, lambda held: ~among(held[ID], shown), batches)
    elif (first := next(batches, None)) is not None:
        store.tables.show(kind, chain([first], batches))
