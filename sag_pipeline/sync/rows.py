"""Rows of a table as documents: a DataFrame, an Arrow table or Parquet, written as JSON Lines for a sync to read.

A row has an `id` and a `text`, and may have `title`, `metadata` (an object, or JSON of one), `date`, `events` and
`deleted`; every other column is a field of its metadata. A row that is no document is skipped with the reason.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa

from sag_pipeline.sources.listing import given_id
from sag_retrieval.core.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

Removal = Literal["absence", "tombstone"]
"""When a document is removed: its row is no longer there, or its row says `deleted`."""
_OWN: Final = ("id", "text", "title", "metadata", "date", "events", "deleted")
_NEEDED: Final = ("id", "text")
_ROWS: Final = 1024
"""Rows held as objects at a time."""


@dataclass(slots=True)
class StagedRows:
    """Rows of a table, written for a sync."""

    file: Path
    """JSON Lines, line n for row n; empty where a row was skipped or deleted."""
    is_partial: bool
    """Whether a document without a row stays."""
    deleted: set[str] = field(default_factory=set)
    """Documents whose rows say `deleted`."""
    skipped: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    """Reason, and document if it is known, by row from 1."""
    count: int = 0
    """Rows."""
    written: int = 0
    """Rows that a sync has to read."""


@contextmanager
def staged_rows(name: str, value: object, removal: Removal = "absence") -> Iterator[StagedRows]:
    """The rows of a value, in a file that is deleted afterwards; `name` is for messages and the path of its documents.

    A value is a pandas DataFrame, an Arrow table, batch or reader, or the path of a Parquet file or folder.

    Raises:
        SourceError: If the value is no table, or lacks a column.
    """
    columns, rows = _opened(name, value)
    needed = (*_NEEDED, "deleted") if removal == "tombstone" else _NEEDED
    missing = [column for column in needed if column not in columns]
    if missing:
        raise SourceError(
            f"table {name!r} has no column {' and no '.join(map(repr, missing))} among {', '.join(columns) or 'none'}; "
            "documents need `id` and `text`, and `deleted` (true or false) if they are removed by tombstone"
        )
    with TemporaryDirectory(prefix="sag-rows-") as folder:
        staged = StagedRows(Path(folder, f"{name.replace('/', '.')}.jsonl"), is_partial=removal == "tombstone")
        with staged.file.open("wb") as file:
            for row in rows:
                staged.count += 1
                line = _line(staged, row)
                staged.written += bool(line)
                file.write(line + b"\n")
        yield staged


def _opened(name: str, value: object) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """Columns and rows of a value."""
    import pandas as pd  # noqa: PLC0415  only what other assets hand over needs it

    if isinstance(value, pd.DataFrame):
        return list(map(str, value.columns)), _rows_of_frame(value)
    try:
        found = _as_arrow(value)
    except (OSError, ValueError, TypeError) as error:
        raise SourceError(f"table {name!r} cannot be read: {' '.join(str(error).split())}") from error
    if found is None:
        raise SourceError(
            f"table {name!r} is a {type(value).__name__}; give a pandas DataFrame, an Arrow table or the path of a "
            "Parquet file"
        )
    return list(found.schema.names), _rows_of_arrow(found)


def _as_arrow(value: object) -> pa.Table | pa.RecordBatchReader | None:
    if isinstance(value, str | Path):
        from pyarrow.dataset import dataset  # noqa: PLC0415  it imports pandas

        return dataset(value, format="parquet").scanner().to_reader()
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    return value if isinstance(value, pa.Table | pa.RecordBatchReader) else None


def _rows_of_arrow(found: pa.Table | pa.RecordBatchReader) -> Iterator[dict[str, Any]]:
    for batch in found.to_batches() if isinstance(found, pa.Table) else found:
        for first in range(0, batch.num_rows, _ROWS):
            yield from batch.slice(first, _ROWS).to_pylist()


def _rows_of_frame(frame: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Rows one by one: as a whole, a column with values of two types is no Arrow column."""
    import pandas as pd  # noqa: PLC0415

    for first in range(0, len(frame), _ROWS):
        for row in frame.iloc[first : first + _ROWS].to_dict("records"):
            yield {str(name): None if pd.api.types.is_scalar(v) and pd.isna(v) else v for name, v in row.items()}


def _line(staged: StagedRows, row: Mapping[str, Any]) -> bytes:
    """A row as a line; empty if it is skipped or deleted, which is noted."""
    known = None
    try:
        known = given_id(row)
        if known is None:
            raise ValueError(f"id is {row['id']!r}; every row needs a text or a whole number as its id")  # noqa: TRY301
        if _is_deleted(row.get("deleted")):
            staged.deleted.add(known)
            return b""
        own = {name: row[name] for name in ("id", "text", "title", "events") if row.get(name) is not None}
        return _json({**own, "metadata": _metadata(row)})
    except ValueError as error:
        staged.skipped[staged.count] = (str(error), known)
        return b""


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a character: the parser of documents says what becomes of it
        return json.dumps(value, default=_plain, allow_nan=False).encode()


def _is_deleted(value: object) -> bool:
    if value is None or (isinstance(value, int | float) and value in (0, 1)):
        return bool(value)
    raise ValueError(f"deleted is {value!r}; write true or false")


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata of a row: its column of that name, the date, and every column that has no meaning of its own."""
    given = row.get("metadata")
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else None
        except ValueError as error:
            raise ValueError(f"metadata is no JSON: {error}") from error
    if isinstance(given, list) and all(isinstance(pair, tuple) for pair in given):
        given = dict(given)  # an Arrow map
    if given is not None and not isinstance(given, dict):
        raise ValueError(f"metadata is of type {type(given).__name__}, not an object")
    more = {name: value for name, value in row.items() if name == "date" or name not in _OWN}
    found = {**more, **(given or {})}.items()
    return {name: v for name, v in found if not (v is None or (isinstance(v, float) and np.isnan(v)))}


def _plain(value: object) -> object:
    """A value that JSON does not know, as one that it knows."""
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    raise ValueError(f"a value of type {type(value).__name__} cannot be metadata; leave its column out")
