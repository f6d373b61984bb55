"""Results of the SQL sandbox: the rows of a SELECT, and the rows that a restriction allows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.public import Convertible, public
from sag_retrieval.core.types import Flags, Rows
from sag_retrieval.notebook import MOST_ROWS, render_table
from sag_retrieval.release.arrays import Allowed

IdPairs = tuple[Rows, Rows]
"""Links as two arrays of equal length: from row, to row."""


@dataclass(frozen=True, slots=True)
class RowMaps:
    """The document of each chunk, the chunk of each event, and the links to keys, by row."""

    chunk_document: Rows
    event_chunk: Rows
    event_keys: IdPairs
    chunk_keys: IdPairs
    document_count: int
    key_count: int


@dataclass(frozen=True, slots=True)
class NamedIds:
    """Rows of one table that a restriction names: `events`, `chunks` or `documents`."""

    table: str
    rows: npt.NDArray[np.integer]


def restrict(places: RowMaps, restrictions: list[NamedIds]) -> Allowed:
    """The chunks, events and keys that all restrictions allow.

    A restriction on events allows these events, their chunks and their keys. One on chunks or documents
    allows them with all their events and keys. Several restrictions allow what each of them allows; as soon
    as one is on events, a chunk is allowed only if one of its events is.

    Source:
        docs/algorithm.md §filters.3

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
    keys = _linked(places.event_keys, events, places.key_count)
    if not by_event:
        keys |= _linked(places.chunk_keys, chunks, places.key_count)
    return Allowed(chunks=_frozen(chunks), events=_frozen(events), keys=_frozen(keys))


def _flags(rows: npt.NDArray[np.integer], count: int) -> Flags:
    flags = np.zeros(count, dtype=np.bool_)
    flags[rows] = True
    return flags


def _linked(links: IdPairs, from_flags: Flags, count: int) -> Flags:
    return _flags(links[1][from_flags[links[0]]], count)


def _frozen(flags: Flags) -> Flags:
    flags.setflags(write=False)
    return flags


@public
class SqlResult(Convertible):
    """Rows of a SELECT in its order; a sequence of them: `len(result)`, `for row in result`, `result[0]`."""

    __slots__ = ("_table", "sql")

    def __init__(self, sql: str, table: pa.Table) -> None:
        """Hold the query and its rows."""
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
        """The row at a place, from 0."""
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
