"""Timeline: bars of all events by period, and a row of circles for each of the largest communities."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import Mark, shortened
from sag_retrieval.reports.wording import Messages, Wording

MOST_COLUMNS = 32
_STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
"""Months a column may span."""
_YEAR = 12
_NAMED = 12
_ISO = re.compile(r"(\d{4})(?:-(\d\d))?")
WORDING: Wording = {
    "heading": ("Timeline", "时间线"),
    "how": (
        (
            "The bars on top are all events of a period. Each row is a theme; "
            "the area of a circle stands for its events in that period. "
            "Click a circle to open the theme."
        ),
        "最上面的柱子是每个时段的全部事件；每行一个主题，圆的面积表示该时段的事件数。点击圆打开该主题。",
    ),
    "part": ("Only the {shown} largest themes have a row.", "只列出最大的 {shown} 个主题。"),
    "undated": ("{count} events have no date that fits a period.", "{count} 个事件没有可归入时段的日期。"),
    "no_dates": ("None of the events has a date, so there is no timeline.", "事件都没有日期，所以没有时间线。"),
}

_ROWS = 15
_LEFT, _RIGHT, _ROW, _BARS = 340.0, 990.0, 26.0, 56.0
_LABEL_SIZE = 15.0
_YEAR_WIDTH = 46.0
"""Of four figures."""


@dataclass(frozen=True, slots=True)
class Column:
    """A period: its name, and its label: the year that begins in it, or its name."""

    name: str
    year: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Counts of shape (rows, columns); row 0 is all events."""

    columns: tuple[Column, ...]
    counts: Rows
    undated: int
    """Events without a date, or with a year only where columns are finer."""


def make_timeline(events: EventTable, groups: Sequence[Rows]) -> Timeline | None:
    """Events by month, quarter, half-year, year or longer: the finest that gives at most 32 columns.

    The outer hundredth of the events goes into the first and last column. Events without a date, or with a
    year only where columns are finer, are counted apart. None if no event has a date.

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
    rows = [np.arange(len(events), dtype=np.int32), *groups]
    counts = np.array([np.bincount(column[row], minlength=width + 1) for row in rows], dtype=np.int32)
    names = _columns(first, last, step, lumps=(month[placed].min() // step < first, month.max() // step > last))
    return Timeline(
        columns=names,
        counts=counts[:, :width],
        undated=int((~placed).sum()),
    )


def _months(dates: Sequence[str | None]) -> tuple[Rows, "np.typing.NDArray[np.bool_]"]:
    month, is_year_only = np.full(len(dates), -1, np.int32), np.zeros(len(dates), dtype=bool)
    for row, date in enumerate(dates):
        if date and (match := _ISO.match(date)):
            month[row] = int(match[1]) * _YEAR + (int(match[2]) - 1 if match[2] else 0)
            is_year_only[row] = match[2] is None
    return month, is_year_only


def _columns(first: int, last: int, step: int, lumps: tuple[bool, bool]) -> tuple[Column, ...]:
    """Names of the periods; the first and last are marked if they also hold events outside them."""
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


@dataclass(frozen=True, slots=True)
class Row:
    """One community's row."""

    community: RankedCommunity
    label: str
    y: float
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """The timeline as drawn."""

    width: float
    height: float
    left: float
    right: float
    bar_base: float
    bar_width: float
    bars: tuple[Mark, ...]
    rows: tuple[Row, ...]
    years: tuple[tuple[float, str], ...]
    undated: int
    is_partial: bool


@dataclass(frozen=True, slots=True)
class TimelineSection:
    """The picture; None where no event has a date."""

    picture: TimelinePicture | None


def build(context: ReportContext) -> TimelineSection | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    ranking = context.ranking
    return TimelineSection(draw(context.events, ranking.communities, context.messages(WORDING)))


def draw(events: EventTable, communities: Sequence[RankedCommunity], messages: Messages) -> TimelinePicture | None:
    """Bars of all events and a row of circles for each of the 15 largest communities."""
    shown = communities[:_ROWS]
    timeline = make_timeline(events, [each.members for each in shown])
    if timeline is None:
        return None
    step = (_RIGHT - _LEFT) / len(timeline.columns)
    top = _BARS + 34
    rows = tuple(
        Row(
            community,
            shortened(f"{community.number} {community.title}", _LEFT - 16, _LABEL_SIZE),
            top + i * _ROW,
            _marks(timeline, i + 1, top + i * _ROW, messages),
        )
        for i, community in enumerate(shown)
    )
    years = tuple((round(_LEFT + i * step, 1), each.year) for i, each in enumerate(timeline.columns) if each.year)
    return TimelinePicture(
        width=1000.0,
        height=top + len(shown) * _ROW + 18,
        left=_LEFT,
        right=_RIGHT,
        bar_base=_BARS + 8,
        bar_width=round(step * 0.72, 1),
        bars=_marks(timeline, 0, _BARS + 8, messages),
        rows=rows,
        years=_spaced(years),
        undated=timeline.undated,
        is_partial=len(communities) > len(shown),
    )


def _marks(timeline: Timeline, row: int, y: float, messages: Messages) -> tuple[Mark, ...]:
    """Bars (row 0, height by count) or circles (area by count) of one row."""
    step = (_RIGHT - _LEFT) / len(timeline.columns)
    counts = timeline.counts[row]
    most = max(int(timeline.counts[min(row, 1) :].max(initial=1)), 1)
    largest = min(_ROW, step) / 2 + 1.5
    marks = []
    for column in np.flatnonzero(counts).tolist():
        share = counts[column] / most
        size = max(_BARS * share, 1.0) if row == 0 else max(largest * np.sqrt(share), 1.4)
        name = timeline.columns[column].name
        marks.append(
            Mark(
                round(_LEFT + (column + 0.5) * step, 1),
                y,
                round(float(size), 1),
                name + messages.colon + messages.counted(messages.event_count, int(counts[column])),
            )
        )
    return tuple(marks)


def _spaced(years: Sequence[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """All year lines; names only where the one before leaves room."""
    found: list[tuple[float, str]] = []
    last = -100.0
    for x, year in years:
        found.append((x, year if x - last > _YEAR_WIDTH else ""))
        last = x if found[-1][1] else last
    return tuple(found)


def markdown(content: TimelineSection, messages: Messages) -> Iterator[str]:
    """A sentence where there is no timeline; else nothing: Markdown has no picture."""
    if not content.picture:
        yield from (messages.no_dates, "")


SECTION = ReportSection(name="timeline", anchor="timeline", build=build, markdown=markdown, wording=WORDING)
