"""Count events by period: the columns and rows of the timeline."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows

MOST_COLUMNS = 32
_STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
"""Months a column may span."""
_YEAR = 12
_NAMED = 12
_ISO = re.compile(r"(\d{4})(?:-(\d\d))?")


@dataclass(frozen=True, slots=True)
class Column:
    """A period: its name, and what stands below: the year that begins in it, or its name."""

    name: str
    year: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Counts of shape (rows, columns) and each cell's first event (-1: none); row 0 is all events."""

    columns: tuple[Column, ...]
    counts: Rows
    first: Rows
    has_undated: bool


def make_timeline(events: EventTable, groups: Sequence[Rows]) -> Timeline | None:
    """Events by month, quarter, half-year, year or longer: the finest that gives at most 32 columns.

    The outer hundredth of the events goes into the first and last column. Events without a date, or with a
    year only where columns are finer, go into a last column. None if no event has a date.

    Source:
        docs/algorithm.md §reports.9.

    """
    month, is_year_only = _months(events.dates)
    dated = month >= 0
    if not dated.any():
        return None
    vague = is_year_only.sum() > 0.2 * dated.sum()
    low, high = (int(edge) for edge in np.quantile(month[dated], [0.01, 0.99], method="nearest"))
    step = next(
        (size for size in _STEPS if high // size - low // size < MOST_COLUMNS and (size >= _YEAR or not vague)),
        _STEPS[-1],
    )
    first, last = low // step, high // step
    placed = dated & ~(is_year_only & (step < _YEAR))
    width = last - first + 1
    column = np.where(placed, np.clip(month // step, first, last) - first, width)
    has_undated = bool((~placed).any())
    rows = [np.arange(len(events), dtype=np.int32), *groups]
    counts = np.array([np.bincount(column[row], minlength=width + 1) for row in rows], dtype=np.int32)
    names = _columns(first, last, step, lumps=(month[placed].min() // step < first, month.max() // step > last))
    return Timeline(
        columns=names + ((Column(""),) if has_undated else ()),
        counts=counts if has_undated else counts[:, :width],
        first=np.array([_firsts(column, row, width + 1, month) for row in rows], dtype=np.int32),
        has_undated=has_undated,
    )


def _months(dates: Sequence[str | None]) -> tuple[Rows, "np.typing.NDArray[np.bool_]"]:
    month, is_year_only = np.full(len(dates), -1, np.int32), np.zeros(len(dates), dtype=bool)
    for row, date in enumerate(dates):
        if date and (match := _ISO.match(date)):
            month[row] = int(match[1]) * _YEAR + (int(match[2]) - 1 if match[2] else 0)
            is_year_only[row] = match[2] is None
    return month, is_year_only


def _firsts(column: Rows, rows: Rows, width: int, month: Rows) -> Rows:
    first = np.full(width, -1, np.int32)
    order = rows[np.lexsort((rows, month[rows]))][::-1]
    first[column[order]] = order
    return first


def _columns(first: int, last: int, step: int, lumps: tuple[bool, bool]) -> tuple[Column, ...]:
    """Names of the periods; the outer ones that hold more than their own are marked."""
    columns = [Column(_name(number, step), _year(number, step)) for number in range(first, last + 1)]
    if len(columns) <= _NAMED:
        columns = [replace(column, year=column.name) for column in columns]
    if lumps[0]:
        columns[0] = replace(columns[0], name=f"≤ {columns[0].name}")
    if lumps[1]:
        columns[-1] = replace(columns[-1], name=f"≥ {columns[-1].name}")
    return tuple(columns)


def _year(number: int, step: int) -> str:
    year, month = divmod(number * step, _YEAR)
    return str(year) if month == 0 else ""


def _name(number: int, step: int) -> str:
    year, month = divmod(number * step, _YEAR)
    if step >= _YEAR:
        return str(year) if step == _YEAR else f"{year}–{year + step // _YEAR - 1}"
    if step == 1:
        return f"{year}-{month + 1:02}"
    return f"{year} Q{month // 3 + 1}" if step == 3 else f"{year} H{month // 6 + 1}"  # noqa: PLR2004  months
