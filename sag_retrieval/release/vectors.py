"""The vectors of a table: written in blocks, memory-mapped, scored against a query."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array
from scipy.sparse._sparsetools import csc_matvec

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.types import Flags, Floats32, Rows
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.bundle import FilePlace
from sag_retrieval.release.csr import (
    RemappedArray,
    Starts,
    map_array,
    merge_runs,
    narrow,
    new_array,
    save_array,
    write_run,
)
from sag_retrieval.release.lance_mmap import PLACED, PlacedRows, open_placed
from sag_retrieval.release.layer_precedence import Joined
from sag_retrieval.release.topk import INDEXED_ROWS, BinaryIndex, read_binary_index, top_k, write_binary_index

Block = tuple[npt.ArrayLike, Vectors]
"""Row numbers, ascending and unique, and their vectors."""

CheckRows = Callable[[Rows | None], None]
"""Raises ReleaseError if some rows, or any with None, are not as they were published."""

DENSE: Final = ".dense.npy"
SPARSE: Final = ".starts.npy"
"""Endings after the table's name that show whether vectors are dense or sparse."""
_FEW_ROWS: Final = 256
_SCANNED: Final = 0.2
"""Where the binary index would select more than this share of the allowed rows, scanning all is as fast."""
SCORED_ROWS: Final = 131_072


def _trust(rows: Rows | None) -> None:
    """Vectors that were just written need no check."""


class VectorSet(Protocol):
    """Vectors of a table by row number; a row without one scores 0 and is never among the best."""

    @property
    def row_count(self) -> int:
        """Rows of the table, with or without a vector."""
        ...

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        ...

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        ...

    def likeness(self, query: Vectors) -> Floats32 | None:
        """A number of each row that grows with its cosine, for choosing rows; None where all are scored as fast."""
        ...

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows with a cosine above 0, best first, ties by row, and their cosines."""
        ...

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DenseVectors:
    """Rows of float32 in memory maps; in large tables a binary index selects rows and exact cosines rank them."""

    matrix: Floats32 | PlacedRows
    signs: BinaryIndex | None = None
    check: CheckRows = _trust
    scored_rows: int = SCORED_ROWS
    """Up to this number of rows all are scored as fast as a choice of them."""

    @property
    def row_count(self) -> int:
        """Rows of the table."""
        return int(self.matrix.shape[0])

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self.matrix.shape[1])

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        self.check(rows)
        if rows is None and isinstance(self.matrix, PlacedRows):
            return self.matrix.products(as_query(query))
        chosen = self.matrix[:] if rows is None else self.matrix[rows]
        return np.asarray(np.vecdot(chosen, as_query(query)), np.float32)  # twice as fast as `@` on a thin product

    def likeness(self, query: Vectors) -> Floats32 | None:
        """A number of each row that grows with its cosine: how far the signs agree."""
        is_read = self.signs is None or self.row_count <= self.scored_rows
        return None if is_read or self.signs is None else self.signs.likeness(as_query(query))

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows: of the binary index's candidates where many are allowed, else of all."""
        rows = self._candidates(as_query(query), k, allowed)
        if rows is None and allowed is not None:
            rows = np.flatnonzero(allowed).astype(np.int32)
        return top_k(self.scores(query, rows), k, rows)

    def _candidates(self, query: Floats32, k: int, allowed: Flags | None) -> Rows | None:
        """Rows that the binary index selects, ascending; None where these would be too many."""
        if self.signs is None:
            return None
        permitted = self.row_count if allowed is None else int(np.count_nonzero(allowed))
        reach = self.signs.oversampling_for(k)
        return self.signs.candidates(query, reach, allowed) if reach <= _SCANNED * permitted else None

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        self.check(rows)
        return np.asarray(self.matrix[rows])


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Vectors stored by dimension, so that a query reads only its own dimensions."""

    starts: Starts
    rows: Rows
    values: Floats32
    row_count: int

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return len(self.starts) - 1

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        weights = as_query(query)
        total = np.zeros(self.row_count, np.float32)
        for column in np.flatnonzero(weights):
            inside = slice(self.starts[column], self.starts[column + 1])
            ends = np.array([0, inside.stop - inside.start], np.int32)
            # what `@` calls: for `@` itself the columns would be copied to one array, which takes twice as long again
            csc_matvec(self.row_count, 1, ends, self.rows[inside], self.values[inside], weights[column:][:1], total)
        return total if rows is None else total[rows]

    def likeness(self, query: Vectors) -> Floats32 | None:
        """None: all rows are scored in one pass over the columns of the query."""
        del query
        return None

    @cached_property
    def _by_dimension(self) -> csr_array:
        """Dimensions × rows; small offsets keep the entries where they are mapped."""
        return csr_array((self.values, self.rows, narrow(self.starts)), shape=(self.dimension, self.row_count))

    def shown(self, joined: Joined) -> "SparseVectors":
        """Those of the rows that are shown, of this layer alone."""
        row = joined.place[self.rows]
        kept = np.flatnonzero(row >= 0)
        starts = np.searchsorted(kept, self.starts).astype(np.int64)
        return SparseVectors(starts, row[kept].astype(np.int32), self.values[kept], len(joined))

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows."""
        scores = self.scores(query)
        return top_k(scores if allowed is None else np.where(allowed, scores, 0), k)

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows: a few are looked up, many are read in one pass over everything."""
        if len(rows) > _FEW_ROWS:
            return csr_array(csc_array(self._by_dimension.T)[rows, :])
        wanted, back = np.unique(_counted(rows, self.row_count), return_inverse=True)
        found = np.zeros((len(wanted), self.dimension), np.float32)
        for column in range(self.dimension):
            inside = self.rows[self.starts[column] : self.starts[column + 1]]
            places = np.searchsorted(inside, wanted)
            if not len(inside):
                continue
            hit = np.flatnonzero(np.take(inside, places, mode="clip") == wanted)
            found[hit, column] = self.values[self.starts[column] + places[hit]]
        return csr_array(found[back])


def _counted(rows: Rows, count: int) -> Rows:
    """Row numbers from 0 on: negative ones count from the end, as in an array.

    Raises:
        IndexError: If one is of no row.

    """
    if len(rows) and not -count <= int(rows.min()) <= int(rows.max()) < count:
        raise IndexError(f"rows {rows.min()} to {rows.max()} of a table of {count}")
    return np.where(rows < 0, rows + count, rows)


def save_sparse(folder: Path, name: str, vectors: SparseVectors) -> None:
    """Write `<name>.{starts,rows,values}.npy`: the entries of every dimension, by row."""
    save_array(folder / f"{name}.starts", np.append(vectors.starts, vectors.row_count))
    save_array(folder / f"{name}.rows", vectors.rows)
    save_array(folder / f"{name}.values", vectors.values)


def write_vectors(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write a table's vectors block by block: the first block decides whether they are dense or sparse.

    Sparse blocks come in ascending row order; rows that no block names get no vector. Memory: one block at a time.

    Raises:
        ReleaseError: If a block has another number of columns than `shape`.

    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = iter(blocks)
    first = next(stream, None)
    if first is None or isinstance(first[1], csr_array):
        write_sparse(folder, name, [] if first is None else chain([first], stream), shape)
    else:
        write_dense(folder, name, chain([first], stream), shape)


def write_dense(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write `<name>.dense.npy`: one row per row of the table, zeros where there is no vector; index large ones."""
    path = folder / f"{name}.dense.npy"
    new_array(path, np.float32, shape)
    for rows, vectors in blocks:
        _check_width(name, vectors, shape)
        matrix = np.lib.format.open_memmap(path, "r+")  # again, or what was written would count as memory in use
        matrix[np.asarray(rows, np.int64)] = vectors
    if shape[0] > INDEXED_ROWS:
        write_binary_index(folder, name, RemappedArray(path.with_suffix("")))


def write_sparse(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write `<name>.{starts,rows,values}.npy`: the entries of every dimension, by row."""
    with TemporaryDirectory(dir=folder) as scratch:
        parts = []
        for number, (rows, vectors) in enumerate(blocks):
            _check_width(name, vectors, shape)
            parts.append(write_run(Path(scratch) / str(number), np.asarray(rows, np.int32), csc_array(vectors)))
        counts = sum((np.diff(part.starts) for part in parts), np.zeros(shape[1], np.int64))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        save_array(folder / f"{name}.starts", np.append(starts, shape[0]))
        merge_runs(folder / f"{name}.rows", np.int32, starts, [(part.starts, part.rows) for part in parts])
        merge_runs(folder / f"{name}.values", np.float32, starts, [(part.starts, part.values) for part in parts])


def _check_width(name: str, vectors: Vectors, shape: tuple[int, int]) -> None:
    if vectors.shape[1] != shape[1]:
        raise ReleaseError(
            f"vectors of {name!r} have {vectors.shape[1]} columns, not {shape[1]}: those kept are damaged"
        )


def open_vectors(folder: Path, release: Path | None = None) -> dict[str, VectorSet]:
    """The vectors found in a folder, by table name; `release`: whose layer it is, if not the folder's own."""

    def mapped(folder: Path, name: str) -> DenseVectors:
        return open_mapped(open_placed(folder, name, release), read_binary_index(folder, name))

    ways: dict[str, Callable[[Path, str], VectorSet]] = {PLACED: mapped, DENSE: open_dense, SPARSE: open_sparse}
    return {
        path.name.removesuffix(ending): opened(folder, path.name.removesuffix(ending))
        for ending, opened in ways.items()
        for path in sorted(folder.glob(f"*{ending}"))
    }


def open_mapped(placed: PlacedRows, signs: BinaryIndex | None, check: CheckRows = _trust) -> DenseVectors:
    """The dense vectors of a table that lie in the Lance files of a release; a small table is read into memory."""
    if len(placed) > INDEXED_ROWS:
        return DenseVectors(placed, signs, check)
    check(np.arange(len(placed), dtype=np.int32))
    return DenseVectors(placed[:], signs)


def open_dense(folder: FilePlace, name: str, check: CheckRows = _trust) -> DenseVectors:
    """The dense vectors of a table; `check` is called with the rows that are about to be read.

    Raises:
        ReleaseError: If a file is missing or damaged.

    """
    return DenseVectors(map_array(folder / f"{name}.dense"), read_binary_index(folder, name), check)


def open_sparse(folder: FilePlace, name: str) -> SparseVectors:
    """The sparse vectors of a table.

    Raises:
        ReleaseError: If a file is missing or damaged.

    """
    starts, rows, values = (map_array(folder / f"{name}.{kind}") for kind in ("starts", "rows", "values"))
    return SparseVectors(np.array(starts[:-1]), rows, values, int(starts[-1]))


def as_query(query: Vectors) -> Floats32:
    """One query vector as floats in one row."""
    flat = query.toarray() if isinstance(query, csr_array) else np.asarray(query)
    return np.ascontiguousarray(flat.reshape(-1), np.float32)
