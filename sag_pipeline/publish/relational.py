"""The relational tables of a release, made by DuckDB from the store's Parquet tables."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from sag_pipeline.store.store import Store
from sag_retrieval.release.schema import ORDER, TABLES

NUMBERED = ("documents", "sections", "chunks", "events", "keys")
"""Tables whose rows have numbers: the column `row`, the position in every array."""

_KEEP = "row_number() OVER (ORDER BY {order}) - 1 AS row"

_STATEMENTS = {
    "documents": """
        SELECT {row}, d.document_id, d.source, d.title, d.language, d.text, coalesce(s.summary, '') AS summary,
               d.metadata, d.version, length(d.text)::INTEGER AS char_count
        FROM raw_documents d LEFT JOIN raw_summaries s USING (document_id)
    """,
    "sections": "SELECT {row}, * FROM raw_sections",
    "chunks": """
        SELECT {row}, d.row AS document_row, c.*, m.key_id AS main_key_id
        FROM raw_chunks c JOIN documents d USING (document_id)
        LEFT JOIN (SELECT event_id AS chunk_id, min(key_id) AS key_id FROM linked GROUP BY 1) m USING (chunk_id)
    """,
    "events": """
        SELECT row_number() OVER (ORDER BY c.row, e.event_index) - 1 AS row, c.row AS chunk_row, c.document_row,
               e.*, t.date
        FROM raw_events e JOIN chunks c USING (chunk_id, document_id)
        LEFT JOIN (
            SELECT event_id, rtrim(min(value_string || '~'), '~') AS date  -- '~' sorts a whole day before its year
            FROM raw_keys WHERE key_type = 'date' AND value_string IS NOT NULL GROUP BY 1
        ) t USING (event_id)
    """,
    "event_keys": """
        SELECT event_id, key_id FROM linked JOIN events USING (event_id) ORDER BY event_id, key_id
    """,
    "chunk_pairs": """
        SELECT DISTINCT e.chunk_id, k.key_id FROM event_keys k JOIN events e USING (event_id)
        UNION SELECT chunk_id, main_key_id FROM chunks WHERE main_key_id IS NOT NULL
    """,
    "keys": """
        SELECT {row}, k.key_id, k.key_type, k.value_string, k.value_number, k.value_bool, k.unit, n.name,
               coalesce(i.event_count, 0)::INTEGER AS event_count, p.chunk_count, p.document_count,
               coalesce(i.idf, ln(greatest((SELECT count(*) FROM events), 1))) AS idf
        FROM (
            SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
                   any_value(value_number) AS value_number, any_value(value_bool) AS value_bool, min(unit) AS unit
            FROM raw_keys GROUP BY 1
        ) k
        JOIN key_names n USING (key_id)
        JOIN (
            SELECT key_id, count(*)::INTEGER AS chunk_count, count(DISTINCT document_id)::INTEGER AS document_count
            FROM chunk_pairs JOIN chunks USING (chunk_id) GROUP BY 1
        ) p USING (key_id)
        LEFT JOIN raw_idf i USING (key_id)
    """,
    "chunk_keys": """
        SELECT chunk_id, key_id, greatest(1, CASE WHEN coalesce(value_string, '') = '' THEN 1 ELSE
                   (length(c.folded) - length(replace(c.folded, lower(value_string), ''))) // length(value_string)
               END)::INTEGER AS count, main_key_id IS NOT DISTINCT FROM key_id AS is_main
        FROM chunk_pairs JOIN (SELECT chunk_id, main_key_id, lower(text) AS folded FROM chunks) c USING (chunk_id)
        JOIN keys USING (key_id) ORDER BY chunk_id, key_id
    """,
    "key_aliases": """
        SELECT alias, key_id, reason, score FROM raw_key_aliases
        WHERE key_id IN (SELECT key_id FROM keys) ORDER BY key_id, alias
    """,
    "triples": """
        SELECT t.* REPLACE (coalesce(h.canonical, t.head_key_id) AS head_key_id,
                            coalesce(x.canonical, t.tail_key_id) AS tail_key_id)
        FROM raw_triples t LEFT JOIN canonical h ON h.key_id = t.head_key_id
        LEFT JOIN canonical x ON x.key_id = t.tail_key_id
        WHERE event_id IN (SELECT event_id FROM events) ORDER BY document_id, triple_id
    """,
    "calls": "SELECT * FROM raw_calls ORDER BY document_id, step, call_id",
}
_SCRATCH = ("linked", "canonical", "key_names", "chunk_pairs")


def build_tables(path: Path, store: Store) -> None:
    """Write the DuckDB file of a release from the current state of the store.

    Besides the columns of the schema, numbered tables have `row`; events have `chunk_row`, both it and chunks
    `document_row`.
    """
    connection = duckdb.connect(str(path), config={"memory_limit": "2GB", "preserve_insertion_order": True})
    try:
        _load(connection, store)
        for table, select in _STATEMENTS.items():
            row = _KEEP.format(order=", ".join(ORDER[table])) if table in NUMBERED and table != "events" else ""
            ordered = f"SELECT * FROM ({select.format(row=row)}) ORDER BY row" if table in NUMBERED else select
            connection.execute(f"CREATE TABLE {table} AS {ordered}")
        for table in (*_SCRATCH, *(t for (t,) in connection.execute(_RAW_TABLES).fetchall())):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


_RAW_TABLES = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'raw\\_%' ESCAPE '\\' ORDER BY 1"


def _load(connection: duckdb.DuckDBPyConnection, store: Store) -> None:
    for table in ("documents", "summaries", "sections", "chunks", "events", "keys", "triples", "calls"):
        batches = _batches(store.scan(table))
        connection.register("stream", batches)
        connection.execute(f"CREATE TEMP TABLE raw_{table} AS SELECT * FROM stream")
        connection.unregister("stream")
    for name, table in (("linked", "event_keys"), ("canonical", "canonical"), ("key_names", "key_names")):
        connection.register("stream", store.whole(table))
        connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM stream")
    for table in ("idf", "key_aliases"):
        connection.register("stream", store.whole(table))
        connection.execute(f"CREATE TEMP TABLE raw_{table} AS SELECT * FROM stream")


def _batches(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    first = next(tables)
    return pa.RecordBatchReader.from_batches(first.schema, (batch for table in tables for batch in table.to_batches()))


def read_rows(path: Path, tables: tuple[str, ...]) -> dict[str, pa.Table]:
    """Tables of a release's DuckDB file in the schema's columns and order."""
    connection = duckdb.connect(str(path), read_only=True)
    try:
        return {table: _rows(connection, table) for table in tables}
    finally:
        connection.close()


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> pa.Table:
    order = "row" if table in NUMBERED else ", ".join(ORDER[table])
    columns = ", ".join(f'"{name}"' for name in TABLES[table].names)  # `end` is a word of SQL
    found = connection.sql(f"SELECT {columns} FROM {table} ORDER BY {order}").to_arrow_table()
    return found.cast(pa.schema([f.remove_metadata() for f in TABLES[table]])).combine_chunks()
