"""The SQL sandbox: checked text, a locked read-only connection, bounded time and memory."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.errors import FilterError, nearest
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import Allowed
from sag_retrieval.release.key_filters import in_words_of_schema
from sag_retrieval.release.sandbox_results import IdPairs, NamedIds, RowMaps, restrict
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.sql_check import IDS, check_sql, checked_text
from sag_retrieval.release.sql_process import (
    QueryEnded,
    SqlProcesses,
    interrupted_after,
    kind_of,
    locked_connection,
    named_in,
)
from sag_retrieval.release.where import EVERYTHING, compile_where, key_types_of

_KEPT: Final = 64
Restriction = str | tuple[str, ...] | None
"""SQL that restricts what may be found; of several, each must hold."""
_TABLES: Final = {"event_id": "events", "chunk_id": "chunks", "document_id": "documents"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Bounds of one query, and the metadata names that `where` takes without their prefix."""

    seconds: float = 5.0
    memory: str = "1GB"
    threads: int = 1
    rows: int = 1_000_000
    """Rows that a SELECT may give."""
    size: int = 1_000_000_000
    """Bytes that they may take."""
    scope: tuple[str, ...] = ()
    schema: KeySchema = field(default_factory=default_schema)
    """The key types of the release."""


class SqlSandbox:
    """A release's tables behind checks; safe to share between threads."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table], options: SandboxOptions
    ) -> None:
        """Hold a locked connection to an empty database, and the tables, each opened when a query first names it."""
        self._connection = connection
        self._tables = tables
        self._seen: dict[str, tuple[pa.Table, duckdb.DuckDBPyRelation]] = {}
        self._options = options
        self._kept: OrderedDict[str, Allowed] = OrderedDict()
        self._lock = Lock()
        self._outside = SqlProcesses(
            tables, seconds=options.seconds, memory=options.memory, rows=options.rows, size=options.size
        )

    def ids(self, sql: str) -> tuple[str, tuple[str, ...]]:
        """The kind of id that `sql` names (`event_id`, `chunk_id` or `document_id`) and the ids, sorted.

        Raises:
            FilterError: If `sql` is refused, wrong, or takes longer or more memory than allowed.
            ReleaseError: If a table that it names is damaged.

        """
        kind, query = self._checked(sql)
        named = f'SELECT DISTINCT CAST(t."{kind}" AS VARCHAR) AS id FROM ({query}) AS t WHERE id IS NOT NULL'  # noqa: S608  checked
        return kind, tuple(self._run(f"{named} ORDER BY id")["id"].to_pylist())

    def select(self, sql: str) -> pa.Table:
        """The rows of a SELECT, in its order.

        Raises:
            FilterError: If `sql` is refused, wrong, or takes longer, more memory or more rows than allowed.
            ReleaseError: If a table that it names is damaged.

        """
        checked = check_sql(sql)
        if checked.is_condition:
            raise FilterError("sql refused: a condition alone selects nothing here; write SELECT … FROM … WHERE …")
        found = self._run(checked.sql, "sql")
        twice = sorted({name for name in found.column_names if found.column_names.count(name) > 1})
        if twice:
            raise FilterError(f"sql refused: several columns are called {twice[0]!r}; name them apart with AS")
        return _plain_numbers(found)

    def _run(self, query: str, what: str = "filter") -> pa.Table:
        """The rows of a query from outside, which runs in a process of its own."""
        try:
            return self._outside.run(query)
        except QueryEnded as ended:
            raise self._refusal(ended.kind, str(ended), what, query) from ended

    def _refusal(self, kind: str, text: str, what: str, query: str) -> FilterError:
        """Why a query gave no rows, and what to do."""
        bounds = self._options
        if kind == "time":
            return FilterError(f"{what} took longer than {bounds.seconds:g} s; make it narrower")
        if kind == "memory":
            return FilterError(f"{what} needs more memory than {bounds.memory}; make it narrower")
        if kind == "size":
            most = f"{bounds.rows:,} rows or {bounds.size:,} bytes"
            return FilterError(f"{what} gives more than {most}; select fewer columns or add LIMIT")
        return FilterError(f"{what} refused: {_unknown_column(text, query) or text.splitlines()[0]}")

    def allowed(self, sql: Restriction = None, where: Mapping[str, object] | None = None) -> Allowed | None:
        """The rows that `sql` and `where` together allow; None without a restriction.

        Raises:
            FilterError: If either is refused.

        Source:
            docs/algorithm.md §filters.3

        """
        where = in_words_of_schema(where, self._options.schema, lambda: self.key_types)
        condition = compile_where({} if where is None else where, self._options.scope)
        restrictions = () if sql is None else sql if isinstance(sql, tuple) else (sql,)
        asked = repr((tuple(map(checked_text, restrictions)), condition))
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                return self._kept[asked]
        named = [*map(self._named_by_sql, restrictions), *self._named_by_where(where)]
        if not named:
            return None
        left = restrict(self.places, named)
        with self._lock:
            self._kept[asked] = left
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return left

    @cached_property
    def places(self) -> RowMaps:
        """The rows that belong together, read once."""
        (chunk_document,) = self._rows('SELECT document_row FROM chunks ORDER BY "row"')
        (event_chunk,) = self._rows('SELECT chunk_row FROM events ORDER BY "row"')
        (documents,), (keys,) = (
            self._rows(f"SELECT count(*) FROM {table}")[0]  # noqa: S608  our own names
            for table in ("documents", "keys")
        )
        return RowMaps(
            chunk_document, event_chunk, self._links("event"), self._links("chunk"), int(documents), int(keys)
        )

    @cached_property
    def key_types(self) -> tuple[str, ...]:
        """Types of the release's keys, sorted, read once."""
        return tuple(self._fetch("SELECT DISTINCT key_type FROM keys ORDER BY 1", ())["key_type"].tolist())

    def close(self) -> None:
        """End the processes of outside SQL, and close the database."""
        self._outside.close()
        self._connection.close()

    def _checked(self, sql: str) -> tuple[str, str]:
        query = check_sql(sql).sql
        columns = self._run(f"SELECT * FROM ({query}) LIMIT 0").column_names  # noqa: S608  checked
        if len(columns) != 1 or columns[0].lower() not in IDS:
            raise FilterError(f"sql must return one column, {' or '.join(IDS)}; it returns {columns}")
        return columns[0].lower(), query

    def _named_by_sql(self, sql: str) -> NamedIds:
        kind, query = self._checked(sql)
        table = _TABLES[kind]
        named = f'SELECT "{kind}" FROM ({query})'  # noqa: S608  checked
        found = self._run(f'SELECT t."row" AS r FROM {table} AS t WHERE t.{kind} IN ({named})')  # noqa: S608
        return NamedIds(table, found["r"].to_numpy())

    def _named_by_where(self, where: Mapping[str, object] | None) -> Iterator[NamedIds]:
        condition = compile_where({} if where is None else where, self._options.scope)
        if condition.sql == EVERYTHING:
            return
        unknown = next(
            (name for name in key_types_of(where or {}, self._options.scope) if name not in self.key_types), None
        )
        if unknown is not None:
            known = ", ".join(self.key_types)
            raise FilterError(
                f"no key of this release has the type {unknown!r}{nearest(unknown, self.key_types)}; it has {known}"
            )
        events = "events AS e JOIN documents AS d ON d.document_id = e.document_id"
        table, source = ("e", events) if condition.needs_event else ("d", "documents AS d")
        query = f'SELECT {table}."row" AS r FROM {source} WHERE {condition.sql}'  # noqa: S608  compiled
        found = self._fetch(query, condition.parameters)
        yield NamedIds("events" if condition.needs_event else "documents", found["r"])

    def _fetch(self, query: str, parameters: tuple[Any, ...]) -> dict[str, npt.NDArray[Any]]:
        with self._cursor(query) as cursor:
            found = cursor.execute(query, list(parameters)).fetchnumpy()
        return {name: np.ma.getdata(values) for name, values in found.items()}

    @contextmanager
    def _cursor(self, query: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for a query of our own, with the bounds of time and memory that DuckDB keeps."""
        self._show(query)
        try:
            with interrupted_after(self._connection, self._options.seconds) as cursor:
                yield cursor
        except (duckdb.Error, OSError) as error:
            raise self._refusal(kind_of(error), str(error), "filter", query) from error

    def _show(self, query: str) -> None:
        """Make the tables that a query names, and perhaps others, views over their Arrow rows."""
        wanted = named_in(query, self._tables) - set(self._seen)
        for name in sorted(wanted):
            rows = self._tables[name]
            with self._lock:
                if name not in self._seen:
                    view = self._connection.from_arrow(rows)
                    view.create_view(name)
                    self._seen[name] = rows, view  # DuckDB reads them where they lie

    def _links(self, owner: str) -> IdPairs:
        """Row numbers of all links between a table and keys."""
        owners, keys = self._rows(
            f'SELECT o."row" AS a, k."row" AS b FROM {owner}_keys '  # noqa: S608  our own names
            f"JOIN {owner}s AS o USING ({owner}_id) JOIN keys AS k USING (key_id)"
        )
        return owners, keys

    def _rows(self, query: str) -> list[Rows]:
        return [values.astype(np.int32) for values in self._fetch(query, ()).values()]


def _plain_numbers(table: pa.Table) -> pa.Table:
    """The same with whole sums as integers and other decimals as floats: DuckDB sums in 128 bits."""
    for place, one in enumerate(table.schema):
        if pa.types.is_decimal(one.type):
            kind = pa.int64() if one.type.scale == 0 else pa.float64()
            try:
                column = table.column(place).cast(kind)
            except pa.ArrowInvalid:
                column = table.column(place).cast(pa.float64())
            table = table.set_column(place, one.name, column)
    return table


_WORD: Final = re.compile(r"\w+")
_NO_COLUMN: Final = re.compile(r'column "([^"]+)" not found|does not have a column named "([^"]+)"')


def _unknown_column(said: str, query: str) -> str:
    """Which column does not exist, and those of the tables that the query names; empty for any other error."""
    found = _NO_COLUMN.search(said)
    if found is None:
        return ""
    name, words = found[1] or found[2], set(_WORD.findall(query.lower()))
    tables = {table: TABLES[table].names for table in sorted(words & set(TABLES))}
    listed = "; ".join(f"{table} has {', '.join(columns)}" for table, columns in tables.items())
    near = nearest(name, [column for columns in tables.values() for column in columns])
    return f"there is no column {name!r}{near}{f'; {listed}' if listed else ''}"


def open_sandbox(tables: Mapping[str, pa.Table], *, options: SandboxOptions | None = None) -> SqlSandbox:
    """Open tables for checked queries; the database itself stays empty, and reads no file.

    Args:
        tables: By name; numbered ones have the columns `row`, `chunk_row` and `document_row` besides.
        options: Bounds of a query.

    """
    options = options or SandboxOptions()
    connection = locked_connection(options.memory, options.threads)
    return SqlSandbox(connection, tables, options)


def write_database(path: Path, tables: Mapping[str, pa.Table]) -> None:
    """Write tables to a new DuckDB file, for other programs."""
    with duckdb.connect(str(path), config={"memory_limit": "1GB"}) as connection:
        for name, rows in tables.items():
            connection.from_arrow(rows).create(name)
        connection.execute("CHECKPOINT")
