"""The tables of a DuckDB file as Arrow rows, as the SQL sandbox takes them, and those of a release."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from sag_retrieval.release.sandbox import SqlSandbox
from sag_retrieval.release.schema import TABLES


def tables_of(path: Path) -> dict[str, pa.Table]:
    """Every table of the file, by name."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return {name: connection.sql(f'FROM "{name}"').to_arrow_table() for name in names}


def ids_of(sandbox: SqlSandbox, sql: str) -> tuple[str, tuple[str, ...]]:
    """The kind of id that `sql` names (`event_id`, `chunk_id` or `document_id`) and the ids, sorted."""
    (named,) = sandbox.named(sql, None)
    column = f"{named.table[:-1]}_id"
    return column, tuple(sorted(sandbox.left.tables[named.table][column].take(pa.array(named.rows)).to_pylist()))


def open_tables(folder: Path) -> duckdb.DuckDBPyConnection:
    """The DuckDB file of a release, wherever the test runs."""
    return duckdb.connect(str(folder / "release.duckdb"), read_only=True, config={"file_search_path": str(folder)})


def rows_of_views(tables: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each view of the release's tables, sorted."""
    return {name: tables.sql(f"FROM {name} ORDER BY ALL").fetchall() for name in TABLES}


def plain_rows(rows: Mapping[str, pa.Table]) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each table of a release, sorted as DuckDB does."""
    with duckdb.connect() as connection:
        return {name: connection.from_arrow(rows[name]).order("ALL").fetchall() for name in TABLES}
