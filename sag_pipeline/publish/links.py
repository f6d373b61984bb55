"""The links of a release: keys as documents spell them, aligned over all documents, and who carries which."""

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from sag_pipeline.steps.align import Aligned, KeyColumns, align_keys
from sag_pipeline.store.store import Store
from sag_retrieval.release.schema import TABLES
from sag_retrieval.text import normal_name

LINK_TABLES = ("event_keys", "canonical", "key_names", "key_aliases")
"""Kept whole: links by aligned key (a chunk's main key has the chunk's id as `event_id`), the key each key was aligned
to, its folded name, and the other names of each key."""

_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY key_id ORDER BY key_id
"""
_SAID = """
    SELECT key_id, same_as FROM raw_keys
    WHERE same_as IN (SELECT key_id FROM raw_keys WHERE value_string IS NOT NULL) AND value_string IS NOT NULL
    ORDER BY 1, 2
"""
_LINKED = """
    SELECT DISTINCT event_id, coalesce(c.canonical, k.key_id) AS key_id
    FROM raw_keys k LEFT JOIN canonical c USING (key_id) ORDER BY 1, 2
"""


def make_links(store: Store) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` from the current keys of all documents."""
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    try:
        _collect(connection, store.scan("keys"))
        distinct = connection.sql(_DISTINCT).to_arrow_table()
        names = [normal_name(value) if value else "" for value in distinct["value_string"].to_pylist()]
        said = connection.sql(_SAID).fetchall()
        rows = align_keys(_text_keys(distinct, names), said=said).rows
        canonical = pa.table(
            {"key_id": [row.alias_key_id for row in rows], "canonical": [row.key_id for row in rows]},
            schema=pa.schema({"key_id": pa.string(), "canonical": pa.string()}),
        )
        connection.register("canonical", canonical)
        linked = connection.sql(_LINKED).to_arrow_table()
    finally:
        connection.close()
    return {
        "event_keys": linked,
        "canonical": canonical,
        "key_names": pa.table({"key_id": distinct["key_id"], "name": pa.array(names, pa.string())}),
        "key_aliases": _aliases(rows),
    }


def _text_keys(distinct: pa.Table, names: Sequence[str]) -> KeyColumns:
    rows = [n for n, value in enumerate(distinct["value_string"].to_pylist()) if value is not None]
    columns = [distinct[c].take(pa.array(rows, pa.int64())).to_pylist() for c in _KEY_COLUMNS]
    ids, types, values, counts = columns
    return KeyColumns(ids, types, values, [names[row] for row in rows], counts)


_KEY_COLUMNS = ("key_id", "key_type", "value_string", "event_count")


def _aliases(rows: Sequence[Aligned]) -> pa.Table:
    schema = TABLES["key_aliases"].remove_metadata()
    unique = {(row.key_id, row.alias): row for row in rows}
    columns = {
        "alias": [row.alias for row in unique.values()],
        "key_id": [row.key_id for row in unique.values()],
        "reason": [row.reason for row in unique.values()],
        "score": [float(row.score) for row in unique.values()],
    }
    return pa.table(columns, schema=pa.schema([f.remove_metadata() for f in schema])).sort_by(
        [("key_id", "ascending"), ("alias", "ascending")]
    )


def event_counts(linked: pa.Table) -> pa.Table:
    """How many events carry each key: columns key_id, event_count."""
    connection = duckdb.connect()
    try:
        connection.register("linked", linked)
        return connection.sql(
            "SELECT key_id, count(*)::INTEGER AS event_count FROM linked WHERE event_id[1] = 'e' GROUP BY 1 ORDER BY 1"
        ).to_arrow_table()
    finally:
        connection.close()


def _collect(connection: duckdb.DuckDBPyConnection, parts: Iterator[pa.Table]) -> None:
    connection.execute(
        "CREATE TABLE raw_keys "
        "(event_id VARCHAR, key_id VARCHAR, key_type VARCHAR, value_string VARCHAR, same_as VARCHAR)"
    )
    for rows in parts:
        connection.register("rows", rows)
        connection.execute("INSERT INTO raw_keys SELECT event_id, key_id, key_type, value_string, same_as FROM rows")
        connection.unregister("rows")
