"""The timeline of a report: events by period, and the picture of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sag_retrieval.language.words import is_cjk
from sag_retrieval.reports.wording import Messages

WIDTHS: Final = (824.0, 358.0)
"""For wide and narrow screens, in the pixels of the page: text keeps its size."""
_LABEL: Final = 14.0
_BAR: Final = 0.8
"""Share of a period's width that its bar has."""
MOST_COLUMNS: Final = 32
_STEPS: Final = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
"""Months a column may span."""
_YEAR: Final = 12
_NAMED: Final = 12
"""Columns up to which each has its name below; above, those that begin a year."""
_OUTSIDE: Final = (0.01, 0.05, 0.1)
"""Shares of the dates that may lie before the periods and after them, if that makes the periods half as long."""
_VAGUE: Final = 0.2
"""Share of bare years among the dates from which on columns are years."""
_ISO: Final = re.compile(r"(\d{4})(?:-(\d\d))?")
_BARS, _HIGH, _BASE = 60.0, 100.0, 76.0
"""Height of the highest bar and of the picture, and the line on which bars stand."""
_LEAST_DATED, _TOWER = 10, 0.75
"""Fewer dates than that are no picture, nor are periods of which one holds such a share."""


@dataclass(frozen=True, slots=True)
class Column:
    """A period: its name, the count of its events, and what stands below it, if anything."""

    name: str
    count: int
    label: str = ""
    outside: str = ""
    """`before` or `after`, where it holds all that is before or after the named period."""

    def said(self, messages: Messages) -> str:
        """Its name in words."""
        return messages[self.outside].format(period=self.name) if self.outside else self.name


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events by period, and how many have no date, or a year only where columns are finer."""

    columns: tuple[Column, ...]
    undated: int


def make_timeline(dates: Sequence[str | None]) -> Timeline | None:
    """Events by month, quarter, half-year, year or longer: the finest that gives at most 32 columns.

    The outer hundredth of the events, or more where that makes columns half as long, goes into one column before the
    first and one after the last. None where no event has a date.

    Source:
        docs/algorithm.md §reports.9.

    """
    found = [_ISO.match(date) if date else None for date in dates]
    month = np.array([int(m[1]) * _YEAR + int(m[2] or 1) - 1 if m else -1 for m in found], np.int64)
    is_year_only = np.array([m is not None and m[2] is None for m in found], np.bool_)
    dated = month >= 0
    if not dated.any():
        return None
    first, last, step = _periods(month[dated], is_vague=is_year_only.sum() > _VAGUE * dated.sum())
    placed = month[dated & ~(is_year_only & (step < _YEAR))] // step
    counts = np.bincount(np.clip(placed, first - 1, last + 1) - first + 1, minlength=last - first + 3).tolist()
    columns = [
        Column(_name(first + at, step), count, _label(first + at, step)) for at, count in enumerate(counts[1:-1])
    ]
    if len(columns) <= _NAMED:
        columns = [replace(column, label=column.name) for column in columns]
    early = [Column(columns[0].name, counts[0], outside="before")] if counts[0] else []
    late = [Column(columns[-1].name, counts[-1], outside="after")] if counts[-1] else []
    return Timeline((*early, *columns, *late), len(dates) - len(placed))


def _periods(month: "np.typing.NDArray[np.int64]", *, is_vague: bool) -> tuple[int, int, int]:
    """The first and the last period, counted in periods, and how many months one spans."""
    found: tuple[int, int, int] | None = None
    for share in _OUTSIDE:
        low, high = (int(edge) for edge in np.quantile(month, [share, 1 - share], method="nearest"))
        step = next(
            (size for size in _STEPS if high // size - low // size < MOST_COLUMNS and (size >= _YEAR or not is_vague)),
            _STEPS[-1],
        )
        if found is None or step <= found[2] / 2:
            found = low // step, high // step, step
    return found or (0, 0, _STEPS[-1])


def _label(number: int, step: int) -> str:
    year, month = divmod(number * step, _YEAR)
    return str(year) if month == 0 else ""


def _name(number: int, step: int) -> str:
    year, month = divmod(number * step, _YEAR)
    if step >= _YEAR:
        return str(year) if step == _YEAR else f"{year}–{year + step // _YEAR - 1}"
    if step == 1:
        return f"{year}-{month + 1:02}"
    return f"{year} Q{month // 3 + 1}" if step == 3 else f"{year} H{month // 6 + 1}"  # noqa: PLR2004  months


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the picture, and what it says."""

    x: float
    y: float
    width: float
    height: float
    tip: str


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """The timeline in one width: its bars, and names of periods with their place."""

    width: float
    height: float
    bars: tuple[Bar, ...]
    labels: tuple[tuple[float, str], ...]


def draw_timeline(timeline: Timeline, width: float, messages: Messages) -> TimelinePicture | None:
    """A bar for each period; None where the dates are too few, or nearly all of one period."""
    counts = [column.count for column in timeline.columns]
    if sum(counts) < _LEAST_DATED or max(counts) >= _TOWER * sum(counts):
        return None
    step = width / len(counts)
    bars, labels, free = list[Bar](), list[tuple[float, str]](), 0.0
    for place, column in enumerate(timeline.columns):
        start, height = round(place * step, 1), round(_BARS * column.count / max(counts), 1)
        tip = f"{column.said(messages)}{messages.colon}{column.count:,}"
        bars.append(Bar(start, round(_BASE - height, 1), round(step * _BAR, 1), height, tip))
        end = start + text_width(column.label)
        if column.label and free <= start and end <= width:
            labels.append((start, column.label))
            free = end + _LABEL
    return TimelinePicture(width, _HIGH, tuple(bars), tuple(labels))


def text_width(text: str) -> float:
    """Estimated width of a label as drawn; Chinese characters are as wide as high."""
    return sum(_LABEL if is_cjk(character) else _LABEL * 0.6 for character in text)
