"""Rows, vectors and arrays of a release, checked when they are first used."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import Arrays
from sag_retrieval.release.csr import CsrLists, Starts, map_rows
from sag_retrieval.release.folders import BLOCK
from sag_retrieval.release.manifest import Contents, Manifest
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.lance_vectors import open_lance
from sag_retrieval.release.placed import LANCE, PLACED, PlacedRows, open_placed
from sag_retrieval.release.vectors import (
    DENSE,
    SPARSE,
    CheckRows,
    SparseVectors,
    VectorSet,
    open_dense,
    open_mapped,
    open_sparse,
)

Opened = TypeVar("Opened")
VectorMode = Literal["mapped", "lance"]
"""Who finds the nearest vectors of a release: arrays mapped into memory, or the index of its Lance tables."""
FileBlocks = tuple[str, npt.NDArray[np.int64] | None]
"""A file, or folder with `/`, of a release and numbers of its blocks; None: all."""
ROWS: Final = "rows/"
VECTORS: Final = "arrays/vectors/"
_ARROW: Final = ".arrow"


def check_arrays(arrays: Arrays, manifest: Manifest, *, is_trusted: bool) -> None:
    """Compare shapes, types and ends; unless bytes were compared with checksums, every row number too.

    Raises:
        ReleaseError: If something does not fit: libraries in C would read beyond an array.

    """
    faults = [*_shape_faults(arrays, manifest)]
    if not faults and not is_trusted:
        faults = [*_row_faults(arrays, manifest)]
    if faults:
        raise _error(manifest, faults[0])


def check_vectors(name: str, vectors: VectorSet, manifest: Manifest, *, is_trusted: bool) -> None:
    """Compare the vectors of a table with its rows and the embedder.

    Raises:
        ReleaseError: If they have another shape, or name rows that do not exist.

    """
    wanted = (manifest.counts.get(name), manifest.dimension)
    if (vectors.row_count, vectors.dimension) != wanted:
        raise _error(manifest, f"vectors of {name} are {vectors.row_count} × {vectors.dimension}, not {wanted}")
    if isinstance(vectors, SparseVectors):
        ends = CsrLists(vectors.starts, vectors.rows)
        faults = [*_list_faults(f"vectors of {name}", ends, vectors.dimension)]
        if len(vectors.values) != len(vectors.rows):
            faults.append(f"vectors of {name} have {len(vectors.values)} values in {len(vectors.rows)} rows")
        if not faults and not is_trusted:
            faults = [*_bound_faults(f"vectors of {name}", ends, vectors.row_count)]
        if faults:
            raise _error(manifest, faults[0])


def _error(manifest: Manifest, fault: str) -> ReleaseError:
    return ReleaseError(f"arrays of release {manifest.release_id} are damaged: {fault}; {MEND}")


def _shape_faults(arrays: Arrays, manifest: Manifest) -> Iterator[str]:
    counts = manifest.counts
    for name, (lists, rows, _) in _lists(arrays, manifest).items():
        yield from _list_faults(name, lists, rows)
    lengths: dict[str, tuple[npt.NDArray[Any], int]] = {
        "event_chunk": (arrays.event_chunk, counts["events"]),
        "chunk_document": (arrays.chunk_document, counts["chunks"]),
        "chunk_main_key": (arrays.chunk_main_key, counts["chunks"]),
        "chunk_events": (arrays.chunk_events, counts["chunks"] + 1),
        "document_chunks": (arrays.document_chunks, counts["documents"] + 1),
        "is_main_key": (arrays.is_main_key, counts["keys"]),
        "key_idf": (arrays.key_idf, counts["keys"]),
        "key_document_count": (arrays.key_document_count, counts["keys"]),
        "key_chunk_count": (arrays.key_chunk_count, counts["chunk_keys"]),
        "chunk weights": (arrays.chunk_text.weights, len(arrays.chunk_text.rows_of.items)),
        "document weights": (arrays.document_text.weights, len(arrays.document_text.rows_of.items)),
        "chunk idf": (arrays.chunk_text.idf, len(arrays.terms.trie)),
        "document idf": (arrays.document_text.idf, len(arrays.terms.trie)),
    }
    yield from (f"{name} has the shape {a.shape}, not ({n},)" for name, (a, n) in lengths.items() if a.shape != (n,))
    if (arrays.chunk_text.row_count, arrays.document_text.row_count) != (counts["chunks"], counts["documents"]):
        yield "the full text is of other chunks or documents"


def _lists(arrays: Arrays, manifest: Manifest) -> dict[str, tuple[CsrLists, int, int]]:
    """By name: the lists, how many there are, and how many rows their items may name."""
    counts = manifest.counts
    return {
        "event_keys": (arrays.event_keys, counts["events"], counts["keys"]),
        "key_events": (arrays.key_events, counts["keys"], counts["events"]),
        "chunk_keys": (arrays.chunk_keys, counts["chunks"], counts["keys"]),
        "key_chunks": (arrays.key_chunks, counts["keys"], counts["chunks"]),
        "chunk text": (arrays.chunk_text.rows_of, len(arrays.terms.trie), counts["chunks"]),
        "document text": (arrays.document_text.rows_of, len(arrays.terms.trie), counts["documents"]),
        "names": (arrays.mentions.keys_of, len(arrays.mentions.trie), counts["keys"]),
    }


def _list_faults(name: str, lists: CsrLists, count: int) -> Iterator[str]:
    """What is wrong at the ends of lists; nothing of what is between them is read."""
    starts, items = lists.starts, lists.items
    if starts.dtype != np.int64 or items.dtype != np.int32 or starts.ndim != 1 or items.ndim != 1:
        yield f"{name} holds {starts.dtype} and {items.dtype}, not int64 and int32 in one row each"
    elif len(starts) != count + 1:
        yield f"{name} has {len(starts) - 1} lists, not {count}"
    elif (int(starts[0]), int(starts[-1])) != (0, len(items)):
        yield f"{name} runs from {starts[0]} to {starts[-1]}, not from 0 to {len(items)}"


def _row_faults(arrays: Arrays, manifest: Manifest) -> Iterator[str]:
    counts = manifest.counts
    for name, (lists, _, count) in _lists(arrays, manifest).items():
        yield from _bound_faults(name, lists, count)
    for name, rows, least, count in (
        ("event_chunk", arrays.event_chunk, 0, counts["chunks"]),
        ("chunk_document", arrays.chunk_document, 0, counts["documents"]),
        ("chunk_main_key", arrays.chunk_main_key, -1, counts["keys"]),
    ):
        yield from _outside(name, rows, least, count)
    for name, starts, count in (
        ("chunk_events", arrays.chunk_events, counts["events"]),
        ("document_chunks", arrays.document_chunks, counts["chunks"]),
    ):
        yield from _falls(name, starts, count)


def _bound_faults(name: str, lists: CsrLists, rows: int) -> Iterator[str]:
    """What is wrong between the ends of lists: every number is read."""
    yield from _falls(name, lists.starts, len(lists.items))
    yield from _outside(name, lists.items, 0, rows)


def _falls(name: str, starts: Starts, last: int) -> Iterator[str]:
    if (np.diff(starts) < 0).any() or (int(starts[0]), int(starts[-1])) != (0, last):
        yield f"the starts of {name} do not rise from 0 to {last}"


def _outside(name: str, rows: Rows, least: int, count: int) -> Iterator[str]:
    if len(rows) and not least <= int(rows.min()) <= int(rows.max()) < count:
        yield f"{name} names the rows {rows.min()} to {rows.max()}, not {least} to {count - 1}"


class _Tables(Mapping[str, Opened]):
    """Tables by name, each opened once."""

    def __init__(self, contents: Contents, manifest: Manifest, names: list[str]) -> None:
        self._contents = contents
        self._manifest = manifest
        self._names = names
        self._opened: dict[str, Opened] = {}
        self._lock = Lock()

    @abstractmethod
    def _open(self, name: str) -> Opened:
        """Check and open one table."""

    def __getitem__(self, name: str) -> Opened:
        """The table, opened if it was not yet.

        Raises:
            KeyError: If there is none of this name.
            ReleaseError: If its files are damaged.

        """
        if name not in self._opened:
            if name not in self._names:
                raise KeyError(name)
            with self._lock:
                if name not in self._opened:
                    self._opened[name] = self._open(name)
        return self._opened[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class RowTables(_Tables[pa.Table]):
    """The tables of `release/schema.py` as Arrow rows in memory maps."""

    def __init__(self, contents: Contents, manifest: Manifest) -> None:
        """Hold the checked files of a release."""
        super().__init__(contents, manifest, contents.names(ROWS, _ARROW))

    def _open(self, name: str) -> pa.Table:
        file = f"{ROWS}{name}{_ARROW}"
        self._contents.check(file)
        rows = map_rows(self._contents.folder / file)
        wanted = TABLES[name].names if name in TABLES else rows.schema.names
        if rows.schema.names != wanted or rows.num_rows != self._manifest.counts.get(name):
            found = f"{rows.num_rows} rows of {rows.schema.names}"
            raise self._contents.damaged(file, f"it has {found}, not {self._manifest.counts.get(name)} of {wanted}")
        return rows


class VectorTables(_Tables[VectorSet]):
    """The vectors of events, keys and chunks; of dense ones only the blocks of the rows that are read are checked."""

    def __init__(self, contents: Contents, manifest: Manifest, mode: VectorMode = "mapped") -> None:
        """Hold the checked files of a release.

        Raises:
            ReleaseError: If its vectors are to be searched by Lance, and it has no Lance tables.

        """
        self._placed, self._dense, sparse = (contents.names(VECTORS, ending) for ending in (PLACED, DENSE, SPARSE))
        self._mode = mode
        super().__init__(contents, manifest, sorted({*self._placed, *self._dense, *sparse}))
        if mode == "lance" and not self._placed and any(manifest.counts.get(name) for name in self._names):
            raise ReleaseError(
                f"release {manifest.release_id} has no vectors in Lance: those of {manifest.embedding_model!r} are "
                'kept by column; open it with vectors="mapped"'
            )

    def _open(self, name: str) -> VectorSet:
        opened = self._opened_as(name)
        check_vectors(name, opened, self._manifest, is_trusted=self._contents.is_checked)
        return opened

    def _opened_as(self, name: str) -> VectorSet:
        contents, folder = self._contents, self._contents.folder / VECTORS
        if name in self._placed:
            contents.check(f"{VECTORS}{name}{PLACED}", f"{VECTORS}{name}.runs.json")
            placed = open_placed(folder, name)
            if not contents.is_checked and (fault := placed.fault()):
                raise contents.damaged(f"{VECTORS}{name}{PLACED}", fault)
            if self._mode == "lance":
                contents.check(f"{LANCE}/{name}.lance/")
                return open_lance(folder, name)
            contents.check(*(f"{VECTORS}{name}.signs.{kind}" for kind in ("npy", "json")))
            return open_mapped(folder, name, self._check_of(_placed_blocks(name, placed)))
        if name in self._dense:
            file = f"{VECTORS}{name}{DENSE}"
            contents.check_blocks(file, np.zeros(1, np.int64))  # the header
            contents.check(*(f"{VECTORS}{name}.signs.{kind}" for kind in ("npy", "json")))
            return open_dense(folder, name, self._check_of(self._dense_blocks(name, file)))
        contents.check(*(f"{VECTORS}{name}.{kind}.npy" for kind in ("starts", "rows", "values")))
        return open_sparse(folder, name)

    def _check_of(self, blocks: Callable[[Rows | None], Iterator[FileBlocks]]) -> CheckRows:
        """A function that checks the blocks of some rows before they are read."""
        contents, is_whole = self._contents, [not self._contents.is_checked]

        def check(rows: Rows | None) -> None:
            if is_whole[0]:
                return
            for file, each in blocks(rows):
                if each is None:
                    contents.check(file)
                else:
                    contents.check_blocks(file, each)
            is_whole[0] = rows is None

        return check

    def _dense_blocks(self, name: str, file: str) -> Callable[[Rows | None], Iterator[FileBlocks]]:
        width, row_count = 4 * self._manifest.dimension, self._manifest.counts.get(name, 0)
        header = (self._contents.folder / file).stat().st_size - width * row_count

        def blocks(rows: Rows | None) -> Iterator[FileBlocks]:
            yield file, None if rows is None else blocks_of(header + np.asarray(rows, np.int64) * width, width)

        return blocks


def _placed_blocks(name: str, placed: PlacedRows) -> Callable[[Rows | None], Iterator[FileBlocks]]:
    """Which blocks of the Lance files of a table hold some rows."""

    def blocks(rows: Rows | None) -> Iterator[FileBlocks]:
        if rows is None:
            yield f"{LANCE}/{name}.lance/", None
            return
        for file, starts in placed.bytes_of(rows):
            yield f"{LANCE}/{name}.lance/{file}", blocks_of(starts, 4 * placed.shape[1])

    return blocks


def blocks_of(starts: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The blocks that hold rows of `width` bytes each, which start at these bytes of a file.

    Examples:
        >>> blocks_of(np.array([128, 120_128]), 40_000)
        array([0, 0, 1, 2])

    """
    first, last = starts // BLOCK, (starts + width - 1) // BLOCK
    inside: npt.NDArray[np.int64] = np.minimum(first[:, None] + np.arange(width // BLOCK + 2), last[:, None])
    return inside.reshape(-1)
