"""The vectors of a table searched by Lance, with its index where there is one: for releases larger than memory."""

import contextvars
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.types import Flags, Floats32, Rows, Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.topk import BinaryIndex, top_k
from sag_retrieval.release.vectors import LANCE, PlacedRows, as_query

_CLIENT: Final = "lance_namespace_urllib3_client"
VECTOR: Final = "vector"
METRIC: Final = "dot"
_FIRST: Final = 2
"""Rows asked for, as a multiple of those wanted: the table also has vectors that this release does not use."""
_MORE: Final = 8
_SCANNED: Final = 0.05
"""If a smaller share of the rows is allowed, they are read and compared one by one."""
_BLOCK: Final = 65_536


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
class LanceVectors:
    """A Lance table of a release, and which of its rows each row of the release has; -1 for none."""

    folder: Path
    name: str
    row_ids: Rows64
    dimension: int
    signs: BinaryIndex | None = None
    """For the likeness of all rows, of which Lance tells the nearest alone."""

    @property
    def row_count(self) -> int:
        """Rows of the table."""
        return len(self.row_ids)

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
        blocks = (wanted[at : at + _BLOCK] for at in range(0, len(wanted), _BLOCK))
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
        if allowed is not None and np.count_nonzero(allowed) <= max(k, _SCANNED * self.row_count):
            chosen = np.flatnonzero(allowed).astype(np.int32)
            return top_k(self.scores(query, chosen), k, chosen)
        wanted = max(1, _FIRST * k)
        while True:
            rows, scores, is_all = self._nearest(as_query(query), wanted, allowed)
            if is_all or np.count_nonzero(scores > 0) >= k:
                return top_k(scores, k, rows)
            wanted *= _MORE

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
