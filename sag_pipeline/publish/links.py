"""The links of a release: keys as documents spell them, aligned over all documents, and who carries which."""

from collections.abc import Callable, Iterator

import duckdb
import pyarrow as pa

from sag_pipeline.store.store import Store
from sag_retrieval.text import normal_name

LINK_TABLES = ("event_keys", "canonical", "key_names", "key_aliases")
"""Kept whole: links by aligned key (a chunk's main key has the chunk's id as `event_id`), the key each key was aligned
to, its folded name, and the other names of each key."""

_DISTINCT = """
    SELECT key_id, any_value(key_type) AS key_type, min(value_string) AS value_string,
           count(*) FILTER (event_id[1] = 'e')::INTEGER AS event_count
    FROM raw_keys GROUP BY key_id ORDER BY key_id
"""
_LINKED = """
    SELECT DISTINCT event_id, coalesce(c.canonical, k.key_id) AS key_id
    FROM raw_keys k LEFT JOIN canonical c USING (key_id) ORDER BY 1, 2
"""

AlignKeys = Callable[[pa.Table], tuple[pa.Table, pa.Table]]
"""Distinct keys (key_id, key_type, value_string, name, event_count) → (key_id, canonical) of those that were merged,
and the rows of table `key_aliases`."""


def make_links(store: Store, align: AlignKeys) -> dict[str, pa.Table]:
    """The tables of `LINK_TABLES` from the current keys of all documents."""
    connection = duckdb.connect(config={"memory_limit": "2GB"})
    try:
        _collect(connection, store.scan("keys"))
        distinct = connection.sql(_DISTINCT).to_arrow_table()
        names = pa.array([normal_name(v) if v else "" for v in distinct["value_string"].to_pylist()], pa.string())
        distinct = distinct.append_column("name", names)
        canonical, aliases = align(distinct)
        connection.register("canonical", canonical)
        linked = connection.sql(_LINKED).to_arrow_table()
    finally:
        connection.close()
    return {
        "event_keys": linked,
        "canonical": canonical,
        "key_names": distinct.select(["key_id", "name"]),
        "key_aliases": aliases,
    }


def event_counts(linked: pa.Table) -> pa.Table:
    """How many events carry each key: columns key_id, event_count; and the number of events with any key."""
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
        "CREATE TABLE raw_keys (event_id VARCHAR, key_id VARCHAR, key_type VARCHAR, value_string VARCHAR)"
    )
    for rows in parts:
        connection.register("rows", rows)
        connection.execute("INSERT INTO raw_keys SELECT event_id, key_id, key_type, value_string FROM rows")
        connection.unregister("rows")
