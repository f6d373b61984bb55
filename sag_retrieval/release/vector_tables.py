"""The vectors of a release by table, checked when they are first used."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.types import Rows
from sag_retrieval.release.bundle import PackedPath
from sag_retrieval.release.csr import CsrLists, map_array
from sag_retrieval.release.folders import BLOCK
from sag_retrieval.release.lance_mmap import LANCE, PLACED, PlacedRows, joined_rows, open_placed
from sag_retrieval.release.lance_vectors import open_lance
from sag_retrieval.release.layer_precedence import Joined
from sag_retrieval.release.layered_vectors import JoinedVectors, join_signs
from sag_retrieval.release.manifest import Contents, Manifest, layer_path
from sag_retrieval.release.tables import OpenedTables, bound_faults, damaged_arrays, list_faults
from sag_retrieval.release.topk import BinaryIndex, read_binary_index
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

VECTORS: Final = "arrays/vectors/"
VectorMode = Literal["mapped", "lance"]
"""Who finds the nearest vectors of a release: arrays mapped into memory, or the index of its Lance tables."""
FileBlocks = tuple[str, npt.NDArray[np.int64] | None]
"""A file, or folder with `/`, of a release and numbers of its blocks; None: all."""


def check_vectors(name: str, vectors: VectorSet, manifest: Manifest, *, is_trusted: bool) -> None:
    """Compare the vectors of a table with its rows and the embedder.

    Raises:
        ReleaseError: If they have another shape, or name rows that do not exist.

    """
    wanted = (manifest.counts.get(name), manifest.dimension)
    if (vectors.row_count, vectors.dimension) != wanted:
        raise damaged_arrays(manifest, f"vectors of {name} are {vectors.row_count} × {vectors.dimension}, not {wanted}")
    if isinstance(vectors, SparseVectors):
        ends = CsrLists(vectors.starts, vectors.rows)
        faults = [*list_faults(f"vectors of {name}", ends, vectors.dimension)]
        if len(vectors.values) != len(vectors.rows):
            faults.append(f"vectors of {name} have {len(vectors.values)} values in {len(vectors.rows)} rows")
        if not faults and not is_trusted:
            faults = [*bound_faults(f"vectors of {name}", ends, vectors.row_count)]
        if faults:
            raise damaged_arrays(manifest, faults[0])


class VectorTables(OpenedTables[VectorSet]):
    """The vectors of events, keys and chunks; of dense ones only the blocks of the rows that are read are checked."""

    def __init__(self, contents: Contents, manifest: Manifest, mode: VectorMode = "mapped") -> None:
        """Hold the checked files of a release.

        Raises:
            ReleaseError: If its vectors are to be searched by Lance, and it has no Lance tables.

        """
        self._folders = [f"{layer_path(number)}{VECTORS}" for number in range(len(manifest.layer_counts))]
        self._mode = mode
        self.joined: Mapping[str, Joined] = {}
        """By table: which rows of the layers are shown, where there are several; set before the first use."""
        endings = (PLACED, DENSE, SPARSE)
        names = {name for folder in self._folders for ending in endings for name in contents.names(folder, ending)}
        super().__init__(contents, manifest, sorted(names))
        is_placed = any(contents.names(folder, PLACED) for folder in self._folders)
        if mode == "lance" and not is_placed and any(manifest.counts.get(name) for name in self._names):
            raise ReleaseError(
                f"release {manifest.release_id} has no vectors in Lance: those of {manifest.embedding_model!r} are "
                'kept by column; open it with vectors="mapped"'
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
