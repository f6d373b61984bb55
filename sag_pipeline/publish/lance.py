"""Write the Lance tables of a release: texts for full-text search, and dense vectors."""

import logging
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.index import FTS, BTree

from sag_pipeline.store.vectors import VectorIds, fixed, raw
from sag_retrieval.core.types import Floats32
from sag_retrieval.release.vectors import DenseVectors, VectorSet


@dataclass(frozen=True, slots=True)
class LanceSource:
    """Ids and texts by row number, and vectors, which are opened per use so that memory is freed after it."""

    name: str
    ids: pa.ChunkedArray
    texts: pa.ChunkedArray
    text_hashes: VectorIds
    open_vectors: Callable[[], VectorSet]

    @property
    def dimension(self) -> int | None:
        """Dimension of the vectors; None if they are not dense, and so not written."""
        opened = self.open_vectors()
        return opened.dimension if isinstance(opened, DenseVectors) else None

    def take(self, rows: npt.NDArray[np.int64]) -> Floats32:
        """Shape (rows, dimension): the dense vectors of some rows."""
        return np.asarray(self.open_vectors().take(rows.astype(np.int32)), np.float32)


_log = logging.getLogger(__name__)
_BLOCK = 50_000
_CHANGED_AT_MOST = 0.2
"""If a larger share of rows changed, a new table is faster than merging, and has a better index."""
_UNINDEXED_AT_MOST = 0.05
"""Unindexed rows are scanned in addition to the index; above this share they are added to the indexes."""
_IDS_A_DELETE = 2_000


def write_lance(folder: Path, source: LanceSource, previous: Path | None) -> None:
    """Write one table, or bring that of the previous release up to date.

    Where a previous release has the same table, its immutable files are hard-linked and only changed rows are
    merged, so that the work is proportional to the change and the older release is not modified.
    """
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / f"{source.name}.lance"
    before = previous / f"{source.name}.lance" if previous else None
    if before is None or not before.is_dir() or not _is_merged(before, home, source):
        shutil.rmtree(home, ignore_errors=True)
        table = lancedb.connect(folder).create_table(source.name, _batches(source, None), schema=_schema(source))
        if len(source.ids):
            table.create_index("id", config=BTree())
            table.create_index("text", config=FTS(base_tokenizer="icu", with_position=False))


def _is_merged(before: Path, home: Path, source: LanceSource) -> bool:
    """Whether the older table was reused; a damaged one is not."""
    try:
        return _merge(before, home, source)
    except (RuntimeError, OSError, ValueError) as error:  # what Lance raises, whatever the fault
        _log.warning("%s is written as a new table, %s cannot be reused: %s", source.name, before, error)
        return False


def _schema(source: LanceSource) -> pa.Schema:
    fields = [
        pa.field("id", pa.string()),
        pa.field("text_hash", pa.binary(16)),
        pa.field("text", pa.string()),
    ]
    if source.dimension is not None:
        fields.append(pa.field("vector", pa.list_(pa.float32(), source.dimension)))
    return pa.schema(fields)


def _batches(source: LanceSource, chosen: npt.NDArray[Any] | None) -> Iterator[pa.RecordBatch]:
    """The chosen rows, or all rows, one block at a time."""
    rows = np.arange(len(source.ids)) if chosen is None else chosen
    schema = _schema(source)
    if not len(rows):
        yield pa.RecordBatch.from_pylist([], schema=schema)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        columns: list[Any] = [
            source.ids.take(pa.array(block)).combine_chunks(),
            fixed(source.text_hashes[block]),
            source.texts.take(pa.array(block)).combine_chunks(),
        ]
        if "vector" in schema.names:
            vectors = source.take(block)
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _merge(before: Path, home: Path, source: LanceSource) -> bool:
    """Hard-link the older table and apply the differences; False if a new table is better."""
    old = lancedb.connect(before.parent).open_table(source.name)
    if old.schema != _schema(source) or not old.count_rows() or not len(source.ids):
        return False
    known = old.search().select(["id", "text_hash"]).limit(old.count_rows()).to_arrow()
    place = np.asarray(pc.fill_null(pc.index_in(known["id"], source.ids.combine_chunks()), -1))
    is_same = (place >= 0) & (raw(known["text_hash"].combine_chunks()) == source.text_hashes[place])
    fresh = np.ones(len(source.ids), np.bool_)
    fresh[place[is_same]] = False
    chosen, gone = np.flatnonzero(fresh), known["id"].filter(pa.array(~is_same))
    if len(chosen) + len(gone) > _CHANGED_AT_MOST * max(1, len(source.ids)):
        return False
    shutil.copytree(before, home, copy_function=os.link)
    table = lancedb.connect(home.parent).open_table(source.name)
    for start in range(0, len(gone), _IDS_A_DELETE):
        quoted = ", ".join(f"'{i}'" for i in gone[start : start + _IDS_A_DELETE].to_pylist())
        table.delete(f"id IN ({quoted})")
    if len(chosen):
        table.add(pa.RecordBatchReader.from_batches(_schema(source), _batches(source, chosen)))
    _take_in(table)
    return True


def _take_in(table: Any) -> None:  # noqa: ANN401  lancedb ships no types
    """Add rows to the indexes once enough are unindexed."""
    outside = max((index.num_unindexed_rows for index in table.list_indices()), default=0)
    if outside <= _UNINDEXED_AT_MOST * table.count_rows():
        return
    with warnings.catch_warnings():  # nobody reads older versions: the copy is not published yet
        warnings.filterwarnings("ignore", message="optimize\\(cleanup_older_than=0\\)", category=UserWarning)
        table.optimize(cleanup_older_than=timedelta(0))
