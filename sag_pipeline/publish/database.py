"""The DuckDB file of a release, written from its tables."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from sag_pipeline.publish.relational import Relational
from sag_retrieval.release.schema import NUMBERED


def write_database(path: Path, made: Relational) -> None:
    """Write every table in its order.

    Besides the columns of the schema, numbered tables have `row`; events have `chunk_row`, both it and chunks
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
    besides = {"row": np.arange(len(rows))} | dict(made.numbers.get(name, {}))
    columns = {number: pa.array(values) for number, values in besides.items()}
    return pa.table(columns | {column: rows[column] for column in rows.column_names})
