"""The tables of a DuckDB file as Arrow rows, as the SQL sandbox takes them, and those of a release."""

from pathlib import Path

import duckdb
import pyarrow as pa


def tables_of(path: Path) -> dict[str, pa.Table]:
    """Every table of the file, by name."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return {name: connection.sql(f'FROM "{name}"').to_arrow_table() for name in names}


def open_tables(folder: Path) -> duckdb.DuckDBPyConnection:
    """The DuckDB file of a release, wherever the test runs."""
    return duckdb.connect(str(folder / "release.duckdb"), read_only=True, config={"file_search_path": str(folder)})
