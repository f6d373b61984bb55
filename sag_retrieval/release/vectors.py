"""The vectors of a table: written in blocks, memory-mapped, scored against a query.

Vectors that lie in Lance files are mapped where they are and read by row, without Lance. Those of releases larger than
memory may be searched by Lance, with its index where there is one.
"""

import contextvars
import json
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array
from scipy.sparse._sparsetools import csc_matvec

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Flags, Floats32, Rows, Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.mapped_arrays import (
    FilePlace,
    RemappedArray,
    Starts,
    ends_of,
    map_array,
    narrow,
    new_array,
    save_array,
)
from sag_retrieval.release.schema import LANCE
from sag_retrieval.release.topk import INDEXED_ROWS, BinaryIndex, read_binary_index, top_k, write_binary_index

DIMENSION: Final = 512
_AT_ONCE: Final = 16_384


@cache
def _folding(dimension: int) -> csr_array:
    """The same matrix for ever: `RandomState` promises its numbers to all versions of NumPy."""
    random = np.random.RandomState(0)
    signs = (random.randint(0, 2, dimension) * 2 - 1).astype(np.float32)
    columns = random.permutation(dimension) % DIMENSION
    return csr_array((signs, columns, np.arange(dimension + 1)), shape=(dimension, DIMENSION))


def projected(vectors: Vectors) -> npt.NDArray[np.float16]:
    """Rows of length 1, or zeros, of 512 columns."""
    rows, found = csr_array(vectors), [np.zeros((0, DIMENSION), np.float16)]
    for at in range(0, rows.shape[0], _AT_ONCE):
        short: Floats32 = (rows[at : at + _AT_ONCE] @ _folding(rows.shape[1])).toarray()
        found.append((short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-9)).astype(np.float16))
    return np.concatenate(found)


PLACED: Final = ".lance_rows.npy"
"""Ending after the table's name: for each row the id of its row in Lance, -1 for none."""
_FLOAT: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Rows of Lance that lie one after another in a file; sorted by the id of their first row."""

    first: Rows64
    file: Rows64
    """Number of the file in `names`."""
    start: Rows64
    """Byte of the first row."""
    count: Rows64
    names: Sequence[str]
    """Below the folder of the Lance table."""
    dimension: int
    table: str = ""
    """The table of the home that the files belong to."""
    moved: Rows64 = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    """Rows that were written again: the first id that they had, sorted, the first that they have, and how many."""

    def now(self, row_ids: Rows64) -> Rows64:
        """The ids that rows have, of ids that they have or had."""
        if not len(self.moved):
            return row_ids
        had, have, count = self.moved.T
        at = np.searchsorted(had, row_ids, side="right") - 1
        behind = row_ids - had[at]
        return np.where((at >= 0) & (behind < count[at]), have[at] + behind, row_ids)


def write_placed(folder: Path, name: str, row_ids: Rows64) -> None:
    """Write which row of Lance each row has."""
    folder.mkdir(parents=True, exist_ok=True)
    save_array(folder / f"{name}.lance_rows", row_ids.astype(np.int64))


def write_runs(
    folder: Path,
    name: str,
    runs: Sequence[tuple[int, str, int, int]],
    dimension: int,
    table: str = "",
    moved: Sequence[tuple[int, int, int]] = (),
) -> None:
    """Write where the rows of a Lance table lie, its name in the home, and the ids that rows had; see `Runs`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.runs.json").unlink(missing_ok=True)
    told = {"dimension": dimension, "table": table, "runs": runs, "moved": moved}
    (folder / f"{name}.runs.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


def runs_of(
    runs: Sequence[Sequence[Any]], dimension: int, table: str = "", moved: Sequence[tuple[int, int, int]] = ()
) -> Runs:
    """Where rows lie, of lists as `write_runs` writes them."""
    listed = sorted((int(first), str(file), int(at), int(n)) for first, file, at, n in runs)
    names = sorted({file for _, file, _, _ in listed})
    numbers = np.array([(first, names.index(file), at, n) for first, file, at, n in listed], np.int64)
    first, file, start, count = numbers.reshape(-1, 4).T
    return Runs(first, file, start, count, names, dimension, table, np.array(sorted(moved), np.int64).reshape(-1, 3))


def read_runs(folder: Path, name: str) -> Runs:
    """Where the rows of a Lance table lie."""
    path = folder / f"{name}.runs.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return runs_of(told["runs"], int(told["dimension"]), str(told["table"]), told["moved"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error


class PlacedRows:
    """Rows of float32 in the files of a Lance table, as an array of shape (rows, dimension)."""

    def __init__(self, table: Path, row_ids: Rows64, runs: Runs) -> None:
        self.row_ids, self.runs, self.table = row_ids, runs, table
        self.shape = (len(row_ids), runs.dimension)
        self._files = [_floats(table / name) for name in runs.names]
        ends = runs.start + runs.count * runs.dimension * _FLOAT
        lengths = np.array([len(each) * _FLOAT for each in self._files], np.int64)[runs.file]
        if not len(ends) or (ends > lengths).any() or (runs.start < 0).any() or (runs.start % _FLOAT).any():
            raise ReleaseError(f"{table} is damaged: vectors lie beyond the ends of its files; {MEND}")
        self._before = np.cumsum(np.append(0, runs.count))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Floats32:  # noqa: ANN401  whatever an array takes
        """The rows of a slice or of row numbers; zeros where there is no vector."""
        number, at = self._places(rows)
        found = np.zeros((len(number), self.shape[1]), np.float32)
        for file, floats in enumerate(self._files):
            chosen = np.flatnonzero(number == file)
            if len(chosen) == len(number):
                return np.asarray(_windows(floats, self.shape[1])[at // _FLOAT])
            if len(chosen):
                found[chosen] = _windows(floats, self.shape[1])[at[chosen] // _FLOAT]
        return found

    def products(self, query: Floats32) -> Floats32:
        """The product of every row with a query, run by run: nothing is copied."""
        scores = [np.zeros(1, np.float32)]
        width = self.shape[1]
        for file, start, count in zip(self.runs.file, self.runs.start, self.runs.count, strict=True):
            first = start // _FLOAT
            scores.append(np.vecdot(self._files[file][first : first + count * width].reshape(count, width), query))
        run, behind = self._run_of(np.asarray(self.row_ids))
        return np.asarray(np.concatenate(scores)[np.where(run < 0, 0, 1 + self._before[run] + behind)], np.float32)

    def bytes_of(self, rows: Any) -> Iterator[tuple[str, Rows64]]:  # noqa: ANN401
        """Files that hold some rows, below the folder of the table, and the byte each row starts at."""
        number, at = self._places(rows)
        for file, name in enumerate(self.runs.names):
            chosen = at[number == file]
            if len(chosen):
                yield name, chosen

    def fault(self) -> str:
        """Why a row id cannot be read; empty if all can."""
        given = np.asarray(self.row_ids)
        run, _ = self._run_of(given)
        wrong = given[(run < 0) & (given != -1)]
        return f"row {wrong[0]} lies nowhere" if len(wrong) else ""

    def _places(self, rows: Any) -> tuple[Rows64, Rows64]:  # noqa: ANN401
        """Number of the file of each row, -1 for none, and the byte it starts at."""
        run, behind = self._run_of(np.asarray(self.row_ids[rows]))
        at = self.runs.start[run] + behind * self.shape[1] * _FLOAT
        return np.where(run < 0, -1, self.runs.file[run]), at

    def _run_of(self, row_ids: Rows64) -> tuple[Rows64, Rows64]:
        run = np.searchsorted(self.runs.first, row_ids, side="right") - 1
        behind = row_ids - self.runs.first[run]
        return np.where((run >= 0) & (behind < self.runs.count[run]), run, -1), behind


def open_placed(folder: FilePlace, name: str, release: Path | None = None) -> PlacedRows:
    """The vectors of a table; `folder` is `arrays/vectors` of a release, or of a layer of `release`."""
    release = release or Path(str(folder)).parent.parent
    runs = read_runs(release / "arrays" / "vectors", name)
    return PlacedRows(release / LANCE / f"{name}.lance", runs.now(map_array(folder / f"{name}.lance_rows")), runs)


def _floats(path: Path) -> Floats32:
    try:
        return np.memmap(path, np.float32, "r", shape=(path.stat().st_size // _FLOAT,))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error


def _windows(floats: Floats32, width: int) -> npt.NDArray[np.float32]:
    """Every `width` consecutive floats as a row, so that rows at any place are read by one index."""
    return np.lib.stride_tricks.as_strided(floats, (len(floats) - width + 1, width), (_FLOAT, _FLOAT), writeable=False)


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
_SCORED_ROWS: Final = 131_072


def _trust(rows: Rows | None) -> None:
    """Vectors that were just written need no check."""


class VectorSet:
    """Vectors of a table by row number; a row without one scores 0 and is never among the best."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows of the table, with or without a vector, and columns of a vector."""

    @abstractmethod
    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""

    @abstractmethod
    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""

    def likeness(self, query: Vectors) -> Floats32 | None:
        """A number of each row that grows with its cosine, for choosing rows; None where all are scored as fast."""
        del query
        return None

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows with a cosine above 0, best first, ties by row, and their cosines."""
        scores = self.scores(query)
        return top_k(scores if allowed is None else np.where(allowed, scores, np.float32(0)), k)

    @property
    def row_count(self) -> int:
        """Rows of the table, with or without a vector."""
        return self.shape[0]

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return self.shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class DenseVectors(VectorSet):
    """Rows of float32 in memory maps; in large tables a binary index selects rows and exact cosines rank them."""

    matrix: Floats32 | PlacedRows
    signs: BinaryIndex | None = None
    check: CheckRows = _trust
    scored_rows: int = _SCORED_ROWS
    """Up to this number of rows all are scored as fast as a choice of them."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.matrix), int(self.matrix.shape[1])

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        self.check(rows)
        if rows is None and isinstance(self.matrix, PlacedRows):
            return self.matrix.products(as_query(query))
        chosen = self.matrix[:] if rows is None else self.matrix[rows]
        return np.asarray(np.vecdot(chosen, as_query(query)), np.float32)  # twice as fast as `@` on a thin product

    def likeness(self, query: Vectors) -> Floats32 | None:
        """A number of each row that grows with its cosine: how far the signs agree."""
        if self.signs is None or self.row_count <= self.scored_rows:
            return None
        return self.signs.likeness(as_query(query))

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
class SparseVectors(VectorSet):
    """Vectors stored by dimension, so that a query reads only its own dimensions."""

    starts: Starts
    rows: Rows
    values: Floats32
    count: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.count, len(self.starts) - 1

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        weights = as_query(query)
        total = np.zeros(self.row_count, np.float32)
        columns, ends = np.flatnonzero(weights), np.zeros(2, np.int32)
        places = (each.tolist() for each in (columns, self.starts[columns], self.starts[columns + 1]))
        for column, first, last in zip(*places, strict=True):
            ends[1] = last - first
            own = self.rows[first:last].astype(np.int32, copy=False)
            # what `@` calls: for `@` itself the columns would be copied to one array, which takes twice as long again
            csc_matvec(self.row_count, 1, ends, own, self.values[first:last], weights[column : column + 1], total)
        return total if rows is None else total[rows]

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows: a few are looked up, many are read in one pass over everything."""
        if len(rows) > _FEW_ROWS:
            columns = self.values, self.rows.astype(np.int32, copy=False), narrow(self.starts)
            return csr_array(csc_array(columns, shape=self.shape)[rows, :])
        wanted, back = np.unique(np.arange(self.row_count)[rows], return_inverse=True)
        wanted = wanted.astype(self.rows.dtype)
        found = np.zeros((len(wanted), self.dimension), np.float32)
        for column in range(self.dimension):
            inside = self.rows[self.starts[column] : self.starts[column + 1]]
            places = np.searchsorted(inside, wanted)
            if not len(inside):
                continue
            hit = np.flatnonzero(np.take(inside, places, mode="clip") == wanted)
            found[hit, column] = self.values[self.starts[column] + places[hit]]
        return csr_array(found[back])


def _row_type(count: int) -> npt.DTypeLike:
    """Of row numbers of sparse vectors: a quarter of their bytes less where there are few rows."""
    return np.uint16 if count <= 1 << 16 else np.int32


def save_sparse(folder: Path, name: str, vectors: SparseVectors) -> None:
    """Write `<name>.{starts,rows,values}.npy`: the entries of every dimension, by row."""
    save_array(folder / f"{name}.starts", np.append(vectors.starts, vectors.row_count))
    save_array(folder / f"{name}.rows", vectors.rows.astype(_row_type(vectors.row_count)))
    save_array(folder / f"{name}.values", vectors.values)


def write_vectors(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write a table's vectors block by block: the first block decides whether they are dense or sparse.

    Sparse blocks come in ascending row order; rows that no block names get no vector. Memory: one block at a time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stream = iter(blocks)
    first = next(stream, None)
    if first is None or isinstance(first[1], csr_array):
        _write_sparse(folder, name, [] if first is None else chain([first], stream), shape)
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


def _write_sparse(folder: Path, name: str, blocks: Iterable[Block], shape: tuple[int, int]) -> None:
    """Write `<name>.{starts,rows,values}.npy`: the entries of every dimension, by row; blocks wait on disk."""
    with TemporaryDirectory(dir=folder) as scratch:
        ends = list[Starts]()
        for number, (rows, vectors) in enumerate(blocks):
            _check_width(name, vectors, shape)
            block = csc_array(vectors)
            block.sort_indices()
            ends.append(block.indptr.astype(np.int64))
            save_array(Path(scratch, f"{number}.rows"), np.asarray(rows, np.int32)[block.indices])
            save_array(Path(scratch, f"{number}.values"), block.data.astype(np.float32, copy=False))
        starts = ends_of(sum(map(np.diff, ends), np.zeros(shape[1], np.int64)))
        save_array(folder / f"{name}.starts", np.append(starts, shape[0]))
        for kind, dtype in (("rows", _row_type(shape[0])), ("values", np.float32)):
            parts = ((each, Path(scratch, f"{number}.{kind}")) for number, each in enumerate(ends))
            _merge(folder / f"{name}.{kind}", dtype, starts, parts)


def _merge(path: Path, dtype: npt.DTypeLike, starts: Starts, parts: Iterable[tuple[Starts, Path]]) -> None:
    """Concatenate the blocks' entries of each dimension; blocks come in ascending row order."""
    merged = new_array(path.with_name(f"{path.name}.npy"), dtype, (int(starts[-1]),))
    free = starts[:-1].copy()
    for first, run in parts:
        block, sizes = map_array(run), np.diff(first)
        for column in np.flatnonzero(sizes):
            merged[free[column] : free[column] + sizes[column]] = block[first[column] : first[column + 1]]
        free += sizes
    merged.flush()


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
    """The dense vectors of a table; `check` is called with the rows that are about to be read."""
    return DenseVectors(map_array(folder / f"{name}.dense"), read_binary_index(folder, name), check)


def open_sparse(folder: FilePlace, name: str) -> SparseVectors:
    """The sparse vectors of a table."""
    starts, rows, values = (map_array(folder / f"{name}.{kind}") for kind in ("starts", "rows", "values"))
    return SparseVectors(np.array(starts[:-1]), rows, values, int(starts[-1]))


def as_query(query: Vectors) -> Floats32:
    """One query vector as floats in one row."""
    flat = query.toarray() if isinstance(query, csr_array) else np.asarray(query)
    return np.ascontiguousarray(flat.reshape(-1), np.float32)


_CLIENT: Final = "lance_namespace_urllib3_client"
VECTOR: Final = "vector"
METRIC: Final = "dot"
_ASKED: Final = 2
"""Rows asked for, as a multiple of those wanted: the table also has vectors that this release does not use."""
_ASKED_MORE: Final = 8
_FEW_ALLOWED: Final = 0.05
"""If a smaller share of the rows is allowed, they are read and compared one by one."""
_SCORED_AT_ONCE: Final = 65_536


class _Deferred(ModuleType):
    """A package whose own code runs when one of its names is first asked for; its submodules are imported as ever."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  as a module's
        """Run the package, unless only what any module may have is asked for."""
        if (
            (name.startswith("__") and name not in {"__all__", "__version__"})
            or self.__spec__ is None
            or self.__spec__.loader is None
        ):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def _defer(package: str) -> None:
    spec = None if package in sys.modules else find_spec(package)
    if spec is not None and spec.loader is not None:
        made = _Deferred(package)
        made.__spec__, made.__loader__, made.__package__ = spec, spec.loader, package
        made.__path__, made.__file__ = list(spec.submodule_search_locations or []), spec.origin
        sys.modules[package] = made


def open_database(folder: Path) -> Any:  # noqa: ANN401  lancedb ships no types
    """The Lance tables of a folder.

    The package is imported here, as that takes a second which most commands need not spend; and in its own context,
    as the thread that it starts would otherwise hold the context of a Dagster step until the process ends. The client
    of its servers, which builds hundreds of validators for longer than all the rest takes, waits until it is used.
    """
    _defer(_CLIENT)
    lancedb = contextvars.Context().run(import_module, "lancedb")
    return lancedb.connect(folder)


@dataclass(frozen=True, eq=False)
class LanceVectors(VectorSet):
    """A Lance table of a release, and which of its rows each row of the release has; -1 for none."""

    folder: Path
    name: str
    row_ids: Rows64
    columns: int
    signs: BinaryIndex | None = None
    """For the likeness of all rows, of which Lance tells the nearest alone."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_ids), self.columns

    @cached_property
    def _table(self) -> Any:  # noqa: ANN401  lancedb ships no types
        try:
            return open_database(self.folder).open_table(self.name)
        except (RuntimeError, OSError, ValueError) as error:
            raise ReleaseError(f"{self.folder / self.name}.lance cannot be opened ({error}); {MEND}") from error

    @cached_property
    def _is_indexed(self) -> bool:
        return any(VECTOR in index.columns for index in self._table.list_indices())

    @cached_property
    def _by_row_id(self) -> tuple[Rows64, Rows]:
        """Row ids, sorted, and the row of the release that has each."""
        order = np.argsort(self.row_ids, kind="stable")
        return self.row_ids[order], order.astype(np.int32)

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        wanted = np.arange(self.row_count, dtype=np.int32) if rows is None else rows
        blocks = (wanted[at : at + _SCORED_AT_ONCE] for at in range(0, len(wanted), _SCORED_AT_ONCE))
        found = [np.vecdot(self.take(block), as_query(query)) for block in blocks]
        return np.asarray(np.concatenate([np.zeros(0, np.float32), *found]), np.float32)

    def likeness(self, query: Vectors) -> Floats32 | None:
        """A number of each row that grows with its cosine: how far the signs agree; None without signs."""
        return None if self.signs is None else self.signs.likeness(as_query(query))

    def take(self, rows: Rows) -> Floats32:
        """The vectors of some rows; zeros where there is none."""
        row_ids = self.row_ids[rows]
        wanted, back = np.unique(row_ids[row_ids >= 0], return_inverse=True)
        found = np.zeros((len(row_ids), self.dimension), np.float32)
        if len(wanted):
            read = self._table.take_row_ids(wanted.tolist()).select([VECTOR]).to_arrow()
            found[row_ids >= 0] = matrix_of(read[VECTOR].combine_chunks())[back]
        return found

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows with a cosine above 0, of those that Lance finds; asked again for more if needed."""
        if allowed is not None and np.count_nonzero(allowed) <= max(k, _FEW_ALLOWED * self.row_count):
            chosen = np.flatnonzero(allowed).astype(np.int32)
            return top_k(self.scores(query, chosen), k, chosen)
        wanted = max(1, _ASKED * k)
        while True:
            rows, scores, is_all = self._nearest(as_query(query), wanted, allowed)
            if is_all or np.count_nonzero(scores > 0) >= k:
                return top_k(scores, k, rows)
            wanted *= _ASKED_MORE

    def _nearest(self, query: Floats32, count: int, allowed: Flags | None) -> tuple[Rows, Floats32, bool]:
        """Allowed rows of the release among the nearest of Lance, ascending, and whether there can be no more."""
        search = self._table.search(query, vector_column_name=VECTOR).with_row_id(with_row_id=True).limit(count)
        search = search.distance_type(METRIC).select([VECTOR, "_distance"])  # or it warns
        found = (search.refine_factor(_REFINE) if self._is_indexed else search).to_arrow()
        vectors = matrix_of(found[VECTOR].combine_chunks())
        scores = np.asarray(np.vecdot(vectors, query), np.float32)
        known, rows_of = self._by_row_id
        row_ids = found["_rowid"].to_numpy().astype(np.int64)
        first, last = np.searchsorted(known, row_ids), np.searchsorted(known, row_ids, side="right")
        rows = np.concatenate([np.zeros(0, np.int32), *(rows_of[a:b] for a, b in zip(first, last, strict=True))])
        scored = np.repeat(scores, last - first)
        if allowed is not None:
            rows, scored = rows[allowed[rows]], scored[allowed[rows]]
        order = np.argsort(rows, kind="stable")
        is_all = len(found) < count or bool((scores <= 0).any())
        return rows[order].astype(np.int32), scored[order], is_all


_REFINE: Final = 4
"""Candidates of the index for each row asked for, compared exactly."""


def matrix_of(column: Any) -> Floats32:  # noqa: ANN401  pyarrow ships no types
    """Vectors of a column as rows."""
    width = column.type.list_size
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False), np.float32).reshape(-1, width)


def open_lance(release: Path, name: str, placed: PlacedRows, signs: BinaryIndex | None) -> LanceVectors:
    """The vectors of a table, by Lance: those of the rows that lie there."""
    return LanceVectors(release / LANCE, name, np.asarray(placed.row_ids), placed.shape[1], signs)
