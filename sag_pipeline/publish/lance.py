"""The Lance tables of a release: texts for full-text search, dense vectors with an index when they are many."""

import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lancedb.index import FTS, BTree, IvfSq

from sag_pipeline.store.vectors import VectorIds
from sag_retrieval.release.vectors import EXACT_ROWS, DenseVectors, VectorSet

_BLOCK = 50_000
_CHANGED_AT_MOST = 0.2
"""With more rows changed than this share, writing anew is faster than merging, and keeps the index good."""
_IDS_A_DELETE = 2_000
_RECALL_GOAL = 0.95
_QUESTIONS = 64
_PROBES = (20, 50, 100, 200, 400, 800)


@dataclass(frozen=True, slots=True)
class LanceSource:
    """What one Lance table holds: ids and texts by row number, and vectors (none for text alone)."""

    name: str
    ids: pa.ChunkedArray
    texts: list[str]
    text_hashes: VectorIds
    vectors: VectorSet | None


def write_lance(folder: Path, source: LanceSource, previous: Path | None) -> Mapping[str, Any]:
    """Write or bring up to date one table; what index it has, as the manifest keeps it.

    Where a previous release has the same table, its immutable files are hard-linked and only changed rows are
    merged, so that the work follows the change and the older release stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    home = folder / f"{source.name}.lance"
    before = previous / f"{source.name}.lance" if previous else None
    if before is None or not before.is_dir() or not _merge(before, home, source):
        shutil.rmtree(home, ignore_errors=True)
        table = lancedb.connect(folder).create_table(source.name, _batches(source, None), schema=_schema(source))
        _build_indexes(table, source)
    return _calibrate(lancedb.connect(folder).open_table(source.name), source)


def _schema(source: LanceSource) -> pa.Schema:
    fields = [
        pa.field("id", pa.string()),
        pa.field("text_hash", pa.binary(16)),
        pa.field("text", pa.string()),
    ]
    if isinstance(source.vectors, DenseVectors):
        fields.append(pa.field("vector", pa.list_(pa.float32(), source.vectors.dimension)))
    return pa.schema(fields)


def _batches(source: LanceSource, chosen: np.ndarray[Any, Any] | None) -> Iterator[pa.RecordBatch]:
    rows = np.arange(len(source.texts)) if chosen is None else chosen
    schema = _schema(source)
    if not len(rows):
        yield pa.RecordBatch.from_pylist([], schema=schema)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        hashes = np.ascontiguousarray(source.text_hashes[block])
        columns: list[Any] = [
            source.ids.take(pa.array(block)).combine_chunks(),
            pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(block), [None, pa.py_buffer(hashes.tobytes())]),
            pa.array([source.texts[row] for row in block], pa.string()),
        ]
        if isinstance(source.vectors, DenseVectors):
            flat = pa.array(np.ascontiguousarray(source.vectors.take(block.astype(np.int32))).ravel())
            columns.append(pa.FixedSizeListArray.from_arrays(flat, source.vectors.dimension))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _merge(before: Path, home: Path, source: LanceSource) -> bool:
    """Link the older table and merge what differs; False where a table written anew is better."""
    old = lancedb.connect(before.parent).open_table(source.name)
    if old.schema.names != _schema(source).names or not old.count_rows():
        return False
    known = old.search().select(["id", "text_hash"]).limit(old.count_rows()).to_arrow()
    gone = known["id"].filter(pc.invert(pc.is_in(known["id"], source.ids.combine_chunks())))
    place = pc.index_in(source.ids, known["id"].combine_chunks())
    old_hash = known["text_hash"].combine_chunks().take(place.combine_chunks())
    fresh = np.array([h or b"" for h in old_hash.to_pylist()], "S16") != source.text_hashes
    chosen = np.flatnonzero(fresh)
    if len(chosen) + len(gone) > _CHANGED_AT_MOST * max(1, len(source.texts)):
        return False
    shutil.copytree(before, home, copy_function=os.link)
    table = lancedb.connect(home.parent).open_table(source.name)
    if len(chosen):
        rows = pa.RecordBatchReader.from_batches(_schema(source), _batches(source, chosen))
        table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
    for start in range(0, len(gone), _IDS_A_DELETE):
        quoted = ", ".join(f"'{i}'" for i in gone[start : start + _IDS_A_DELETE].to_pylist())
        table.delete(f"id IN ({quoted})")
    if len(chosen) or len(gone):
        with (
            warnings.catch_warnings()
        ):  # other readers of older versions: there are none, the copy is not published yet
            warnings.filterwarnings("ignore", message="optimize\\(cleanup_older_than=0\\)", category=UserWarning)
            table.optimize(cleanup_older_than=timedelta(0))
    return True


def _build_indexes(table: Any, source: LanceSource) -> None:  # noqa: ANN401  lancedb ships no types
    if not source.texts:
        return
    table.create_index("id", config=BTree())
    table.create_index("text", config=FTS(base_tokenizer="icu", with_position=False))
    if isinstance(source.vectors, DenseVectors) and len(source.texts) > EXACT_ROWS:
        table.create_index("vector", config=IvfSq(distance_type="cosine"))


def _calibrate(table: Any, source: LanceSource) -> Mapping[str, Any]:  # noqa: ANN401
    """Probes that reach the recall goal on sampled rows, measured against the exact scan."""
    vectors = source.vectors
    if not isinstance(vectors, DenseVectors) or len(source.texts) <= EXACT_ROWS:
        return {"kind": "none", "rows": len(source.texts)}
    rows = np.linspace(0, len(source.texts) - 1, _QUESTIONS).astype(np.int32)
    questions = np.asarray(vectors.take(rows))
    ids = np.array(source.ids.to_pylist())
    truth = [set(ids[vectors.top(q, 50)[0]]) for q in questions]
    recall, probes = 0.0, _PROBES[0]
    for probes in _PROBES:
        found = [
            set(
                table.search(q)
                .distance_type("cosine")
                .nprobes(probes)
                .refine_factor(3)
                .select(["id", "_distance"])
                .limit(50)
                .to_arrow()["id"]
                .to_pylist()
            )
            for q in questions
        ]
        recall = sum(len(f & t) / max(1, len(t)) for f, t in zip(found, truth, strict=True)) / len(truth)
        if recall >= _RECALL_GOAL:
            break
    return {
        "kind": "IVF_SQ",
        "rows": len(ids),
        "nprobes": probes,
        "refine_factor": 3,
        "recall_at_50": round(recall, 4),
    }
