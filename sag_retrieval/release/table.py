"""The description of one table of a release."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and all that differs from table to table."""

    name: str
    schema: pa.Schema
    order: tuple[str, ...]
    """Columns that its rows are sorted by."""
    refers: Mapping[str, str] = field(default_factory=dict)
    """Column → table that must have each of its values in a column of the same name."""
    is_numbered: bool = False
    """Whether arrays refer to its rows by number."""
    is_mapped: bool = True
    """Whether readers also hold it as Arrow rows."""
    is_queryable: bool = True
    """Whether `sql` may read it."""
    is_volatile: bool = False
    """Whether its values differ from run to run; it is then left out of the content hash."""


def columns(**given: tuple[pa.DataType, str]) -> pa.Schema:
    """A schema of columns, each with its type and meaning; a meaning that starts with `or null: ` allows null."""
    fields = []
    for name, (kind, meaning) in given.items():
        optional = meaning.startswith("or null: ")
        fields.append(pa.field(name, kind, nullable=optional, metadata={"meaning": meaning.removeprefix("or null: ")}))
    return pa.schema(fields)
