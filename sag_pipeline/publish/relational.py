"""Build the tables of a release from the store, with links as row numbers, and write its DuckDB file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.publish.links import LINK_TABLES, KeyOwners, by_id, key_rows, key_table, whole_table
from sag_pipeline.store.store import Store
from sag_retrieval.core.types import Rows64
from sag_retrieval.release.arrays import GraphParts
from sag_retrieval.release.schema import NUMBERED, ORDER, TABLES

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


@dataclass(frozen=True, slots=True)
class Relational:
    """The tables of a release, its row numbers, and its links by row.

    Links are joined as numbers: sorting and joining ids takes ten times longer.
    """

    tables: Mapping[str, pa.Table]
    numbers: Mapping[str, Mapping[str, Rows64]]
    """Additional columns of numbered tables, such as the row of an event's chunk."""
    parts: GraphParts


def build_tables(store: Store) -> Relational:
    """The release's tables from the current state of the store, in the schema's columns and order."""
    links = {name: whole_table(store, name) for name in (*LINK_TABLES, "idf")}
    documents = _shaped("documents", _query(store, _DOCUMENTS, ("documents", "summaries")))
    chunks = _query(store, _CHUNKS, ("chunks",), placed_documents=_placed(documents, "document_id"))
    events = _query(
        store,
        _EVENTS,
        ("events",),
        placed_chunks=_placed(chunks, "chunk_id", "document_id"),
        event_dates=links["event_dates"],
    )
    chunk_document, event_chunk = (
        _numbers(rows, name) for rows, name in ((chunks, "document_row"), (events, "chunk_row"))
    )
    keyed = key_rows(links, chunks["chunk_id"], events["event_id"], event_chunk)
    keys = _shaped("keys", key_table(links, keyed, chunk_document, len(events)))
    counts = _counts(store, keyed, chunks, keys)
    tables = {
        "documents": documents,
        "chunks": _shaped("chunks", chunks.append_column("main_key_id", _taken(keys["key_id"], keyed.main))),
        "events": _shaped("events", events),
        "keys": keys,
        "event_keys": _event_keys(keyed, events, keys),
        "chunk_keys": _chunk_keys(keyed, chunks, keys, counts),
        "key_aliases": _shaped("key_aliases", _query(store, _ALIASES, key_aliases=links["key_aliases"], keys=keys)),
        "triples": _shaped(
            "triples",
            _query(store, _TRIPLES, ("triples",), canonical=links["canonical"], events=events.select(["event_id"])),
        ),
    }
    tables |= {name: _as_stored(store, name) for name in TABLES if name not in tables}
    numbers = {
        "chunks": {"document_row": chunk_document},
        "events": {"chunk_row": event_chunk, "document_row": chunk_document[event_chunk]},
    }
    return Relational(
        {name: tables[name] for name in TABLES},
        numbers,
        _parts(keyed, keys, counts, (event_chunk, chunk_document), len(documents)),
    )


def _as_stored(store: Store, name: str) -> pa.Table:
    """A table that is published as stored."""
    return _shaped(name, _query(store, f"SELECT * FROM raw_{name} ORDER BY {', '.join(ORDER[name])}", (name,)))


def _query(store: Store, sql: str, raw: tuple[str, ...] = (), **known: pa.Table) -> pa.Table:
    """Rows of a query over tables of the store (`raw_…`, streamed) and over given tables."""
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    try:
        for name in raw:
            connection.register(f"raw_{name}", _stream(store.scan(name)))
        for name, rows in known.items():
            connection.register(name, rows)
        return connection.sql(sql).to_arrow_table()
    finally:
        connection.close()


def _stream(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    first = next(tables)
    return pa.RecordBatchReader.from_batches(first.schema, (batch for table in tables for batch in table.to_batches()))


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


def _counts(store: Store, keyed: KeyOwners, chunks: pa.Table, keys: pa.Table) -> npt.NDArray[np.int32]:
    """Number of occurrences of each key of a chunk in its text, at least 1."""
    chunk, key = keyed.chunk_key.T
    pairs = pa.table({"place": np.arange(len(chunk)), "chunk": chunk, "key": key})
    found = _query(store, _COUNTS, pairs=pairs, texts=_placed(chunks, "text"), names=_placed(keys, "value_string"))
    return np.asarray(found["count"].to_numpy(), np.int32)


def _event_keys(keyed: KeyOwners, events: pa.Table, keys: pa.Table) -> pa.Table:
    event, key = keyed.event_key[by_id(keyed.event_key, events["event_id"])].T
    columns = {"event_id": _taken(events["event_id"], event), "key_id": _taken(keys["key_id"], key)}
    return _shaped("event_keys", pa.table(columns))


def _chunk_keys(keyed: KeyOwners, chunks: pa.Table, keys: pa.Table, counts: npt.NDArray[np.int32]) -> pa.Table:
    order = by_id(keyed.chunk_key, chunks["chunk_id"])
    chunk, key = keyed.chunk_key[order].T
    ids = {"chunk_id": _taken(chunks["chunk_id"], chunk), "key_id": _taken(keys["key_id"], key)}
    return _shaped("chunk_keys", pa.table(ids | {"count": counts[order], "is_main": keyed.main[chunk] == key}))


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


def write_database(path: Path, made: Relational) -> None:
    """Write every table in its order.

    In addition to the columns of the schema, numbered tables have `row`, events `chunk_row`, and events and chunks
    `document_row`.
    """
    connection = duckdb.connect(str(path), config={"memory_limit": "1GB", "preserve_insertion_order": True})
    try:
        for name in made.tables:
            connection.register("rows", _numbered(made, name))
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
            connection.unregister("rows")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


def _numbered(made: Relational, name: str) -> pa.Table:
    rows = made.tables[name]
    if name not in NUMBERED:
        return rows
    more = {"row": np.arange(len(rows))} | dict(made.numbers.get(name, {}))
    columns = {number: pa.array(values) for number, values in more.items()}
    return pa.table(columns | {column: rows[column] for column in rows.column_names})
