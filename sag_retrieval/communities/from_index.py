"""The events of a release, or those a restriction leaves, as the table that reports are written from."""

import numpy as np
import pyarrow as pa

from sag_retrieval.communities.events import Chunks, Documents, EventLinks, EventTable, Flags, Keys, Rows
from sag_retrieval.release.index import Index


def event_table(index: Index, allowed: Flags | None = None) -> EventTable:
    """The events whose flag is set (None: all), with chunks, documents, keys and vectors, in release order.

    Flags are left out of the keys: they tell nothing by being shared.

    Args:
        index: An opened release.
        allowed: Shape (events,), such as `door.allowed(sql, where).events`.

    """
    arrays = index.arrays
    chosen = np.arange(arrays.event_count) if allowed is None else np.flatnonzero(allowed)
    event_rows = chosen.astype(np.int32)
    columns = ["event_id", "content", "start", "end", "date"]
    events = index.rows["events"].select(columns).take(pa.array(event_rows))
    chunk_rows, chunk = np.unique(arrays.event_chunk[event_rows], return_inverse=True)
    document_rows, document = np.unique(arrays.chunk_document[chunk_rows], return_inverse=True)
    key_rows, links = _links(index, event_rows)
    chunks = index.rows["chunks"].select(["chunk_id", "text", "start"]).take(pa.array(chunk_rows))
    texts = chunks["text"].to_pylist()
    return EventTable(
        event_ids=events["event_id"].to_pylist(),
        contents=events["content"].to_pylist(),
        chunk=chunk.astype(np.int32),
        spans=_spans(events, chunks["start"].to_numpy()[chunk], np.array([len(text) for text in texts])[chunk]),
        dates=events["date"].to_pylist(),
        chunks=Chunks(chunk_ids=chunks["chunk_id"].to_pylist(), texts=texts, document=document.astype(np.int32)),
        documents=_documents(index, document_rows),
        keys=_keys(index, key_rows),
        links=links,
        vectors=arrays.vectors["events"].take(event_rows),
    )


def _links(index: Index, event_rows: Rows) -> tuple[Rows, EventLinks]:
    lists = index.arrays.event_keys
    counts = np.diff(lists.starts)[event_rows]
    first = np.repeat(lists.starts[:-1][event_rows] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    carried = lists.items[first + np.arange(int(counts.sum()))]
    event = np.repeat(np.arange(len(event_rows), dtype=np.int32), counts)
    is_flag = index.rows["keys"]["value_bool"].is_valid().to_numpy()[carried]
    key_rows, key = np.unique(carried[~is_flag], return_inverse=True)
    return key_rows.astype(np.int32), EventLinks(event=event[~is_flag], key=key.astype(np.int32))


def _spans(events: pa.Table, chunk_start: Rows, chunk_length: Rows) -> Rows:
    """Spans in the chunk's text; -1 where the release does not know them or they reach beyond the chunk."""
    start, end = (
        events[name].fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) - chunk_start
        for name in ("start", "end")
    )
    known = (start >= 0) & (end > start) & (end <= chunk_length)
    return np.where(known[:, None], np.column_stack([start, end]), -1).astype(np.int32)


def _documents(index: Index, rows: Rows) -> Documents:
    table = index.rows["documents"].select(["document_id", "title", "language"]).take(pa.array(rows))
    return Documents(
        document_ids=table["document_id"].to_pylist(),
        titles=table["title"].to_pylist(),
        languages=table["language"].to_pylist(),
    )


def _keys(index: Index, rows: Rows) -> Keys:
    names = ["key_type", "value_string", "value_number", "unit"]
    table = index.rows["keys"].select(names).take(pa.array(rows))
    return Keys(
        types=table["key_type"].to_pylist(),
        values=[_shown(*row) for row in zip(*(table[name].to_pylist() for name in names[1:]), strict=True)],
        is_text=table["value_string"].is_valid().to_numpy(),
    )


def _shown(text: str | None, number: float | None, unit: str | None) -> str:
    if text is not None:
        return text
    value = number or 0.0
    shown = f"{value:,.0f}" if value.is_integer() else f"{value:,g}"
    return f"{shown} {unit}" if unit and unit.isascii() else f"{shown}{unit or ''}"
