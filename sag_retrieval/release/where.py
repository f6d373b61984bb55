"""Conditions of `where`: put into the words of the release's schema, and compiled to SQL with parameters.

Keys may be given by any name of a type and amounts with scale and unit; every value and metadata path is a parameter.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, get_args

from sag_retrieval.core.errors import FilterError, shown
from sag_retrieval.core.key_schema import KeySchema, KeyType
from sag_retrieval.core.schema_file import default_schema, read_schema
from sag_retrieval.core.types import Rows
from sag_retrieval.language.amounts import WrittenAmount, in_unit, read_amount
from sag_retrieval.language.spans import first_day, last_day
from sag_retrieval.language.units import unit_name
from sag_retrieval.language.words import normal_name

_KEY: Final = "key."
_COMPARED: Final = frozenset({"eq", "ne", "gt", "gte", "lt", "lte"})
_NAMED: Final = frozenset({"eq", "ne", "in", "nin"})


class _InUnit(float):
    """A number that is compared with numbers of its unit alone; those without a unit count as well."""

    unit: str

    def __new__(cls, number: float, unit: str) -> Self:
        found = super().__new__(cls, number)
        found.unit = unit
        return found

    def __repr__(self) -> str:
        return f"{float(self)!r} {self.unit}"


class _KeyName(str):
    """A name that is also compared with the keys that have it as an alias, by their rows."""

    __slots__ = ("rows",)
    rows: Rows

    def __new__(cls, name: str, rows: Rows) -> Self:
        found = super().__new__(cls, name)
        found.rows = rows
        return found


KeyRows = Callable[[str], Rows]


def schema_of_release(described: Mapping[str, object]) -> KeySchema:
    """The schema that a manifest describes; the default where it describes none."""
    return read_schema(described) if described else default_schema()


def in_words_of_schema(
    where: Mapping[str, object] | None, schema: KeySchema, stored: Callable[[], Collection[str]], named: KeyRows | None
) -> Mapping[str, object] | None:
    """A `where` with the stored names of key types, numbers in place of amounts such as `10 亿元`, and rows of keys.

    A number is compared in the unit of its type: of revenues in CNY one in USD is neither more nor less. `stored` gives
    the types that keys of the release have, `named` the rows of the keys of a name; without it names are compared as
    they are spelt.

    Examples:
        >>> schema = read_schema({"types": [{"name": "revenue", "kind": "number", "unit": "CNY", "aliases": ["营收"]}]})
        >>> in_words_of_schema({"key.营收__gt": "10 亿"}, schema, lambda: ["revenue"], None)
        {'key.revenue__gt': 1000000000.0 CNY}
    """
    if not isinstance(where, Mapping):
        return where  # None, or what is refused later
    found: dict[str, object] = {}
    for name, value in where.items():
        if not isinstance(name, str) or not name.startswith(_KEY):
            found[name] = value
            continue
        written, mark, operator = name.removeprefix(_KEY).rpartition("__")
        written, operator = (written, operator) if mark else (operator, "eq")
        key_type = schema.every.named(written)
        is_other = key_type is not None and written not in stored()
        own = f"{_KEY}{key_type.name}{mark}{operator if mark else ''}" if key_type and is_other else name
        found[own] = _in_unit(key_type, value) if key_type and operator in _COMPARED else value
        if named is not None and operator in _NAMED:
            found[own] = _named(found[own], named)
    return found


def _named(value: object, named: KeyRows) -> object:
    """The names in a value with the rows of their keys."""
    if isinstance(value, list | tuple | set | frozenset) and len(value) <= LONGEST:
        return type(value)(_named(each, named) for each in value)
    return _KeyName(value, named(value)) if isinstance(value, str) and len(value) <= LONGEST else value


def _in_unit(key_type: KeyType, value: object) -> object:
    """A number or a written amount in the unit of a type; anything else as it is."""
    if key_type.kind != "number" or isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    amount = read_amount(value) if isinstance(value, str) else WrittenAmount(value, value)
    if amount is None or amount.low != amount.high:
        return value
    if key_type.unit is not None:
        amount = in_unit(amount, key_type.unit)
        return value if amount is None else _InUnit(amount.low, amount.unit or unit_name(key_type.unit))
    return _InUnit(amount.low, amount.unit) if amount.unit else amount.low if isinstance(value, str) else value


ColumnKind = Literal["text", "number", "flag"]
WhereValue = str | float | bool
LONGEST: Final = 10_000
"""Characters of a text, and values of a list."""
_BIGGEST: Final = 2.0**63
OPERATORS: Final = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "contains", "startswith", "isnull")
COLUMNS: Final[dict[str, tuple[str, ColumnKind]]] = {
    "document_id": ("d.document_id", "text"),
    "doc_id": ("d.document_id", "text"),
    "source": ("d.source", "text"),
    "title": ("d.title", "text"),
    "language": ("d.language", "text"),
    "summary": ("d.summary", "text"),
    "version": ("d.version", "text"),
    "char_count": ("d.char_count", "number"),
    "event_id": ("e.event_id", "text"),
    "chunk_id": ("e.chunk_id", "text"),
    "content": ("e.content", "text"),
    "date": ("e.date", "text"),
    "date_source": ("e.date_source", "text"),
    "said": ("e.said", "text"),
    "said_source": ("e.said_source", "text"),
    "holds_from": ("e.holds_from", "text"),
    "holds_to": ("e.holds_to", "text"),
    "event_index": ("e.event_index", "number"),
}
_KEY_VALUES: Final[dict[ColumnKind, str]] = {
    "text": "k.value_string",
    "number": "k.value_number",
    "flag": "k.value_bool",
}
PLACE: Final = "place"
"""The field that asks where in its document a statement stands: `p. 4`, `§ 12 (3)`."""
_PLACED: Final = """SELECT x.event_id FROM events AS x JOIN (
  SELECT document_id, name, first, lead(first) OVER (PARTITION BY document_id ORDER BY first) AS next
  FROM (
    SELECT document_id, place ->> '$[1]' AS name, TRY_CAST(place ->> '$[0]' AS BIGINT) AS first
    FROM (SELECT document_id, unnest(json_extract(metadata, '$.places[*]')) AS place FROM documents)
  )
) AS p ON p.document_id = x.document_id AND x.start >= p.first AND (p.next IS NULL OR x.start < p.next)"""
"""Events with the places in which they begin."""
HOLDS_AT: Final = "holds__at"
"""The field that asks which statements hold on a day."""
MOST_FIELDS: Final = 100
EVERYTHING: Final = "TRUE"
_MOST_VALUES: Final = 50_000
_ORDERS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_DATE = r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?)?"
_IS_DATE = re.compile(_DATE, re.ASCII)
_METADATA_NAME = re.compile(r"[^\"\\\x00-\x1f]{1,200}")


def kind_of(value: WhereValue) -> ColumnKind:
    """The kind of column that a value is compared with."""
    if isinstance(value, bool):
        return "flag"
    return "text" if isinstance(value, str) else "number"


def _checked_value(name: str, value: object) -> WhereValue:
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str):
        return _checked_value_text(name, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) <= _BIGGEST:
        return value
    raise FilterError(f"filter field {name!r} takes text, a number, a flag or a date, got {shown(value)}")


def _checked_value_text(name: str, text: str) -> str:
    if len(text) > LONGEST:
        raise FilterError(f"filter field {name!r:.80}: {len(text)} characters, allowed are {LONGEST}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FilterError(f"filter field {name!r:.80}: broken text, {error.reason}") from error
    return text


@dataclass(frozen=True, slots=True)
class Where:
    """A condition over `e` (events) and `d` (documents), its parameters, and whether it needs an event.

    Without an event's condition it holds for a document as a whole, chunks without events included.
    """

    sql: str
    parameters: tuple[WhereValue, ...]
    needs_event: bool


@dataclass(frozen=True, slots=True)
class _Field:
    """How a field's values are read: an expression for each kind; every `?` in it stands for `given`."""

    name: str
    by_kind: Mapping[ColumnKind, str]
    given: str = ""
    is_key: bool = False
    is_place: bool = False
    needs_event: bool = False

    def read(self, kind: ColumnKind) -> tuple[str, list[WhereValue]]:
        if kind not in self.by_kind:
            raise FilterError(f"filter field {self.name!r} holds {' or '.join(self.by_kind)}, not {kind}")
        sql = self.by_kind[kind]
        return sql, [self.given] * sql.count("?")


def compile_where(where: Mapping[str, object]) -> Where:
    """All conditions of `where`, joined by AND.

    Fields are `name` or `name__operator`: columns of documents and events, `metadata.<name>` and `key.<type>`. The
    Python type of the value chooses what it is compared with: text, number or flag. A value None leaves its condition
    out.

    Raises:
        FilterError: If a field or operator is unknown, or a value does not fit it.

    Source: docs/algorithm.md §filters.2.
    """
    if not isinstance(where, Mapping):
        raise FilterError(
            f'where must map fields to values, such as {{"language": "en"}}, got {shown(where)}; '
            "a condition in SQL is given as sql=…"
        )
    if len(where) > MOST_FIELDS:
        raise FilterError(f"where has {len(where):,} conditions, allowed are {MOST_FIELDS}")
    parts: list[str] = []
    parameters: list[WhereValue] = []
    needs_event = False
    for name, value in where.items():
        field, operator = _field_and_operator(name)
        if value is None:
            continue
        sql, given = _holds_at(value) if name == HOLDS_AT else _condition(field, operator, value)
        if field.is_key:
            sql, given = _carried(field, operator, sql, given, value)
        elif field.is_place:
            sql = f"e.event_id {_inverse(operator, value)}IN ({_PLACED} WHERE {sql})"
        parts.append(f"({sql})")
        parameters += given
        needs_event |= field.needs_event
        if len(parameters) > _MOST_VALUES:
            raise FilterError(f"where has more than {_MOST_VALUES:,} values in all; make its lists shorter")
    return Where(" AND ".join(parts) or EVERYTHING, tuple(parameters), needs_event)


def key_types_of(where: Mapping[str, object]) -> list[str]:
    """The key types that the conditions of a checked `where` ask for."""
    asked = [_field_and_operator(name)[0] for name, value in where.items() if value is not None]
    return [field.given for field in asked if field.is_key]


def _field_and_operator(name: str) -> tuple[_Field, str]:
    if not isinstance(name, str):
        raise FilterError(f"a filter field must be text, got {shown(name)}")
    if name == HOLDS_AT:
        return _Field(name, {}, needs_event=True), "at"
    field, mark, operator = name.rpartition("__")
    if not mark:
        field, operator = name, "eq"
    if operator not in OPERATORS:
        raise FilterError(f"unknown operator {shown(operator)} in filter field {shown(name)}; known: {list(OPERATORS)}")
    return _field(field), operator


def _field(name: str) -> _Field:
    if name == PLACE:
        return _Field(name, {"text": "p.name"}, is_place=True, needs_event=True)
    if name in COLUMNS:
        column, kind = COLUMNS[name]
        return _Field(name, {kind: column}, needs_event=column.startswith("e."))
    space, dot, inner = name.partition(".")
    if dot and space == "metadata" and _METADATA_NAME.fullmatch(inner):
        return _metadata_field(name, inner)
    if dot and space == "key" and inner:
        return _Field(name, _KEY_VALUES, given=_checked_value_text(name, inner), is_key=True, needs_event=True)
    known = [*COLUMNS, PLACE, HOLDS_AT, "metadata.<name>", "key.<type>"]
    of_keys = "" if dot else f"; for keys of that type write '{_KEY}{name:.60}'"
    raise FilterError(f"unknown filter field {name!r:.80}; known: {known}{of_keys}")


def _holds_at(value: object) -> tuple[str, list[WhereValue]]:
    """Statements whose span has a day; one that says no beginning holds from when it was said on."""
    day = _checked_value(HOLDS_AT, value)
    if not isinstance(day, str) or not _IS_DATE.fullmatch(day):
        raise FilterError(f"{HOLDS_AT} takes an ISO date such as 2024-05-01, got {shown(value)}")
    begins, ends = first_day(day), last_day(day)
    sql = "coalesce(e.holds_from, e.said) <= ? AND (e.holds_to IS NULL OR e.holds_to >= ?)"
    return sql, [ends, begins]


def _metadata_field(name: str, inner: str) -> _Field:
    kinds = {"text": "'VARCHAR'", "number": "'BIGINT', 'UBIGINT', 'HUGEINT', 'DOUBLE'", "flag": "'BOOLEAN'"}
    casts = {"text": "{}", "number": "TRY_CAST({} AS DOUBLE)", "flag": "TRY_CAST({} AS BOOLEAN)"}
    read = "json_extract_string(d.metadata, ?)"
    by_kind: dict[ColumnKind, str] = {
        kind: f"CASE WHEN json_type(d.metadata, ?) IN ({kinds[kind]}) THEN {casts[kind].format(read)} END"
        for kind in get_args(ColumnKind)
    }
    return _Field(name, by_kind, given=f'$."{_checked_value_text(name, inner)}"')


def _condition(field: _Field, operator: str, value: object) -> tuple[str, list[WhereValue]]:
    if operator == "isnull":
        return _is_null(field, value)
    if operator in _NAMED:
        is_list = operator in {"in", "nin"} and not isinstance(value, str)
        sql, given = _in_list(field, operator, value if is_list else [value])
        return (sql if operator in {"eq", "in"} else f"NOT coalesce({sql}, FALSE)"), given
    checked = _checked_value(field.name, value)
    if operator in _ORDERS:
        return _ordered(field, operator, checked)
    return _within(field, operator, checked)


def _names(values: Sequence[WhereValue]) -> tuple[list[WhereValue], str]:
    """The normal names of values, each once, and a condition for the keys that have such an alias; empty for none."""
    texts = [value for value in values if isinstance(value, str)]
    rows = sorted({int(row) for each in texts if isinstance(each, _KeyName) for row in each.rows})
    names: list[WhereValue] = [name for name in dict.fromkeys(map(normal_name, texts)) if name]
    return names, f' OR k."row" IN ({", ".join(map(str, rows))})' if rows else ""


def _in_list(field: _Field, operator: str, value: object) -> tuple[str, list[WhereValue]]:
    if not isinstance(value, list | tuple | set | frozenset) or len(value) > LONGEST:
        raise FilterError(f"{field.name}__{operator} takes a list of at most {LONGEST} values")
    listed = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
    by_kind: dict[ColumnKind, list[WhereValue]] = {}
    for item in listed:
        checked = _checked_value(field.name, item)
        by_kind.setdefault(kind_of(checked), []).append(checked)
    parts = [_one_of(field, kind, values) for kind, values in by_kind.items()]
    sql = " OR ".join(f"({part})" for part, _ in parts) or "FALSE"
    return sql, [item for _, items in parts for item in items]


def _one_of(field: _Field, kind: ColumnKind, values: list[WhereValue]) -> tuple[str, list[WhereValue]]:
    """Equal to one of the values of a kind: one list, as a long chain of comparisons takes too long to plan."""
    sql, given = field.read(kind)
    names, rows = _names(values) if field.is_key else ([], "")
    part = f"{sql} IN ({', '.join('?' * len(values))})"
    if names:
        part += f" OR k.name IN ({', '.join('?' * len(names))})"
    return part + rows, [*given, *values, *names]


def _ordered(field: _Field, operator: str, value: WhereValue) -> tuple[str, list[WhereValue]]:
    """An order of numbers, or of dates as text: up to the shorter one's day, month or year."""
    sql, given = field.read(kind_of(value))
    if isinstance(value, bool):
        raise FilterError(f"{field.name}__{operator} takes a number or an ISO date, not a flag")
    if not isinstance(value, str):
        return f"{sql} {_ORDERS[operator]} ?", [*given, value]
    if not _IS_DATE.fullmatch(value):
        raise FilterError(f"{field.name}__{operator} takes a number or an ISO date such as 2024-05, got {shown(value)}")
    prefix = f"left({sql}, {len(value)}) {_ORDERS[operator]} ?"
    return f"regexp_full_match({sql}, '{_DATE}') AND {prefix}", [*given, *given, value]


def _within(field: _Field, operator: str, value: WhereValue) -> tuple[str, list[WhereValue]]:
    if operator == "contains" and "json_type" in field.by_kind.get("text", ""):
        listed = "json_contains(json_extract(d.metadata, ?), to_json(?))"
        text, given = ("FALSE", []) if not isinstance(value, str) else _within_text(field, operator, value)
        return f"{text} OR {listed}", [*given, field.given, value]
    if not isinstance(value, str):
        raise FilterError(f"{field.name}__{operator} takes text, got {value!r}")
    return _within_text(field, operator, value)


def _within_text(field: _Field, operator: str, value: str) -> tuple[str, list[WhereValue]]:
    sql, given = field.read("text")
    return f"{'contains' if operator == 'contains' else 'starts_with'}({sql}, ?)", [*given, value]


def _is_null(field: _Field, value: object) -> tuple[str, list[WhereValue]]:
    if not isinstance(value, bool):
        raise FilterError(f"{field.name}__isnull takes True or False, got {shown(value)}")
    if field.is_key or field.is_place:
        return "TRUE", []
    is_metadata, first = "flag" in field.by_kind, next(iter(field.by_kind))
    sql, given = field.read(first)
    if is_metadata:
        sql, given = "json_extract_string(d.metadata, ?)", [field.given]
    return f"{sql} IS {'' if value else 'NOT '}NULL", given


def _carried(
    field: _Field, operator: str, sql: str, given: list[WhereValue], value: object
) -> tuple[str, list[WhereValue]]:
    if isinstance(value, _InUnit):
        sql, given = f"({sql}) AND coalesce(k.unit, ?) = ?", [*given, value.unit, value.unit]
    carrying = "SELECT l.event_id FROM event_keys AS l JOIN keys AS k ON k.key_id = l.key_id"
    carried: list[WhereValue] = [field.given, *given]
    return f"e.event_id {_inverse(operator, value)}IN ({carrying} WHERE k.key_type = ? AND ({sql}))", carried


def _inverse(operator: str, value: object) -> str:
    return "NOT " if operator == "isnull" and value is True else ""
