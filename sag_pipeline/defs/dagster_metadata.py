"""What the catalogue of Dagster shows of each table: columns and their meaning, lineage, version of the code."""

from collections.abc import Callable
from typing import Any, Final, TypedDict

import dagster as dg
import pyarrow as pa

from sag_pipeline.defs.checks import CHECKS, TableCheck
from sag_pipeline.publish.checks import MEANINGS, Check
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
    "context_source": "where that date stands: metadata, mail header, letter head, heading, stamp, file name",
    "made_title": "title that a language model wrote for headers; empty where it was not asked",
    "smoothing": "`none`, or `add-one`: of the idf of keys",
    "same_as": "id of the key of the same event that this one is an alias of; null where it is none",
}
"""Meanings of columns that only the pipeline's own tables have."""

_ASKED: Final = ("summaries", "sections", "events", "keys", "triples")
"""Tables about which a language model is asked, where the settings name one: what costs money."""


class CatalogueEntry(TypedDict):
    """Arguments of `dg.asset` that describe a table."""

    code_version: str | None
    metadata: dict[str, Any]
    tags: dict[str, str]


def catalogued(table: str, reads: tuple[str, ...], key: Callable[[str], dg.AssetKey]) -> CatalogueEntry:
    """The entry of a table in the catalogue: its columns, their lineage, and the version of its code."""
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
        "tags": {
            "sag/made_by": "document" if table in RECORDS else "corpus",
            **({"sag/model": "may_be_asked"} if table in _ASKED else {}),
        },
    }


def check_specs(asset: str, key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """The checks of an asset; those that are more than a warning stop what follows, so that nothing is published."""
    checks = [*CHECKS.get(asset, ()), *(_OF_RELEASE if asset == "release" else ())]
    return [
        dg.AssetCheckSpec(check.name, asset=key, description=check.meaning, blocking=check.blocks) for check in checks
    ]


_OF_RELEASE: Final = [TableCheck(name, meaning, blocks=True) for name, meaning in MEANINGS.items()]


def check_result(check: Check, **of: str) -> dg.AssetCheckResult:
    """The outcome of a check with its figures; one that blocks nothing is a warning."""
    blocks = _BLOCKS.get(check.name, True)
    return dg.AssetCheckResult(
        check_name=check.name,
        passed=check.passed,
        description=check.message,
        metadata=of | {n: float(value) if isinstance(value, float) else value for n, value in check.numbers.items()},
        severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
    )


_BLOCKS: Final = {check.name: check.blocks for checks in CHECKS.values() for check in checks}


def kept_check(name: str, kept: Any) -> Check:  # noqa: ANN401  what a manifest has
    """A check of a release that was made when it was built."""
    if not isinstance(kept, dict):
        return Check(name, passed=True, message="not known when it was built")
    numbers = {n: value for n, value in kept.items() if isinstance(value, int | float) and n != "passed"}
    return Check(name, passed=True, message=kept["message"], numbers=numbers)


def _schema(name: str) -> pa.Schema:
    """Columns of the table that an asset keeps; of keys the release's table has the weights."""
    if name in RECORDS:
        return schema_of(name)
    if name == "idf":
        return pa.schema([("smoothing", pa.string()), *(TABLES["keys"].field(name) for name in ("event_count", "idf"))])
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
