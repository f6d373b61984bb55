"""Build the tables of a release from the store, with links as row numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.publish.links import KeyOwners, Resolution, key_rows, key_table
from sag_pipeline.publish.stored_rows import StoredRows
from sag_pipeline.store.store import Store
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.arrays import GraphParts
from sag_retrieval.release.schema import ORDER, ROW_FILES, TABLES

_TAKEN: Final = 16_000_000
_DOCUMENTS = """
    SELECT d.document_id, d.source, d.title, d.language, d.text, coalesce(s.summary, '') AS summary, d.metadata,
           d.version, length(d.text)::INTEGER AS char_count
    FROM raw_documents d LEFT JOIN raw_summaries s USING (document_id) ORDER BY document_id
"""
_CHUNKS = """
    SELECT d.row AS document_row, c.*
    FROM raw_chunks c JOIN placed_documents d USING (document_id) ORDER BY document_id, chunk_index
"""
_EVENTS = """
    SELECT c.row AS chunk_row, e.*, coalesce(t.date, e.context_date) AS date,
           CASE WHEN t.date IS NULL THEN e.context_source ELSE 'text' END AS date_source
    FROM raw_events e JOIN placed_chunks c USING (chunk_id, document_id) LEFT JOIN event_dates t USING (event_id)
    ORDER BY c.row, e.event_index
"""
_COUNTS = """
    SELECT CASE WHEN k.folded = '' OR NOT contains(c.folded, k.folded) THEN 1 ELSE greatest(1,
               (length(c.folded) - length(replace(c.folded, k.folded, ''))) // length(k.value_string))
           END::INTEGER AS count
    FROM pairs p JOIN (SELECT row, lower(text) AS folded FROM texts) c ON c.row = p.chunk
    JOIN (SELECT row, value_string, lower(coalesce(value_string, '')) AS folded FROM names) k ON k.row = p.key
    ORDER BY p.place
"""
_ALIASES = "SELECT a.* FROM key_aliases a SEMI JOIN keys USING (key_id) ORDER BY key_id, alias"
_TRIPLES = """
    SELECT t.* REPLACE (coalesce(h.canonical, t.head_key_id) AS head_key_id,
                        coalesce(x.canonical, t.tail_key_id) AS tail_key_id)
    FROM raw_triples t LEFT JOIN canonical h ON h.key_id = t.head_key_id
    LEFT JOIN canonical x ON x.key_id = t.tail_key_id
    SEMI JOIN events e ON e.event_id = t.event_id ORDER BY document_id, triple_id
"""


_DATES = r"""
    SELECT event_id, min_by(value_string, (10 - length(value_string)) || value_string) AS date  -- a day before any year
    FROM raw_keys WHERE key_type = 'date' AND regexp_full_match(value_string, '\d{4}(-\d{2}(-\d{2})?)?')
    AND try_cast(value_string || '-01-01'[length(value_string) - 3:] AS DATE) >= DATE '0001-01-01'
    GROUP BY 1 ORDER BY 1
"""
_KEY_COLUMNS = ("event_id", "key_id", "key_type", "value_string")


@dataclass(frozen=True, slots=True)
class Relational:
    """The tables of a release or of a layer of one, and its links by row.

    Links are joined as numbers: sorting and joining ids takes ten times longer.
    """

    tables: Mapping[str, pa.Table]
    parts: GraphParts


def build_tables(
    store: Store,
    resolution: Resolution,
    documents: Sequence[str] | None = None,
    described: Rows64 | None = None,
) -> Relational:
    """Tables and links from the current state of the store, in the schema's columns and order; no tables of links.

    Args:
        store: Where the documents are.
        resolution: What keys stand for.
        documents: Which documents; None: all.
        described: StoredRows of distinct keys that are kept even where nothing carries them.

    """
    with StoredRows(store, documents) as rows:
        return _build(rows, resolution, np.zeros(0, np.int64) if described is None else described)


def _build(rows: StoredRows, resolution: Resolution, described: Rows64) -> Relational:
    raw_keys = pa.concat_tables([each.select(_KEY_COLUMNS) for each in rows.scan("keys", _KEY_COLUMNS)])
    documents = _shaped("documents", rows.query(_DOCUMENTS, ("documents", "summaries")))
    chunks = rows.query(_CHUNKS, ("chunks",), placed_documents=_placed(documents, "document_id"))
    events = rows.query(
        _EVENTS,
        ("events",),
        placed_chunks=_placed(chunks, "chunk_id", "document_id"),
        event_dates=rows.query(_DATES, raw_keys=raw_keys),
    )
    chunk_document, event_chunk = (
        _numbers(own, name) for own, name in ((chunks, "document_row"), (events, "chunk_row"))
    )
    keyed = key_rows(raw_keys, resolution, (chunks["chunk_id"], events["event_id"]), event_chunk, described)
    keys = _shaped("keys", key_table(resolution, keyed, chunk_document, len(events)))
    tables = {
        "documents": documents,
        "chunks": _shaped("chunks", chunks.append_column("main_key_id", _taken(keys["key_id"], keyed.main))),
        "events": _shaped("events", events),
        "keys": keys,
        "key_aliases": _shaped(
            "key_aliases", rows.query(_ALIASES, key_aliases=resolution.aliases, keys=keys.select(["key_id"]))
        ),
        "triples": _shaped(
            "triples",
            rows.query(_TRIPLES, ("triples",), canonical=resolution.canonical, events=events.select(["event_id"])),
        ),
    }
    tables |= {name: _as_stored(rows, name) for name in ROW_FILES if name not in tables}
    return Relational(
        {name: tables[name] for name in ROW_FILES},
        _parts(keyed, keys, _counts(rows, keyed, chunks, keys), (event_chunk, chunk_document), len(documents)),
    )


def _as_stored(rows: StoredRows, name: str) -> pa.Table:
    """A table that is published as stored."""
    found = pa.concat_tables(rows.scan(name))
    return _shaped(name, found.sort_by([(column, "ascending") for column in ORDER[name]]))


def _placed(rows: pa.Table, *columns: str) -> pa.Table:
    return rows.select(columns).append_column("row", pa.array(np.arange(len(rows))))


def _numbers(rows: pa.Table, name: str) -> Rows64:
    return np.asarray(rows[name].to_numpy(), np.int64)


def _shaped(name: str, rows: pa.Table) -> pa.Table:
    """Rows in the columns and types of the schema; equal rows give equal bytes, however they were made."""
    schema = TABLES[name]
    shaped = rows.select(schema.names).cast(pa.schema([f.remove_metadata() for f in schema])).combine_chunks()
    for place, field in enumerate(shaped.schema):
        if shaped[field.name].null_count:  # `take` clears the bytes below a null
            shaped = shaped.set_column(place, field, _again(shaped[field.name]))
    return shaped


def _again(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.take(pa.array(np.arange(len(chunk)))) for chunk in column.chunks], column.type)


def _taken(ids: pa.ChunkedArray, rows: Rows64) -> pa.ChunkedArray:
    """The id of each row; null for -1. In blocks, as the ids of all links may exceed the 2 GiB of an array."""
    whole = ids.combine_chunks()
    blocks = (rows[start : start + _TAKEN] for start in range(0, len(rows), _TAKEN))
    return pa.chunked_array([whole.take(pa.array(block, mask=block < 0)) for block in blocks], ids.type)


def _counts(rows: StoredRows, keyed: KeyOwners, chunks: pa.Table, keys: pa.Table) -> npt.NDArray[np.int32]:
    """Number of occurrences of each key of a chunk in its text, at least 1."""
    chunk, key = keyed.chunk_key.T
    pairs = pa.table({"place": np.arange(len(chunk)), "chunk": chunk, "key": key})
    found = rows.query(_COUNTS, pairs=pairs, texts=_placed(chunks, "text"), names=_placed(keys, "value_string"))
    return np.asarray(found["count"].to_numpy(), np.int32)


def _parts(
    keyed: KeyOwners, keys: pa.Table, counts: npt.NDArray[np.int32], owners: tuple[Rows64, Rows64], document_count: int
) -> GraphParts:
    return GraphParts(
        event_key=keyed.event_key.astype(np.int32),
        chunk_key=keyed.chunk_key.astype(np.int32),
        chunk_key_count=counts,
        event_chunk=owners[0].astype(np.int32),
        chunk_document=owners[1].astype(np.int32),
        chunk_main_key=keyed.main.astype(np.int32),
        key_idf=keys["idf"].to_numpy().astype(np.float32),
        document_count=document_count,
    )
