"""The SQL sandbox: text compared with an allow-list, a locked read-only connection, bounded time and memory.

Text from outside is parsed by DuckDB's own parser, and its syntax tree is checked node by node: whatever the lists
below do not name is refused.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import cache, cached_property
from threading import Lock
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.errors import FilterError, nearest, shown
from sag_retrieval.core.key_schema import KeySchema
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.core.types import Flags
from sag_retrieval.notebook import MOST_ROWS, render_table
from sag_retrieval.release.arrays import Allowed, Arrays, GraphParts, Index
from sag_retrieval.release.mapped_arrays import CsrLists
from sag_retrieval.release.schema import QUERYABLE, TABLES
from sag_retrieval.release.sql_process import (
    QueryEnded,
    SqlProcesses,
    interrupted_after,
    kind_of,
    locked_connection,
    named_in,
)
from sag_retrieval.release.table import LazyTables
from sag_retrieval.release.where import EVERYTHING, compile_where, in_words_of_schema, key_types_of

_EXPRESSIONS: Final = frozenset(
    """BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION OPERATOR STAR SUBQUERY TYPE
    WINDOW""".split()
)
_NODES: Final = frozenset(
    """ASCENDING BASE_TABLE DESCENDING DISTINCT_MODIFIER EMPTY EXPRESSION_LIST JOIN LIMIT_MODIFIER
    LIMIT_PERCENT_MODIFIER ORDER_DEFAULT ORDER_MODIFIER SELECT_NODE SET_OPERATION_NODE SUBQUERY""".split()
)
TYPES: Final = frozenset(
    """BOOLEAN BOOL TINYINT SMALLINT INTEGER INT BIGINT HUGEINT FLOAT REAL DOUBLE DECIMAL NUMERIC
    VARCHAR TEXT STRING CHAR DATE TIME TIMESTAMP JSON""".split()
)
_COLLATIONS: Final = frozenset({"nocase", "noaccent", "nfc", "binary"})
_FUNCTIONS: Final = frozenset(
    """+ - * / // % || ~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape
    regexp_matches regexp_full_match contains starts_with prefix ends_with suffix strpos instr position
    lower lcase upper ucase length len strlen char_length character_length
    substr substring left right trim ltrim rtrim concat
    nullif if ifnull least greatest abs round floor ceil ceiling trunc sign mod
    date_part date_trunc datediff date_diff year month day quarter week dayofweek
    to_days to_months to_years make_date strftime strptime try_strptime
    -> ->> json_extract json_extract_string json_extract_path json_extract_path_text
    json_type json_valid json_exists json_contains json_array_length json_structure
    count count_star sum avg mean min max median bool_and bool_or
    row_number rank dense_rank percent_rank has_key""".split()
)
"""No function that reads a file, a setting, the clock or chance, and none that makes long text from short."""
_NOT_COLUMNS: Final = frozenset(
    """current_date current_time current_timestamp localtime localtimestamp current_user
    session_user user current_role current_catalog current_database current_schema""".split()
)
"""Names that look like columns but are functions of the clock or the connection."""
LONGEST: Final = 4_000
_DEEPEST: Final = 100
KeyIds = Callable[[str], Sequence[str]]
_HAS_KEY: Final = "has_key"
_CTE_NAME = re.compile(r"[a-z_]\w*", re.ASCII | re.IGNORECASE)
_BARE = """SELECT events.event_id
FROM (SELECT e.*, d.* EXCLUDE (document_id, title, "row"), d AS documents
      FROM events AS e JOIN documents AS d ON d.document_id = e.document_id) AS events
WHERE ({})"""

_NESTING = re.compile(r"'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|[(\[{)\]}]|\b(?:case|end)\b", re.IGNORECASE)
_CLOSING = frozenset([")", "]", "}", "end"])
_lock = Lock()


@dataclass(frozen=True, slots=True)
class CheckedSql:
    """A query that passed: its text as the parser writes it, so that what was checked is what runs."""

    sql: str
    is_condition: bool


def check_sql(sql: str, keys_of: KeyIds | None = None) -> CheckedSql:
    """Check `sql`, one SELECT or a bare condition, which becomes the SELECT of the events for which it holds.

    `keys_of` gives the ids of the keys of a name, for `has_key('name')`: it holds for a row whose `event_id` has one.

    Raises:
        FilterError: If it is too long or too deep, neither a single SELECT nor a condition, or holds a part that the
            allow-list does not name; the message names the first such part.

    Source: docs/algorithm.md §filters.1.
    """
    if not _checked_text(sql).strip():
        raise FilterError("empty sql; give one SELECT, or a condition over `events`, or leave it out")
    if _depth(sql) > _DEEPEST:
        raise FilterError(f"sql refused: nested deeper than {_DEEPEST}")
    statements = _parse(sql)
    if not statements["error"]:
        _check_statement(statements)
        return CheckedSql(_text(statements, keys_of), is_condition=False)
    condition = _parse(f"SELECT (\n{sql}\n)") if statements["error_type"] == "parser" else statements
    if condition["error"]:
        raise FilterError(f"sql refused: {_reason(sql, statements, condition)}")
    _check_statement(condition)
    node = condition["statements"][0]["node"]
    if not _is_one_expression(node):
        raise FilterError("sql refused: a condition must be one expression, nothing before or after it")
    expression = _text(condition, keys_of).removeprefix("SELECT ")
    return CheckedSql(_BARE.format(expression), is_condition=True)


def _checked_text(sql: object) -> str:
    if not isinstance(sql, str):
        raise FilterError(f"sql must be text, got {shown(sql)}")
    if len(sql) > LONGEST:
        raise FilterError(f"sql has {len(sql):,} characters, allowed are {LONGEST:,}")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise FilterError(f"sql is broken text: {error.reason} at character {error.start}") from error
    return sql


def _depth(sql: str) -> int:
    """Nesting depth of brackets and prefix words; checked first, because the parser is slow on deep nesting."""
    depth = deepest = 0
    for found in _NESTING.finditer(sql):
        mark = found[0].lower()
        if mark[0] in "'\"":
            continue
        depth = max(0, depth - 1) if mark in _CLOSING else depth + 1
        deepest = max(deepest, depth)
    return deepest


def _check_statement(statements: dict[str, Any]) -> None:
    count = len(statements["statements"])
    if count != 1:
        raise FilterError(f"sql refused: {count} statements, allowed is one SELECT")
    node = statements["statements"][0]["node"]
    names = set(QUERYABLE)
    for entry in node["cte_map"]["map"]:
        _check(entry["value"], frozenset(names), 0)
        if not _CTE_NAME.fullmatch(entry["key"]):
            raise FilterError(f"sql refused: {entry['key']!r} as a name after WITH; use letters, digits and _")
        names.add(entry["key"].lower())
    _check({key: part for key, part in node.items() if key != "cte_map"}, frozenset(names), 0)


def _check(node: object, tables: frozenset[str], depth: int) -> None:
    if depth > _DEEPEST:
        raise FilterError(f"sql refused: nested deeper than {_DEEPEST}")
    if isinstance(node, dict):
        if "class" in node:
            _check_expression(node)
        elif isinstance(node.get("type"), str):
            _check_node(node, tables)
        node = list(node.values()) if node.get("class") != "CONSTANT" else []
    for part in node if isinstance(node, list) else ():
        _check(part, tables, depth + 1)


def _check_expression(node: dict[str, Any]) -> None:
    kind = node["class"]
    if kind not in _EXPRESSIONS:
        raise FilterError(f"sql refused: {kind.lower().replace('_', ' ')} is not allowed")
    if kind in {"FUNCTION", "WINDOW"}:
        _check_function(node)
    elif kind == "TYPE" and str(node["type_name"]).upper() not in TYPES:
        raise FilterError(f"sql refused: type {node['type_name']!r}; allowed are {sorted(TYPES)}")
    elif kind == "COLLATE" and str(node["collation"]).lower() not in _COLLATIONS:
        raise FilterError(f"sql refused: collation {node['collation']!r}")
    elif kind == "COLUMN_REF" and node["column_names"][0].lower() in _NOT_COLUMNS:
        raise FilterError(f"sql refused: {node['column_names'][0]!r} changes from call to call")
    elif kind == "STAR" and (node["columns"] or node["expr"]):
        raise FilterError("sql refused: COLUMNS(…) is not allowed; name the columns")


def _check_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    path = node["qualified_name"]["path"]
    if name not in _FUNCTIONS or len(path) != 1:
        raise FilterError(f"sql refused: function {'.'.join(path) or name!r} is not allowed")


def _check_node(node: dict[str, Any], tables: frozenset[str]) -> None:
    kind = node["type"]
    if kind not in _NODES:
        raise FilterError(f"sql refused: {kind.lower().replace('_', ' ')} is not allowed")
    if node.get("sample") is not None:
        raise FilterError("sql refused: a sample changes from call to call")
    if kind == "BASE_TABLE":
        path = [name.lower() for name in node["qualified_name"]["path"]]
        if path[-1] not in tables or path[:-1] not in ([], ["main"]) or node["at_clause"] is not None:
            raise FilterError(f"sql refused: table {'.'.join(path)!r}; allowed are {sorted(tables)}")
    if "cte_map" in node and node["cte_map"]["map"]:
        raise FilterError("sql refused: WITH is allowed at the beginning only")


def _is_one_expression(node: dict[str, Any]) -> bool:
    empty = ("modifiers", "where_clause", "group_expressions", "having", "qualify")
    return (
        node["type"] == "SELECT_NODE"
        and node["from_table"]["type"] == "EMPTY"
        and len(node["select_list"]) == 1
        and not node["select_list"][0]["alias"]
        and not any(node[part] for part in empty)
    )


def _reason(sql: str, statements: dict[str, Any], condition: dict[str, Any]) -> str:
    if statements["error_type"] != "parser":
        return "only SELECT is allowed"
    begins = sql.lstrip("( \t\r\n").partition(" ")[0].lower()
    fault = statements if begins in {"select", "with", "from", "values", "table"} else condition
    return str(fault["error_message"])


def _parse(sql: str) -> dict[str, Any]:
    try:
        with _lock:
            row = _parser().execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
        return dict(json.loads(row[0])) if row else {}
    except RecursionError as error:
        raise FilterError(f"sql refused: nested deeper than {_DEEPEST}") from error
    except duckdb.Error as error:
        raise FilterError(f"sql refused: {str(error).splitlines()[0]}") from error


def _text(statements: dict[str, Any], keys_of: KeyIds | None) -> str:
    if keys_of is not None:
        _with_keys(statements, keys_of)
    with _lock:
        row = _parser().execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(statements)]).fetchone()
    return str(row[0]) if row else ""


def _with_keys(node: object, keys_of: KeyIds) -> None:
    """Put what each `has_key` means in its place; the tree is checked, so it is not deep."""
    if isinstance(node, dict) and str(node.get("function_name")).lower() == _HAS_KEY:
        given = [each["expression"].get("literal", {}) for each in node["arguments"]]
        if [each.get("kind") for each in given] != ["STRING"]:
            raise FilterError(f"sql refused: {_HAS_KEY} takes one name in quotes, such as {_HAS_KEY}('Ada')")
        ids = ", ".join(f"'{key_id}'" for key_id in keys_of(given[0]["text"]))
        carrying = f"SELECT l.event_id FROM event_keys AS l WHERE l.key_id IN ({ids})"  # noqa: S608  our own ids
        meant = _parse(f"SELECT {f'event_id IN ({carrying})' if ids else 'FALSE'}")
        node.clear()
        node.update(meant["statements"][0]["node"]["select_list"][0])
        return
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _with_keys(part, keys_of)


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """A private database in memory without tables: it parses and runs nothing."""
    locked = {"enable_external_access": "false", "lock_configuration": "true", "threads": "1"}
    return duckdb.connect(":memory:", config=dict(locked))


@dataclass(frozen=True, slots=True)
class NamedIds:
    """Rows of one table that a restriction names: `events`, `chunks` or `documents`."""

    table: str
    rows: npt.NDArray[np.integer]


def restrict(places: Arrays | GraphParts, restrictions: Sequence[NamedIds]) -> Allowed:
    """The chunks, events and keys that all restrictions allow.

    A restriction on events allows these events, their chunks and their keys. One on chunks or documents
    allows them with all their events and keys. Several restrictions allow what each of them allows; as soon
    as one is on events, a chunk is allowed only if one of its events is.

    Source: docs/algorithm.md §filters.3.
    """
    chunks = np.ones(len(places.chunk_document), dtype=np.bool_)
    events = np.ones(len(places.event_chunk), dtype=np.bool_)
    for named in restrictions:
        if named.table == "events":
            events &= _flags(named.rows, len(events))
        elif named.table == "chunks":
            chunks &= _flags(named.rows, len(chunks))
        else:
            chunks &= _flags(named.rows, places.document_count)[places.chunk_document]
    events &= chunks[places.event_chunk]
    by_event = any(named.table == "events" for named in restrictions)
    if by_event:
        chunks &= _flags(places.event_chunk[events], len(chunks))
    keys = _linked(places.event_keys, events, len(places.key_idf))
    if not by_event:
        keys |= _linked(places.chunk_keys, chunks, len(places.key_idf))
    return Allowed(chunks=_frozen(chunks), events=_frozen(events), keys=_frozen(keys))


def _flags(rows: npt.NDArray[np.integer], count: int) -> Flags:
    flags = np.zeros(count, dtype=np.bool_)
    flags[rows] = True
    return flags


def _linked(lists: CsrLists, owners: Flags, count: int) -> Flags:
    return _flags(lists.items[np.repeat(owners, lists.sizes())], count)


def _frozen(flags: Flags) -> Flags:
    flags.setflags(write=False)
    return flags


@public
class SqlResult(Convertible):
    """Rows of a SELECT in its order; a sequence of them: `len(result)`, `for row in result`, `result[0]`."""

    __slots__ = ("_table", "sql")

    def __init__(self, sql: str, table: pa.Table) -> None:
        self.sql = sql
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._table.column_names)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every row as a dict by column."""
        found: list[dict[str, Any]] = self._table.to_pylist()
        return found

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        at = range(len(self))[place]
        row: dict[str, Any] = self._table.slice(at, 1).to_pylist()[0]
        return row

    def __repr__(self) -> str:
        return f"SqlResult({len(self)} row{'' if len(self) == 1 else 's'} of {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        shown = self._table.slice(0, MOST_ROWS).to_pylist()
        return render_table(self.columns, shown, len(self))

    def to_dict(self) -> dict[str, Any]:
        """`sql`, `columns` and `rows`."""
        return {"sql": self.sql, "columns": list(self.columns), "rows": self.rows}

    def to_arrow(self) -> pa.Table:
        """The rows as DuckDB gave them."""
        return self._table


_KEPT: Final = 64
NO_SQL: Final = "sql refused: what may be seen here is restricted to a part of the release; narrow it by `where`"
Restriction = str | tuple[str, ...] | None
"""SQL that restricts what may be found; of several, each must hold."""
_TABLES: Final = {"event_id": "events", "chunk_id": "chunks", "document_id": "documents"}
"""What a restriction in SQL may return: the ids of one table, named by their column."""


def _each(sql: Restriction) -> tuple[str, ...]:
    return () if sql is None else sql if isinstance(sql, tuple) else (sql,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOptions:
    """Bounds of one query, and the words of `where`."""

    seconds: float = 5.0
    memory: str = "1GB"
    rows: int = 1_000_000
    """Rows that a SELECT may give."""
    size: int = 1_000_000_000
    """Bytes that they may take."""
    schema: KeySchema = field(default_factory=default_schema)


Gone = Callable[[], frozenset[str]]


def _shown_rows(index: Index, away: pa.Array, left: Allowed, rows: pa.Table) -> pa.Table:
    """A table without the rows of the documents that are away: by its documents, else by what it is about."""
    of_documents = [each for each in rows.column_names if each.endswith("document_id")]
    for column in of_documents:
        rows = rows.filter(pc.invert(pc.is_in(rows[column], value_set=away)))
    kind = next((each for each in ("event", "chunk", "key") if f"{each}_id" in rows.column_names), None)
    if of_documents or kind is None:
        return rows
    ids = index.rows[f"{kind}s"][f"{kind}_id"].combine_chunks()
    return rows.filter(pc.is_in(rows[f"{kind}_id"], value_set=ids.filter(pa.array(getattr(left, f"{kind}s")))))


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a release while some of its documents are away."""

    gone: frozenset[str]
    named: tuple[NamedIds, ...]
    """The documents that are there; empty where none is away."""
    tables: Mapping[str, pa.Table]
    outside: SqlProcesses
    """Runs outside SQL over these tables."""


class SqlSandbox:
    """A release's tables behind checks; safe to share between threads."""

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        *,
        options: SandboxOptions | None = None,
        index: Index | None = None,
        gone: Gone = frozenset,
    ) -> None:
        """Open an empty database, which reads no file, for checked queries over tables.

        Args:
            tables: By name; numbered ones have the columns `row`, `chunk_row` and `document_row` besides.
            options: Bounds of a query.
            index: Where names of keys are looked up; None: `has_key` is unknown, and `where` compares names as they
                are.
            gone: Gives the ids of the documents that no query sees now.
        """
        self._options = options or SandboxOptions()
        self._connection = locked_connection(self._options.memory)
        self._index = index
        self._key_ids = index.key_ids if index else None
        self._tables = tables
        self._seen: dict[str, tuple[pa.Table, duckdb.DuckDBPyRelation]] = {}
        self._kept: OrderedDict[str, Allowed] = OrderedDict()
        self._lock = Lock()
        self._bound: tuple[NamedIds, ...] = ()
        self._gone = gone
        self._left = _Left(frozenset(), (), tables, self._processes(tables))

    def _processes(self, tables: Mapping[str, pa.Table]) -> SqlProcesses:
        names = ("seconds", "memory", "rows", "size")
        return SqlProcesses(tables, {name: getattr(self._options, name) for name in names})

    @property
    def left(self) -> "_Left":
        """The tables without the documents that are away now."""
        gone = self._gone()
        if gone != self._left.gone:
            named: tuple[NamedIds, ...] = ()
            whole = tables = self._tables
            if gone and (index := self._index):
                away = pa.array(sorted(gone), pa.string())
                is_here = pc.invert(pc.is_in(index.rows["documents"]["document_id"], value_set=away))
                named = (NamedIds("documents", np.flatnonzero(is_here.to_numpy())),)
                left = restrict(self.places, named)
                tables = LazyTables(whole, lambda name: _shown_rows(index, away, left, whole[name]))
            self._left = _Left(gone, named, tables, self._processes(tables))
            self._kept = OrderedDict()
        return self._left

    def under(self, sql: Restriction, where: Mapping[str, object] | None) -> "SqlSandbox":
        """The same sandbox for someone who may see no more than a restriction leaves.

        Every `where` narrows it. SQL is refused: a SELECT reads whole tables, and even a condition may ask for what
        its rows do not show (`EXISTS (SELECT … FROM documents …)`).
        """
        named = self.named(sql, where)
        found = copy(self)
        found.__dict__.pop("key_types", None)
        found._bound, found._kept = (*self._bound, *named), OrderedDict()  # noqa: SLF001  a copy of this
        return found

    @property
    def shows_whole_documents(self) -> bool:
        """Whether of each document that it shows all of the text may be seen."""
        return all(named.table == "documents" for named in self._bound)

    def select(self, sql: str) -> pa.Table:
        """The rows of a SELECT, in its order."""
        if self._bound:
            raise FilterError(NO_SQL)
        checked = check_sql(sql, self._key_ids)
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
            return self.left.outside.run(query)
        except QueryEnded as ended:
            raise self._refusal(ended.kind, str(ended), what, query) from ended

    def _refusal(self, kind: str, text: str, what: str, query: str) -> FilterError:
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

        Source: docs/algorithm.md §filters.3.
        """
        if self._bound and sql is not None:
            raise FilterError(NO_SQL)
        worded = self._in_words(where)
        condition = compile_where({} if worded is None else worded)
        left = self.left
        asked = repr((tuple(map(_checked_text, _each(sql))), condition, id(left)))
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                return self._kept[asked]
        named = [*self._bound, *left.named, *self.named(sql, where)]
        if not named:
            return None
        found = restrict(self.places, named)
        with self._lock:
            self._kept[asked] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def named(self, sql: Restriction, where: Mapping[str, object] | None) -> list[NamedIds]:
        """The rows that each part of a restriction names."""
        return [*map(self._named_by_sql, _each(sql)), *self._named_by_where(self._in_words(where))]

    def _in_words(self, where: Mapping[str, object] | None) -> Mapping[str, object] | None:
        rows_of = self._index.keys_named if self._index else None
        return in_words_of_schema(where, self._options.schema, lambda: self.key_types, rows_of)

    @cached_property
    def places(self) -> Arrays | GraphParts:
        """Which rows belong together."""
        assert self._index is not None
        return self._index.arrays

    @cached_property
    def key_types(self) -> tuple[str, ...]:
        """Types of the release's keys, sorted, read once; where a restriction holds, of those that it leaves."""
        if self._bound and self._index is not None:
            left = restrict(self.places, list(self._bound)).keys
            return tuple(sorted(set(pc.filter(self._index.rows["keys"]["key_type"], pa.array(left)).to_pylist())))
        return tuple(self._fetch("SELECT DISTINCT key_type FROM keys ORDER BY 1", ())["key_type"].tolist())

    def type_named(self, written: str) -> str:
        """The type of keys that a name in any language means."""
        named = self._options.schema.every.named(written)
        found = next((name for name in (written, named.name if named else "") if name in self.key_types), None)
        if found is None:
            known = f"{nearest(written, self.key_types)}; it has {', '.join(self.key_types)}"
            raise FilterError(f"no key of this release has the type {shown(written)}{known}")
        return found

    def close(self) -> None:
        """End the processes of outside SQL, and close the database."""
        self._left.outside.close()
        self._connection.close()

    def _named_by_sql(self, sql: str) -> NamedIds:
        query = check_sql(sql, self._key_ids).sql
        columns = self._run(f"SELECT * FROM ({query}) LIMIT 0").column_names  # noqa: S608  checked
        if len(columns) != 1 or columns[0].lower() not in _TABLES:
            raise FilterError(f"sql must return one column, {' or '.join(_TABLES)}; it returns {columns}")
        kind = columns[0].lower()
        table = _TABLES[kind]
        named = f'SELECT "{kind}" FROM ({query})'  # noqa: S608  checked
        found = self._run(f'SELECT t."row" AS r FROM {table} AS t WHERE t.{kind} IN ({named})')  # noqa: S608
        return NamedIds(table, found["r"].to_numpy())

    def _named_by_where(self, where: Mapping[str, object] | None) -> Iterator[NamedIds]:
        condition = compile_where({} if where is None else where)
        if condition.sql == EVERYTHING:
            return
        for name in key_types_of(where or {}):
            self.type_named(name)
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
