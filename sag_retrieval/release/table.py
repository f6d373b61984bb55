"""The description of one table of a release."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq


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
    is_stored: bool = True
    """Whether its rows lie in a file; those of links follow from the arrays."""
    is_queryable: bool = True
    """Whether `sql` may read it."""
    is_volatile: bool = False
    """Whether its values differ from run to run; it is then left out of the content hash."""


LazyT = TypeVar("LazyT")


class LazyTables(Mapping[str, LazyT]):
    """Tables by name, each made whenever it is asked for."""

    def __init__(self, names: Collection[str], made: Callable[[str], LazyT]) -> None:
        self._names, self._made = names, made

    def __getitem__(self, name: str) -> LazyT:
        if name not in self._names:
            raise KeyError(name)
        return self._made(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def no_rows(schema: pa.Schema) -> pa.Table:
    """An empty table; `Schema.empty_table` makes arrays, and the first array that Arrow makes imports pandas."""
    return pa.Table.from_batches([], schema)


def rows_of(schema: pa.Schema, records: Collection[object]) -> pa.Table:
    """The attributes of records that a schema names."""
    columns = [pa.array([getattr(each, field.name) for each in records], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def read_parquet(path: Path, columns: Sequence[str] | None = None, *, is_checked: bool = False) -> pa.Table:
    """The rows of a file, or some of its columns in this order; `is_checked`: every page by its checksum.

    `pyarrow.parquet.read_table` would import pandas.
    """
    with pq.ParquetFile(path, page_checksum_verification=is_checked) as file:
        rows = file.read(columns=None if columns is None else list(columns))
    return rows if columns is None else rows.select(list(columns))


def columns(**given: tuple[pa.DataType, str]) -> pa.Schema:
    """A schema of columns, each with its type and meaning; a meaning that starts with `or null: ` allows null."""
    fields = []
    for name, (kind, meaning) in given.items():
        optional = meaning.startswith("or null: ")
        fields.append(pa.field(name, kind, nullable=optional, metadata={"meaning": meaning.removeprefix("or null: ")}))
    return pa.schema(fields)
