"""The vectors of one table: written in blocks, opened in place, scored against a query."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array

from sag_retrieval.errors import ReleaseError
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.highest import best
from sag_retrieval.release.mapped import Starts, join, map_array, narrow, save_array
from sag_retrieval.release.spill import merge, spill

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Block = tuple[npt.ArrayLike, Vectors]
"""Row numbers, ascending and unique, and their vectors."""
Nearest = Callable[[Floats, int], Rows]
"""An index's approximate nearest rows of a query vector, at most as many as asked for."""

EXACT_ROWS: Final = 200_000
"""Up to here a table is scanned exactly: 100,000 rows of 384 columns cost 5 ms, an index 2 to 18."""
_FEW_ROWS: Final = 256


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

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats:
        """Cosines with one query vector, of all rows or of the given ones."""
        ...

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats]:
        """The k best allowed rows with a cosine above 0, best first, ties by row, and their cosines."""
        ...

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DenseVectors:
    """Rows of float32 in a memory map; above `EXACT_ROWS` an index proposes and the exact cosine decides."""

    matrix: Floats
    nearest: Nearest | None = None

    @property
    def row_count(self) -> int:
        """Rows of the table."""
        return int(self.matrix.shape[0])

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self.matrix.shape[1])

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats:
        """Cosines with one query vector, of all rows or of the given ones."""
        chosen = self.matrix if rows is None else self.matrix[rows]
        return np.asarray(np.vecdot(chosen, _dense(query)), np.float32)  # twice as fast as `@` on a thin product

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats]:
        """The k best allowed rows: by the index where it finds k of them, else by an exact scan."""
        if self.nearest is not None and self.row_count > EXACT_ROWS:
            found = self._propose(_dense(query), k, allowed)
            if found is not None:
                return best(self.scores(query, found), k, found)
        if allowed is None:
            return best(self.scores(query), k)
        rows = np.flatnonzero(allowed).astype(np.int32)
        return best(self.scores(query, rows), k, rows)

    def _propose(self, query: Floats, k: int, allowed: Flags | None) -> Rows | None:
        """Sorted candidate rows, or None where the restriction leaves too few for an index to be of use."""
        assert self.nearest is not None
        share = 1.0 if allowed is None else float(np.count_nonzero(allowed)) / max(1, self.row_count)
        if share < 0.1:  # noqa: PLR2004  an exact scan of a tenth is as fast as a tenfold larger request
            return None
        found = np.unique(self.nearest(query, int(np.ceil(1.5 * k / share))))
        chosen = found if allowed is None else found[allowed[found]]
        return chosen if len(chosen) >= k else None

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        return np.asarray(self.matrix[rows])


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Vectors stored by dimension, so that a query reads only its own dimensions."""

    starts: Starts
    rows: Rows
    values: Floats
    row_count: int

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return len(self.starts) - 1

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats:
        """Cosines with one query vector, of all rows or of the given ones."""
        weights = _dense(query)
        used = np.flatnonzero(weights)
        first, last = self.starts[used], self.starts[used + 1]
        inside = [slice(*ends) for ends in zip(first.tolist(), last.tolist(), strict=True)]
        values, rows_of = (join((column[each] for each in inside), column.dtype) for column in (self.values, self.rows))
        starts = narrow(np.append(0, np.cumsum(last - first)))
        read = csc_array((values, rows_of, starts), shape=(self.row_count, len(used)))
        total: Floats = read @ weights[used]
        return total if rows is None else total[rows]

    @cached_property
    def _by_dimension(self) -> csr_array:
        """Dimensions × rows; small offsets keep the entries where they are mapped."""
        return csr_array((self.values, self.rows, narrow(self.starts)), shape=(self.dimension, self.row_count))

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats]:
        """The k best allowed rows."""
        scores = self.scores(query)
        return best(scores if allowed is None else np.where(allowed, scores, 0), k)

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows: a few are looked up, many are read in one pass over everything."""
        if len(rows) > _FEW_ROWS:
            return csr_array(csc_array(self._by_dimension.T)[rows, :])
        wanted, back = np.unique(rows, return_inverse=True)
        found = np.zeros((len(wanted), self.dimension), np.float32)
        for column in range(self.dimension):
            inside = self.rows[self.starts[column] : self.starts[column + 1]]
            places = np.searchsorted(inside, wanted)
            if not len(inside):
                continue
            hit = np.flatnonzero(np.take(inside, places, mode="clip") == wanted)
            found[hit, column] = self.values[self.starts[column] + places[hit]]
        return csr_array(found[back])


def write_vectors(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write a table's vectors block by block: the first block says whether they are dense or sparse.

    Sparse blocks come in ascending row order; rows that no block names get no vector. Memory: one block at a time.

    Raises:
        ReleaseError: If a block has another number of columns than `shape` says.

    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = iter(blocks)
    first = next(stream, None)
    if first is None or isinstance(first[1], csr_array):
        write_sparse(folder, name, [] if first is None else chain([first], stream), shape)
    else:
        write_dense(folder, name, chain([first], stream), shape)


def write_dense(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write `<name>.dense.npy`: one row a row of the table, zeros where there is no vector."""
    path = folder / f"{name}.dense.npy"
    np.lib.format.open_memmap(path, "w+", np.float32, shape)
    for rows, vectors in blocks:
        _check_width(name, vectors, shape)
        matrix = np.lib.format.open_memmap(path, "r+")  # anew, or what was written would count as memory in use
        matrix[np.asarray(rows, np.int64)] = vectors


def write_sparse(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write `<name>.{starts,rows,values}.npy`: the entries of every dimension, by row."""
    with TemporaryDirectory(dir=folder) as scratch:
        parts = []
        for number, (rows, vectors) in enumerate(blocks):
            _check_width(name, vectors, shape)
            parts.append(spill(Path(scratch) / str(number), np.asarray(rows, np.int32), csc_array(vectors)))
        counts = sum((np.diff(part.starts) for part in parts), np.zeros(shape[1], np.int64))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        save_array(folder / f"{name}.starts", np.append(starts, shape[0]))
        merge(folder / f"{name}.rows", np.int32, starts, [(part.starts, part.rows) for part in parts])
        merge(folder / f"{name}.values", np.float32, starts, [(part.starts, part.values) for part in parts])


def _check_width(name: str, vectors: Vectors, shape: tuple[int, int]) -> None:
    if vectors.shape[1] != shape[1]:
        raise ReleaseError(f"vectors of {name!r} have {vectors.shape[1]} columns, not {shape[1]}; run `sag ingest`")


def open_vectors(folder: Path, nearest: Mapping[str, Nearest] | None = None) -> dict[str, VectorSet]:
    """The vectors found in a folder, by table name; `nearest` are indexes of the large dense ones."""
    opened: dict[str, VectorSet] = {}
    for path in sorted(folder.glob("*.dense.npy")):
        name = path.name.removesuffix(".dense.npy")
        opened[name] = DenseVectors(map_array(path.with_suffix("")), (nearest or {}).get(name))
    for path in sorted(folder.glob("*.starts.npy")):
        name = path.name.removesuffix(".starts.npy")
        starts = np.load(path)
        rows, values = (map_array(folder / f"{name}.{kind}") for kind in ("rows", "values"))
        opened[name] = SparseVectors(starts[:-1], rows, values, int(starts[-1]))
    return opened


def _dense(query: Vectors) -> Floats:
    flat = query.toarray() if isinstance(query, csr_array) else np.asarray(query)
    return np.ascontiguousarray(flat.reshape(-1), np.float32)
