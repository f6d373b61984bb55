"""What a SELECT over a release gives back."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sag_retrieval.core import public
from sag_retrieval.core.public import Convertible, public


@public
class SqlResult(Convertible):
    """Rows of a SELECT in its order; a sequence of them: `len(result)`, `for row in result`, `result[0]`."""

    __slots__ = ("_table", "sql")

    def __init__(self, sql: str, table: pa.Table) -> None:
        """Hold what was asked and what came of it."""
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
        shown = self._table.slice(0, public.MOST).to_pylist()
        return public.table(self.columns, shown, len(self))

    def to_dict(self) -> dict[str, Any]:
        """`sql`, `columns` and `rows`."""
        return {"sql": self.sql, "columns": list(self.columns), "rows": self.rows}

    def to_arrow(self) -> pa.Table:
        """The rows as DuckDB gave them."""
        return self._table
