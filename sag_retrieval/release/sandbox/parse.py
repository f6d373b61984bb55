"""A restriction in SQL, read by DuckDB's own parser and checked node by node against what is allowed."""

import json
import re
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Final

import duckdb

from sag_retrieval.core.errors import FilterError, shown
from sag_retrieval.release import sql_check as allowed

LONGEST: Final = 4_000
DEEPEST: Final = 100
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


def check_sql(sql: str) -> CheckedSql:
    """The one SELECT that `sql` is, or the SELECT of the events that a bare condition holds for.

    Raises:
        FilterError: If it is too long or too deep, no single SELECT and no condition, or says anything that
            `allowed_sql` does not list; the message names the first such thing.

    Source:
        docs/algorithm.md §filters.1

    """
    if not checked_text(sql).strip():
        raise FilterError("empty sql; give one SELECT, or a condition over `events`, or leave it out")
    if _depth(sql) > DEEPEST:
        raise FilterError(f"sql refused: nested deeper than {DEEPEST}")
    statements = _parse(sql)
    if not statements["error"]:
        _check_statement(statements)
        return CheckedSql(_text(statements), is_condition=False)
    condition = _parse(f"SELECT (\n{sql}\n)") if statements["error_type"] == "parser" else statements
    if condition["error"]:
        raise FilterError(f"sql refused: {_reason(sql, statements, condition)}")
    _check_statement(condition)
    node = condition["statements"][0]["node"]
    if not _is_one_expression(node):
        raise FilterError("sql refused: a condition must be one expression, nothing before or after it")
    expression = _text(condition).removeprefix("SELECT ")
    return CheckedSql(_BARE.format(expression), is_condition=True)


def checked_text(sql: object) -> str:
    """The text that `sql` is.

    Raises:
        FilterError: If it is none, is broken, or longer than 4,000 characters.

    """
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
    """How deep brackets and prefix words are nested, for a parser takes long over many before it says so."""
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
    names = set(allowed.TABLES)
    for entry in node["cte_map"]["map"]:
        _check(entry["value"], frozenset(names), 0)
        if not _CTE_NAME.fullmatch(entry["key"]):
            raise FilterError(f"sql refused: {entry['key']!r} as a name after WITH; use letters, digits and _")
        names.add(entry["key"].lower())
    _check({key: part for key, part in node.items() if key != "cte_map"}, frozenset(names), 0)


def _check(node: object, tables: frozenset[str], depth: int) -> None:
    if depth > DEEPEST:
        raise FilterError(f"sql refused: nested deeper than {DEEPEST}")
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
    if kind not in allowed.EXPRESSIONS:
        raise FilterError(f"sql refused: {kind.lower().replace('_', ' ')} is not allowed")
    if kind in {"FUNCTION", "WINDOW"}:
        _check_function(node)
    elif kind == "TYPE" and str(node["type_name"]).upper() not in allowed.TYPES:
        raise FilterError(f"sql refused: type {node['type_name']!r}; allowed are {sorted(allowed.TYPES)}")
    elif kind == "COLLATE" and str(node["collation"]).lower() not in allowed.COLLATIONS:
        raise FilterError(f"sql refused: collation {node['collation']!r}")
    elif kind == "COLUMN_REF" and node["column_names"][0].lower() in allowed.NOT_COLUMNS:
        raise FilterError(f"sql refused: {node['column_names'][0]!r} changes from call to call")
    elif kind == "STAR" and (node["columns"] or node["expr"]):
        raise FilterError("sql refused: COLUMNS(…) is not allowed; name the columns")


def _check_function(node: dict[str, Any]) -> None:
    name = str(node["function_name"]).lower()
    path = node["qualified_name"]["path"]
    if name not in allowed.FUNCTIONS or len(path) != 1:
        raise FilterError(f"sql refused: function {'.'.join(path) or name!r} is not allowed")


def _check_node(node: dict[str, Any], tables: frozenset[str]) -> None:
    kind = node["type"]
    if kind not in allowed.NODES:
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
        raise FilterError(f"sql refused: nested deeper than {DEEPEST}") from error
    except duckdb.Error as error:
        raise FilterError(f"sql refused: {str(error).splitlines()[0]}") from error


def _text(statements: dict[str, Any]) -> str:
    with _lock:
        row = _parser().execute("SELECT json_deserialize_sql(?::JSON)", [json.dumps(statements)]).fetchone()
    return str(row[0]) if row else ""


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """A private database in memory without tables: it parses and runs nothing."""
    locked = {"enable_external_access": "false", "lock_configuration": "true", "threads": "1"}
    return duckdb.connect(":memory:", config=dict(locked))
