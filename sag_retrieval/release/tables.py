"""Rows, vectors and arrays of a release, checked when they are first used."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any, Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import Arrays, chunk_key_rows, counted_keys, event_key_rows
from sag_retrieval.release.folders import BLOCK
from sag_retrieval.release.layers import Joined, JoinedVectors, join_signs, joined_rows
from sag_retrieval.release.manifest import Contents, Manifest, layer_path
from sag_retrieval.release.mapped_arrays import CsrLists, PackedPath, Starts, map_array, map_rows, take_rows
from sag_retrieval.release.schema import LANCE, TABLES
from sag_retrieval.release.table import LazyTables
from sag_retrieval.release.topk import BinaryIndex, read_binary_index
from sag_retrieval.release.vectors import (
    DENSE,
    PLACED,
    SPARSE,
    CheckRows,
    PlacedRows,
    SparseVectors,
    VectorSet,
    open_dense,
    open_lance,
    open_mapped,
    open_placed,
    open_sparse,
)

Opened = TypeVar("Opened")
_COUNTED: Final = ("key_events", "key_chunks", "key_document_count", "event_chunk")


def check_arrays(arrays: Arrays, manifest: Manifest, *, is_trusted: bool) -> None:
    """Refuse wrong shapes, types and ends: libraries in C would read beyond an array.

    Unless bytes were compared with checksums, every row number is looked at too.
    """
    faults = [*_shape_faults(arrays, manifest)]
    if not faults and not is_trusted:
        faults = [*_row_faults(arrays, manifest)]
    if faults:
        raise damaged_arrays(manifest, faults[0])


def damaged_arrays(manifest: Manifest, fault: str) -> ReleaseError:
    """The error to raise about arrays that do not fit."""
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


def _list_faults(name: str, lists: CsrLists, count: int, item_type: npt.DTypeLike = np.int32) -> Iterator[str]:
    """What is wrong at the ends of lists; nothing of what is between them is read."""
    starts, items = lists.starts, lists.items
    if starts.dtype != np.int64 or items.dtype != item_type or starts.ndim != 1 or items.ndim != 1:
        yield f"{name} holds {starts.dtype} and {items.dtype}, not int64 and {np.dtype(item_type)} in one row each"
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


class OpenedTables(LazyTables[Opened]):
    """Tables by name, each opened once."""

    def __init__(self, manifest: Manifest, names: Iterable[str]) -> None:
        self._opened: dict[str, Opened] = {}
        super().__init__(sorted(names), self._opened.__getitem__)
        self._manifest = manifest
        self._lock = Lock()

    @abstractmethod
    def _open(self, name: str) -> Opened:
        """Check and open one table."""

    def __getitem__(self, name: str) -> Opened:
        if name in self and name not in self._opened:
            with self._lock:
                if name not in self._opened:
                    self._opened[name] = self._open(name)
        return super().__getitem__(name)


class RowFiles:
    """Tables as Arrow rows in memory maps: those of one layer."""

    def __init__(self, contents: Contents, manifest: Manifest, number: int) -> None:
        self._contents, self._below = contents, layer_path(number)
        self._counts = manifest.layer_counts[number]
        self._opened: dict[str, pa.Table] = {}

    def __call__(self, name: str) -> pa.Table:
        """A table, checked when it is first read."""
        if name not in self._opened:
            self._opened[name] = self._read(f"{self._below}rows/{name}.arrow", name)
        return self._opened[name]

    def _read(self, file: str, name: str) -> pa.Table:
        self._contents.check(file)
        rows = map_rows(self._contents.place(file))
        wanted = TABLES[name].names
        if rows.schema.names != wanted or rows.num_rows != self._counts.get(name):
            found = f"{rows.num_rows} rows of {rows.schema.names}"
            raise self._contents.damaged(file, f"it has {found}, not {self._counts.get(name)} of {wanted}")
        return rows


class RowTables(OpenedTables[pa.Table]):
    """The tables of `release/schema.py`: those of links are made from arrays, those of several layers are joined."""

    def __init__(
        self, manifest: Manifest, layers: Sequence[RowFiles], arrays: Arrays, joined: Mapping[str, Joined]
    ) -> None:
        """Hold the layers and the arrays; `joined` says by table which rows are shown, nothing for one layer."""
        super().__init__(manifest, TABLES)
        self._layers, self._arrays, self._joined = layers, arrays, joined

    def _open(self, name: str) -> pa.Table:
        if name in MADE:
            make, owners = MADE[name]
            return make(self._arrays, self._rows(owners)[f"{owners[:-1]}_id"], self._rows("keys")["key_id"])
        return self._rows(name)

    def _rows(self, name: str) -> pa.Table:
        if name in self._opened:
            return self._opened[name]
        if name not in self._joined:
            return self._layers[0](name)
        whole = pa.concat_tables([layer(name) for layer in self._layers])
        shown = take_rows(whole, self._joined[name].source)
        if name != "keys":
            return shown
        graph = {each: getattr(self._arrays, each) for each in _COUNTED}
        return counted_keys(shown, graph, self._manifest.smoothing)


MADE: Final = {"event_keys": (event_key_rows, "events"), "chunk_keys": (chunk_key_rows, "chunks")}
"""Tables of links, by name: how they are made, and whose links they are."""


VECTORS: Final = "arrays/vectors/"
VectorMode = Literal["mapped", "lance"]
"""Who finds the nearest vectors of a release: arrays mapped into memory, or the index of its Lance tables."""
FileBlocks = tuple[str, npt.NDArray[np.int64] | None]
"""A file, or folder with `/`, of a release and numbers of its blocks; None: all."""


def check_vectors(name: str, vectors: VectorSet, manifest: Manifest, *, is_trusted: bool) -> None:
    """Refuse vectors of a table that do not fit its rows or the embedder."""
    wanted = (manifest.counts.get(name), manifest.dimension)
    if (vectors.row_count, vectors.dimension) != wanted:
        raise damaged_arrays(manifest, f"vectors of {name} are {vectors.row_count} × {vectors.dimension}, not {wanted}")
    if isinstance(vectors, SparseVectors):
        ends = CsrLists(vectors.starts, vectors.rows)
        is_short = ends.items.dtype == np.uint16
        faults = [*_list_faults(f"vectors of {name}", ends, vectors.dimension, np.uint16 if is_short else np.int32)]
        if len(vectors.values) != len(vectors.rows):
            faults.append(f"vectors of {name} have {len(vectors.values)} values in {len(vectors.rows)} rows")
        if not faults and not is_trusted:
            faults = [*_bound_faults(f"vectors of {name}", ends, vectors.row_count)]
        if faults:
            raise damaged_arrays(manifest, faults[0])


class VectorTables(OpenedTables[VectorSet]):
    """The vectors of events, keys and chunks; of dense ones only the blocks of the rows that are read are checked."""

    def __init__(self, contents: Contents, manifest: Manifest, mode: VectorMode = "mapped") -> None:
        self._folders = [f"{layer_path(number)}{VECTORS}" for number in range(len(manifest.layer_counts))]
        self._contents, self._mode = contents, mode
        self.joined: Mapping[str, Joined] = {}
        """By table: which rows of the layers are shown, where there are several; set before the first use."""
        endings = (PLACED, DENSE, SPARSE)
        names = {name for folder in self._folders for ending in endings for name in contents.names(folder, ending)}
        super().__init__(manifest, names)
        is_placed = any(contents.names(folder, PLACED) for folder in self._folders)
        if mode == "lance" and not is_placed and any(manifest.counts.get(name) for name in self._names):
            raise ReleaseError(
                f"release {manifest.release_id} has no vectors in Lance that are exact: those of "
                f'{manifest.embedding_model!r} are kept by column; open it with vectors="mapped"'
            )

    def _open(self, name: str) -> VectorSet:
        counts, is_trusted = self._manifest.layer_counts, self._contents.is_checked
        if all(name in self._contents.names(folder, PLACED) for folder in self._folders):
            opened = self._placed(name)
        else:
            layers = [self._by_layer(folder, name, count.get(name, 0)) for folder, count in zip(self._folders, counts)]  # noqa: B905
            for layer, count in zip(layers, counts, strict=True):
                check_vectors(name, layer, replace(self._manifest, counts=count), is_trusted=is_trusted)
            opened = layers[0] if len(layers) == 1 else JoinedVectors(layers, self.joined[name])
        check_vectors(name, opened, self._manifest, is_trusted=is_trusted)
        return opened

    def _placed(self, name: str) -> VectorSet:
        """Vectors that lie in Lance: of several layers in one table, so that only the rows' places are joined."""
        contents, folders = self._contents, [self._contents.place(folder) for folder in self._folders]
        contents.check(f"{VECTORS}{name}.runs.json", *(f"{folder}{name}{PLACED}" for folder in self._folders))
        placed = [open_placed(folder, name, contents.folder) for folder in folders]
        rows = placed[0] if len(placed) == 1 else joined_rows(placed, self.joined[name].source)
        if not contents.is_checked and (fault := rows.fault()):
            raise contents.damaged(f"{VECTORS}{name}{PLACED}", fault)
        signs = self._signs(name)
        if self._mode == "lance":
            contents.check(f"{LANCE}/{name}.lance/")
            return open_lance(contents.folder, name, rows, signs)
        return open_mapped(rows, signs, self._check_of(_placed_blocks(name, rows)))

    def _signs(self, name: str) -> BinaryIndex | None:
        """The binary index of a table; None unless every layer has one."""
        for folder in self._folders:
            self._contents.check(*(f"{folder}{name}.signs.{kind}" for kind in ("npy", "json")))
        first = read_binary_index(self._contents.folder / self._folders[0], name)
        if first is None or len(self._folders) == 1:
            return first
        if not all(f"{name}.signs" in self._contents.names(folder, ".npy") for folder in self._folders):
            return None
        others = [map_array(self._contents.place(folder) / f"{name}.signs") for folder in self._folders[1:]]
        return join_signs([first, *(BinaryIndex(words, first.reach) for words in others)], self.joined[name])

    def _by_layer(self, below: str, name: str, count: int) -> VectorSet:
        contents, folder = self._contents, self._contents.place(below)
        if name in contents.names(below, PLACED):
            contents.check(f"{VECTORS}{name}.runs.json", f"{below}{name}{PLACED}")
            placed = open_placed(folder, name, contents.folder)
            return open_mapped(placed, None, self._check_of(_placed_blocks(name, placed)))
        if name in contents.names(below, DENSE):
            if isinstance(folder, PackedPath):
                return open_dense(folder, name)
            file = f"{below}{name}{DENSE}"
            contents.check_blocks(file, np.zeros(1, np.int64))  # the header
            contents.check(*(f"{below}{name}.signs.{kind}" for kind in ("npy", "json")))
            return open_dense(folder, name, self._check_of(self._dense_blocks(file, count)))
        contents.check(*(f"{below}{name}.{kind}.npy" for kind in ("starts", "rows", "values")))
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

    def _dense_blocks(self, file: str, row_count: int) -> Callable[[Rows | None], Iterator[FileBlocks]]:
        width = 4 * self._manifest.dimension
        header = (self._contents.folder / file).stat().st_size - width * row_count

        def blocks(rows: Rows | None) -> Iterator[FileBlocks]:
            yield file, None if rows is None else _blocks_of(header + np.asarray(rows, np.int64) * width, width)

        return blocks


def _placed_blocks(name: str, placed: PlacedRows) -> Callable[[Rows | None], Iterator[FileBlocks]]:
    """Which blocks of the Lance files of a table hold some rows."""

    def blocks(rows: Rows | None) -> Iterator[FileBlocks]:
        if rows is None:
            yield f"{LANCE}/{name}.lance/", None
            return
        for file, starts in placed.bytes_of(rows):
            yield f"{LANCE}/{name}.lance/{file}", _blocks_of(starts, 4 * placed.shape[1])

    return blocks


def _blocks_of(starts: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The blocks that hold rows of `width` bytes each, which start at these bytes of a file.

    Examples:
        >>> _blocks_of(np.array([128, 120_128]), 40_000)
        array([0, 0, 1, 2])
    """
    first, last = starts // BLOCK, (starts + width - 1) // BLOCK
    inside: npt.NDArray[np.int64] = np.minimum(first[:, None] + np.arange(width // BLOCK + 2), last[:, None])
    return inside.reshape(-1)
