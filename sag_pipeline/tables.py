"""The tables kept by document: one entry per table, and its records as Arrow rows."""

import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache
from hashlib import blake2b
from importlib import import_module
from itertools import repeat
from operator import attrgetter
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from sag_pipeline.table import StoredTable
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Key, Section, Summary, Triple
from sag_retrieval.release.schema import ADDED, TABLES


def _ours(name: str, **said: Any) -> StoredTable:  # noqa: ANN401  fields of the entry
    return StoredTable(name=name, rule=f"sag_pipeline.table_rules:{name}", **said)


_OF_CHUNKS: Final = ("documents", "summaries", "chunks")
_OURS: Final = (
    StoredTable(name="documents", record=Document, version=6),
    _ours("summaries", record=Summary, reads=("documents",), version=7, options=("summary", "header.title_by_model")),
    _ours("sections", record=Section, reads=("documents",), version=4, options=("section", "header.section_summary")),
    _ours("chunks", record=Chunk, reads=("documents", "summaries", "sections"), version=5, options=("chunk", "header")),
    _ours("events", record=Event, reads=_OF_CHUNKS, version=12),
    _ours(
        "keys",
        record=EventKey,
        reads=(*_OF_CHUNKS, "events"),
        version=12,
        options=("recogniser",),
        by_source="key_schema",
        is_published=False,
    ),
    _ours("triples", record=Triple, reads=("documents", "chunks", "events", "keys"), version=5),
)

STORED: Final[dict[str, StoredTable]] = {
    table.name: table for table in (*_OURS, *(import_module(f"sag_pipeline.extract.{name}").TABLE for name in ADDED))
}
"""Every table kept by document, by name; an added one is described in the module of its step."""

RECORDS: Final = {name: table.record for name, table in STORED.items()}
VERSIONS: Final = {name: table.version for name, table in STORED.items()}
INPUTS: Final = {name: table.reads for name, table in STORED.items()} | {"vectors": ("chunks", "events", "keys")}
"""Tables that each step reads; vectors are kept by document too, but not as rows."""


_KINDS: dict[type, pa.DataType] = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}


def _column(name: str, hint: Any) -> pa.Field:  # noqa: ANN401  a type hint is any object
    optional = get_origin(hint) in {Union, types.UnionType}
    kind = next(a for a in get_args(hint) if a is not type(None)) if optional else hint
    return pa.field(name, _KINDS[kind], nullable=optional)


@cache
def schema_of(table: str) -> pa.Schema:
    """Arrow schema of a table: the fields of its record; the fields of a key are columns next to those of its event."""
    if table == "calls":
        return TABLES["calls"].remove_metadata()
    record = RECORDS[table]
    hints = {f.name: get_type_hints(record)[f.name] for f in fields(record)}
    if "key" in hints:
        hints |= {f.name: get_type_hints(Key)[f.name] for f in fields(Key)}
        del hints["key"]
    return pa.schema([_column(name, hint) for name, hint in hints.items()])


def with_columns(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of the schema; a nullable one that an older version did not write is null."""
    for field in schema:
        if field.nullable and field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(len(rows), field.type))
    return rows.select(schema.names)


def to_table(table: str, records: Sequence[Any]) -> pa.Table:
    """Rows of the records, in their order; no records give an empty table of the same schema."""
    schema = schema_of(table)
    columns = (
        zip(*map(_values(type(records[0]), tuple(schema.names)), records), strict=True)  # type: ignore[arg-type]  # classes can be hashed
        if records
        else repeat((), len(schema))
    )
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


@cache
def _values(record: type[Any], names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads the values of some columns from a record; those that it has not itself are its key's."""
    own = {each.name for each in fields(record)}
    read = attrgetter(*(name if name in own else f"key.{name}" for name in names))
    return read if len(names) > 1 else lambda one: (read(one),)


def from_table(table: str, rows: pa.Table) -> list[Any]:
    """The records of the rows, in their order."""
    if table != "keys":
        columns = with_columns(rows, schema_of(table)).to_pydict()
        return [RECORDS[table](**dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    names = [f.name for f in fields(Key)]
    keys = map(Key, *(rows[name].to_pylist() for name in names))
    own = (rows[name].to_pylist() for name in ("document_id", "event_id", "same_as"))
    return [EventKey(document, event, key, same) for document, event, same, key in zip(*own, keys, strict=True)]


def by_document(table: str, rows: pa.Table) -> dict[str, list[Any]]:
    """The records of each document, in their order; read all at once, as each slice of Arrow rows costs some 50 µs."""
    found: dict[str, list[Any]] = {}
    for document, record in zip(rows["document_id"].to_pylist(), from_table(table, rows), strict=True):
        found.setdefault(document, []).append(record)
    return found


def content_hash(records: Iterable[object]) -> str:
    """Hash of the records a step made of a document; equal records in equal order have equal hashes."""
    digest = blake2b(digest_size=12)
    for record in records:
        digest.update(repr(record).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
