"""The Lance table of a kind that has the rows of the newest release, each once, with its vector.

Releases link its files, as they are when they are made. Rows that leave a release are hidden, new ones are appended, in
one step; the vectors of texts that no row has any more stay, by the hash of their text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.lance_tables import ID
from sag_pipeline.store.vectors import (
    MOST_FILES,
    PROJECTED,
    PUBLISHED,
    VectorIds,
    VectorStore,
    among,
    fixed,
    lance_rows,
    raw,
    row_ids_of,
    to_rows,
    vector_ids,
)
from sag_retrieval.core.errors import StoreError
from sag_retrieval.core.types import Flags, Rows, Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import places_of
from sag_retrieval.release.vectors import VECTOR

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
        same = np.ones(len(at), np.bool_)
        for name in now.column_names:
            is_same = pc.fill_null(pc.equal(held[name], now[name]), False)  # noqa: FBT003  a value
            same &= np.asarray(is_same) | (np.asarray(held[name].is_null()) & np.asarray(now[name].is_null()))
        return same


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
