"""Arrays, tables and dictionaries in memory-mapped files, and lists of row numbers in CSR form.

The files of a small layer are packed into one compressed file, which is read into memory instead.
"""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.sparse import csr_array

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Rows
from sag_retrieval.release.table import no_rows

PACK: Final = "packed.arrow"
PACKED_ROWS: Final = 50_000
"""Chunks and events that a packed layer has at most: those of a larger one stay mapped, and out of memory."""
_ALIGNED: Final = 64
_SCHEMA: Final = pa.schema({"name": pa.string(), "size": pa.int64(), "data": pa.large_binary()})
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", 6))


@dataclass(frozen=True, slots=True)
class PackedPath:
    """A path inside a packed layer: what reading needs of `pathlib.Path`."""

    pack: Path
    members: Mapping[str, pa.Buffer]
    inside: str = ""

    @property
    def name(self) -> str:
        """The last part."""
        return self.inside.rpartition("/")[2]

    def __truediv__(self, name: str) -> "PackedPath":
        inside = "/".join(part for part in (self.inside, *name.split("/")) if part)
        return replace(self, inside=inside)

    def __str__(self) -> str:
        return f"{self.pack}: {self.inside}"

    def with_name(self, name: str) -> "PackedPath":
        """The path with another last part."""
        return replace(self, inside=self.inside.removesuffix(self.name) + name)

    def is_file(self) -> bool:
        """Whether there is such a file."""
        return self.inside in self.members

    def files(self) -> list[str]:
        """Names of the files directly in this folder."""
        below = f"{self.inside}/"
        found = [name.removeprefix(below) for name in self.members if name.startswith(below)]
        return [name for name in found if "/" not in name]

    def read(self) -> pa.Buffer:
        """The bytes of a file, not copied."""
        if self.inside not in self.members:
            raise FileNotFoundError(str(self))
        return self.members[self.inside]

    def read_text(self, encoding: str) -> str:
        """The text of a file."""
        text: str = self.read().to_pybytes().decode(encoding)
        return text


FilePlace = Path | PackedPath
"""Where files of a release lie: in a folder, or inside a packed layer."""


def pack_folder(folder: Path) -> None:
    """Put all files below a folder into one, in their place."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in paths]
    columns = {
        "name": [path.relative_to(folder).as_posix() for path in paths],
        "size": [len(data) for data in contents],
        "data": [data + bytes(-len(data) % _ALIGNED) for data in contents],
    }
    shutil.rmtree(folder)
    folder.mkdir()
    with pa.OSFile(str(folder / PACK), "wb") as sink, pa.ipc.new_file(sink, _SCHEMA, options=_OPTIONS) as writer:
        writer.write_table(pa.table(columns, schema=_SCHEMA))


def open_pack(path: Path) -> PackedPath:
    """Read a packed folder into memory."""
    with pa.memory_map(str(path)) as source:
        rows = pa.ipc.open_file(source).read_all().combine_chunks()
    names, sizes = rows["name"].to_pylist(), rows["size"].to_pylist()
    data = rows["data"]
    buffers = (data[number].as_buffer().slice(0, size) for number, size in enumerate(sizes))
    return PackedPath(path, dict(zip(names, buffers, strict=True)))


Starts = npt.NDArray[np.int64]
_TAKEN: Final = 65_536
"""Rows taken at a time: their text stays far below the 2 GiB of an array."""


def new_array(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> "np.memmap[Any, Any]":
    """An array in a new file, mapped to be written; its blocks are reserved, or a full disk would kill the process."""
    made = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
    if hasattr(os, "posix_fallocate"):  # not on macOS
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return made


def save_array(path: Path, array: npt.NDArray[Any]) -> None:
    """Write one array as `<path>.npy`."""
    np.save(path.with_name(f"{path.name}.npy"), np.ascontiguousarray(array))


def map_array(path: FilePlace) -> npt.NDArray[Any]:
    """The array of `<path>.npy`, mapped into memory read-only, or that of a packed layer, as a plain array."""
    whole = path.with_name(f"{path.name}.npy")
    try:
        if isinstance(whole, PackedPath):
            with pa.BufferReader(whole.read()) as file:
                return np.asarray(np.lib.format.read_array(file))
        return np.lib.format.open_memmap(whole, mode="r").view(np.ndarray)
    except FileNotFoundError as error:
        raise ReleaseError(f"{whole} is missing; {MEND}") from error
    except (OSError, ValueError, EOFError, TypeError, SyntaxError) as error:
        raise ReleaseError(f"{whole} is damaged ({error}); {MEND}") from error


def map_trie(path: FilePlace) -> marisa_trie.Trie:
    """A saved dictionary, mapped into memory, or that of a packed layer."""
    try:
        if isinstance(path, PackedPath):
            return marisa_trie.Trie().frombytes(path.read().to_pybytes())
        return marisa_trie.Trie().mmap(str(path))
    except (OSError, RuntimeError, ValueError) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error


def map_rows(path: FilePlace) -> pa.Table:
    """The rows of an Arrow file, mapped into memory, or those of a packed layer."""
    try:
        with pa.BufferReader(path.read()) if isinstance(path, PackedPath) else pa.memory_map(str(path)) as source:
            return pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowException) as error:
        raise ReleaseError(f"{path} is missing or damaged ({error}); {MEND}") from error


def save_rows(path: Path, rows: pa.Table) -> None:
    """Write an Arrow file, in place of a linked one if there is one."""
    path.unlink(missing_ok=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


def take_rows(table: pa.Table, rows: npt.ArrayLike) -> pa.Table:
    """Rows by number, in the given order, read from the batches that hold them.

    Arrow's own `take` first joins all batches of a column of text: a copy of the whole column, and beyond 2 GiB an
    error.
    """
    numbers = np.asarray(rows, np.int64)
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(table)):
        raise IndexError(f"rows {numbers.min()} to {numbers.max()} are not all among {len(table)}")
    if len(numbers) <= _TAKEN and all(column.num_chunks == 1 for column in table.columns):
        return table.take(_numbers(numbers))  # of one batch there is nothing to join
    batches = table.to_batches()
    ends = np.cumsum([0, *(len(batch) for batch in batches)])
    blocks = (numbers[start : start + _TAKEN] for start in range(0, len(numbers), _TAKEN))
    return pa.concat_tables([no_rows(table.schema), *(_take(batches, ends, block) for block in blocks)])


def _take(batches: Sequence[pa.RecordBatch], ends: Starts, rows: npt.NDArray[np.int64]) -> pa.Table:
    wanted, back = np.unique(rows, return_inverse=True)
    cuts = np.searchsorted(wanted, ends)
    used = np.flatnonzero(np.diff(cuts)).tolist()
    found = [batches[n].take(_numbers(wanted[cuts[n] : cuts[n + 1]] - ends[n])) for n in used]
    return pa.Table.from_batches(found).take(_numbers(back))


def _numbers(rows: npt.NDArray[Any]) -> pa.Array:
    return arrow_numbers(np.asarray(rows, np.int64))


def arrow_numbers(numbers: npt.NDArray[Any]) -> pa.Array:
    """Numbers for Arrow; `pa.array` of NumPy's own would load pandas, for half a second."""
    flat = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), [None, pa.py_buffer(flat)])


class RemappedArray:
    """Rows of a saved array, mapped again for each access: what was read does not count as memory in use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.shape = map_array(path).shape

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> npt.NDArray[Any]:  # noqa: ANN401  whatever an array takes
        return np.asarray(map_array(self._path)[rows])


@dataclass(frozen=True, eq=False)
class CsrLists:
    """Concatenated lists of row numbers: list i is `items[starts[i] : starts[i + 1]]`, ascending."""

    starts: Starts
    items: Rows

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, row: int) -> Rows:
        """One list."""
        return self.items[self.starts[row] : self.starts[row + 1]]

    def sizes(self) -> Starts:
        """Length of every list."""
        return np.diff(self.starts)

    @cached_property
    def degrees(self) -> npt.NDArray[np.float64]:
        """Length of every list, at least 1, kept."""
        return np.maximum(self.sizes(), 1.0)

    @cached_property
    def links(self) -> csr_array:
        """Lists × items: 1 where a list has an item, kept; as wide as the highest item needs."""
        width = int(self.items.max(initial=-1)) + 1
        return csr_array((np.ones(len(self.items)), self.items, narrow(self.starts)), shape=(len(self), width))

    def gather(self, rows: npt.NDArray[Any]) -> tuple[Rows, Starts]:
        """Concatenate some lists: the number of its list among them, and its place in `items`, for each item.

        Examples:
            >>> CsrLists(np.array([0, 2, 2, 3]), np.array([5, 7, 6], np.int32)).gather(np.array([2, 0]))
            (array([0, 1, 1], dtype=int32), array([2, 0, 1]))
        """
        rows = np.asarray(rows, np.int64)
        first, sizes = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        owner = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
        ends = np.cumsum(sizes)
        return owner, np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes)

    def save(self, path: Path) -> None:
        """Write `<path>.starts.npy` and `<path>.items.npy`."""
        save_array(path.with_name(f"{path.name}.starts"), self.starts.astype(np.int64, copy=False))
        save_array(path.with_name(f"{path.name}.items"), self.items.astype(np.int32, copy=False))

    @classmethod
    def open(cls, path: FilePlace) -> "CsrLists":
        """Map what `save` wrote."""
        return cls(map_array(path.with_name(f"{path.name}.starts")), map_array(path.with_name(f"{path.name}.items")))


def narrow(starts: Starts) -> npt.NDArray[Any]:
    """Offsets as int32 where they fit: with wider ones scipy widens all row numbers as well."""
    return starts.astype(np.int32) if starts[-1] <= np.iinfo(np.int32).max else starts


def group(owners: npt.NDArray[Any], items: npt.NDArray[Any], count: int) -> tuple[CsrLists, Starts]:
    """Lists of the items of each owner 0 … count − 1, ascending, and the order in which pairs were taken."""
    width = int(items.max(initial=0)) + 1
    order = np.argsort(owners.astype(np.int64) * width + items, kind="stable")  # half the time of two sorts
    starts = ends_of(np.bincount(owners, minlength=count))
    return CsrLists(starts, np.asarray(items, np.int32)[order]), order


def transposed(lists: CsrLists, width: int, values: npt.NDArray[Any]) -> tuple[CsrLists, npt.NDArray[Any]]:
    """The lists of each item, ascending, and the value of each pair; `width` is the number of items there can be."""
    matrix = csr_array((values, lists.items, narrow(lists.starts)), shape=(len(lists), width)).tocsc()
    return CsrLists(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)), matrix.data


def ranges(owners: npt.NDArray[Any], count: int) -> Starts:
    """Where each owner's run starts in rows sorted by owner; shape (count + 1,)."""
    return np.searchsorted(owners, np.arange(count + 1)).astype(np.int64)


def ends_of(sizes: npt.ArrayLike) -> Starts:
    """Start of each list of these sizes, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def join(parts: Iterable[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Concatenated arrays; empty for none."""
    return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)
