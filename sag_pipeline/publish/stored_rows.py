"""What publishing asks of a store: queries over its rows, those of some documents by table, and hashes by table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final, Self

import duckdb
import pyarrow as pa

from sag_pipeline.store.parts import DocumentRows
from sag_pipeline.store.store import Store
from sag_pipeline.tables import RECORDS
from sag_retrieval.release.table import no_rows

_FEW: Final = 1_000
"""Documents whose rows one thread can query."""


def connection(store: Store, documents: int | None = None) -> closing[duckdb.DuckDBPyConnection]:
    """A connection for queries over tables that the caller registers, about this many documents; None: all.

    For few it is one of the ledger's database: opening another takes longer than small queries do.
    """
    if documents is not None and documents <= _FEW:
        return closing(store.ledger.cursor())
    return closing(duckdb.connect(config={"memory_limit": "2GB"}))


class StoredRows:
    """Queries over the rows of all documents of a store, or of some."""

    def __init__(self, store: Store, documents: Sequence[str] | None = None) -> None:
        """Keep which documents; `None`: all."""
        self._store = store
        self._rows = None if documents is None else _rows_by_table(store, documents)
        self._context = connection(store, None if documents is None else len(documents))

    def __enter__(self) -> Self:
        self._connection = self._context.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)

    def scan(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of a table, one part at a time; those of `calls` belong to no document."""
        if self._rows is None or table not in RECORDS:
            return self._store.scan(table, columns)
        rows = self._rows(table)
        return iter([rows.slice(0, 0), rows])  # the first one gives the columns, as in `Store.scan`

    def whole(self, table: str, schema: pa.Schema) -> pa.Table:
        """The rows of a table that is kept whole; none where it was not made yet."""
        rows = self._store.whole(table)
        return no_rows(schema) if rows is None else rows

    def query(self, sql: str, raw: tuple[str, ...] = (), **known: pa.Table) -> pa.Table:
        """Rows of a query over tables of the store (`raw_…`, streamed) and over given tables."""
        given: dict[str, object] = {f"raw_{name}": _stream(self.scan(name)) for name in raw} | dict(known)
        for name, rows in given.items():
            self._connection.register(name, rows)
        try:
            return self._connection.sql(sql).to_arrow_table()
        finally:
            for name in given:
                self._connection.unregister(name)


def state_hashes(store: Store, tables: Iterable[str]) -> dict[str, str]:
    """`Store.state_hash` of each table by itself."""
    names = sorted(tables)
    found = store.ledger.select(
        "WITH lines AS (SELECT unit, step, kind, concat_ws('|', unit, step, source, output_hash) AS line "
        "FROM current WHERE list_contains(?, step) AND status <> 'failed') "
        "SELECT step, md5(string_agg(line, '\n' ORDER BY unit, kind)) FROM lines GROUP BY step",
        names,
    )
    return dict.fromkeys(names, "") | {str(step): str(digest) for step, digest in found}


def _rows_by_table(store: Store, documents: Sequence[str]) -> Callable[[str], pa.Table]:
    """`Store.rows` of these documents for each table, with the ledger asked once for all."""
    with store.ledger.registered("wanted", pa.table({"wanted_id": pa.array(documents, pa.string())})):
        found = store.ledger.select(
            "SELECT step, part, list(unit ORDER BY unit) FROM by_document c JOIN wanted ON wanted_id = c.unit "
            "WHERE part <> '' GROUP BY 1, 2 ORDER BY 1, 2"
        )
    places: dict[str, dict[str, list[str]]] = {}
    for step, part, units in found:
        places.setdefault(str(step), {})[str(part)] = units  # type: ignore[assignment]

    def rows(table: str) -> pa.Table:
        return DocumentRows(store.parts, table, places.get(table, {})).of(documents).combine_chunks()

    return rows


def _stream(tables: Iterator[pa.Table]) -> pa.RecordBatchReader:
    first = next(tables)
    return pa.RecordBatchReader.from_batches(first.schema, (batch for table in tables for batch in table.to_batches()))
