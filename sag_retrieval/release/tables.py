"""Rows and vectors of a release by table, each checked and opened when it is first used."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.types import Rows
from sag_retrieval.release.csr import map_rows
from sag_retrieval.release.folders import BLOCK
from sag_retrieval.release.manifest import Contents, Manifest
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.tables import check_vectors
from sag_retrieval.release.vectors import DENSE, SPARSE, CheckRows, VectorSet, open_dense, open_sparse

Opened = TypeVar("Opened")
ROWS: Final = "rows/"
VECTORS: Final = "arrays/vectors/"
_ARROW: Final = ".arrow"


class _Tables(Mapping[str, Opened]):
    """By name of a table, opened once."""

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
            told = f"{rows.num_rows} rows of {rows.schema.names}"
            raise self._contents.damaged(file, f"it has {told}, not {self._manifest.counts.get(name)} of {wanted}")
        return rows


class VectorTables(_Tables[VectorSet]):
    """The vectors of events, keys and chunks; of dense ones only the blocks are checked whose rows are read."""

    def __init__(self, contents: Contents, manifest: Manifest) -> None:
        """Hold the checked files of a release."""
        self._dense = contents.names(VECTORS, DENSE)
        super().__init__(contents, manifest, sorted({*self._dense, *contents.names(VECTORS, SPARSE)}))

    def _open(self, name: str) -> VectorSet:
        folder = self._contents.folder / VECTORS
        if name in self._dense:
            file = f"{VECTORS}{name}{DENSE}"
            self._contents.check_blocks(file, np.zeros(1, np.int64))  # what shape it has
            self._contents.check(*(f"{VECTORS}{name}.signs.{kind}" for kind in ("npy", "json")))
            opened: VectorSet = open_dense(folder, name, self._check_of(name, file))
        else:
            self._contents.check(*(f"{VECTORS}{name}.{kind}.npy" for kind in ("starts", "rows", "values")))
            opened = open_sparse(folder, name)
        check_vectors(name, opened, self._manifest, is_trusted=self._contents.is_checked)
        return opened

    def _check_of(self, name: str, file: str) -> CheckRows:
        """What compares the blocks of rows behind the header of a file, before they are read."""
        width, row_count = 4 * self._manifest.dimension, self._manifest.counts.get(name, 0)
        header = (self._contents.folder / file).stat().st_size - width * row_count
        contents, is_whole = self._contents, [not self._contents.is_checked]

        def check(rows: Rows | None) -> None:
            if is_whole[0]:
                return
            if rows is None:
                contents.check(file)
                is_whole[0] = True
            else:
                contents.check_blocks(file, blocks_of(np.asarray(rows, np.int64), header, width))

        return check


def blocks_of(rows: npt.NDArray[np.int64], header: int, width: int) -> npt.NDArray[np.int64]:
    """The blocks in which rows of so many bytes lie, behind a header of so many.

    Example:
        >>> blocks_of(np.array([0, 3]), 128, 40_000)
        array([0, 0, 1, 2])

    """
    first, last = (header + rows * width) // BLOCK, (header + (rows + 1) * width - 1) // BLOCK
    inside: npt.NDArray[np.int64] = np.minimum(first[:, None] + np.arange(width // BLOCK + 2), last[:, None])
    return inside.reshape(-1)
