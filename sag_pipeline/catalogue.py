"""What the catalogue of Dagster shows of each table: columns and their meaning, lineage, version of the code."""

from collections.abc import Callable
from typing import Any, Final, TypedDict

import dagster as dg
import pyarrow as pa

from sag_pipeline.tables import INPUTS, RECORDS, VERSIONS, schema_of
from sag_retrieval.release.schema import TABLES

_OWNERS: Final = {
    "document_id": "documents",
    "section_id": "sections",
    "chunk_id": "chunks",
    "event_id": "events",
    "key_id": "keys",
}
"""The table that gives each id; the same column of a table further down refers to it."""
_ADDED: Final = {
    "extraction": "JSON of events, keys and triples that were supplied with the document; null where none were",
    "context_date": "date that its place in the document gives it, ISO; null where none does",
    "context_source": "where that date stands: metadata, letter head, heading, stamp, file name",
    "made_title": "title that a language model wrote for headers; empty where it was not asked",
    "same_as": "id of the key of the same event that this one is an alias of; null where it is none",
}
"""Meanings of columns that only the pipeline's own tables have."""


class CatalogueEntry(TypedDict):
    """Arguments of `dg.asset` that describe a table."""

    code_version: str | None
    metadata: dict[str, Any]


def catalogued(table: str, reads: tuple[str, ...], key: Callable[[str], dg.AssetKey]) -> CatalogueEntry:
    """The entry of a table in the catalogue: its columns, their lineage, and the version of its code.

    Args:
        table: The table, named like its asset.
        reads: Tables it is made of; empty: those that its step reads.
        key: The key of the asset of a table.

    """
    schema = _schema(table)
    upstream = set(reads or INPUTS.get(table, ()))
    lineage = {
        field.name: [dg.TableColumnDep(asset_key=key(_OWNERS[field.name]), column_name=field.name)]
        for field in schema
        if _OWNERS.get(field.name) in upstream
    }
    return {
        "code_version": str(VERSIONS[table]) if table in VERSIONS else None,
        "metadata": {
            "dagster/column_schema": dg.TableSchema([_column(table, field) for field in schema]),
            **({"dagster/column_lineage": dg.TableColumnLineage(lineage)} if lineage else {}),
        },
    }


def _schema(name: str) -> pa.Schema:
    """Columns of the table that an asset keeps; weights of keys are columns of the release's table of keys."""
    if name in RECORDS:
        return schema_of(name)
    if name == "idf":
        return pa.schema([TABLES["keys"].field(column) for column in ("key_id", "event_count", "idf")])
    return TABLES[name]


def _column(table: str, field: pa.Field) -> dg.TableColumn:
    return dg.TableColumn(
        field.name,
        str(field.type),
        description=meaning_of(table, field.name),
        constraints=dg.TableColumnConstraints(nullable=field.nullable),
    )


def meaning_of(table: str, column: str) -> str:
    """What a column holds: as its release describes it, else as another table with the same column does."""
    described = [TABLES[table]] if table in TABLES else []
    described += [TABLES["keys"], *TABLES.values()] if table == "keys" else TABLES.values()
    for schema in described:
        if column in schema.names:
            return str((schema.field(column).metadata or {}).get(b"meaning", b"").decode())
    return _ADDED.get(column, "")
