"""Timeline: bars of all events by period, and a row of circles for each community with dates, up to 15."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.timeline_picture import SHAPES, Column, Timeline, TimelinePicture, draw
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
            "The bars on top are all events of a period, the highest is named. Each row is a theme; "
            "the area of a circle stands for its events in that period. "
            "Click a circle to open the theme."
        ),
        "最上面的柱子是每个时段的全部事件，最高的一根标出数目；每行一个主题，圆的面积表示该时段的事件数。点击圆打开该主题。",
    ),
    "part": ("Only the {shown} largest themes have a row.", "只列出最大的 {shown} 个主题。"),
    "undated": ("{count} events have no date that fits a period.", "{count} 个事件没有可归入时段的日期。"),
    "source": ("Source: the dates of {events} in {documents}.", "来源：{documents}中 {events}的日期。"),
    "no_dates": (
        "Fewer than 10 events have a date that fits a period, so there is no timeline.",
        "有可归入时段日期的事件不足 10 个，所以没有时间线。",
    ),
}

_ROWS = 15
_LEAST_DATED = 10
"""With fewer dated events there is no timeline."""


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
class TimelineSection:
    """The picture for wide and narrow screens, none where few events have a date; and what it rests on."""

    pictures: tuple[TimelinePicture, ...] = ()
    source: str = ""
    undated: int = 0
    is_partial: bool = False


def build(context: ReportContext) -> TimelineSection | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    events, communities, messages = context.events, context.ranking.communities, context.messages(WORDING)
    timeline = make_timeline(events, [each.members for each in communities])
    if timeline is None or timeline.counts[0].sum() < _LEAST_DATED:
        return TimelineSection()
    dated = np.array([date is not None for date in events.dates])
    source = messages.source.format(
        events=messages.counted(messages.event_count, int(timeline.counts[0].sum())),
        documents=messages.counted(messages.document_count, len(np.unique(events.document[dated]))),
    )
    shown = [place for place in range(len(communities)) if timeline.counts[place + 1].any()]
    return TimelineSection(
        pictures=tuple(draw(timeline, communities, shown[:_ROWS], shape, messages) for shape in SHAPES),
        source=source,
        undated=timeline.undated,
        is_partial=len(shown) > _ROWS,
    )


def markdown(content: TimelineSection, messages: Messages) -> Iterator[str]:
    """A sentence where there is no timeline; else nothing: Markdown has no picture."""
    if not content.pictures:
        yield from (messages.no_dates, "")


SECTION = ReportSection(name="timeline", anchor="timeline", build=build, markdown=markdown, wording=WORDING)
