"""Timeline: bars of all events by period, and a row of circles for each of the largest communities."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import shortened
from sag_retrieval.reports.sections.timeline import Timeline, make_timeline
from sag_retrieval.reports.wording import Messages, Wording

WORDING: Wording = {
    "heading": ("Timeline", "时间线"),
    "how": (
        (
            "The bars on top are all events of a period. Each row is a community; "
            "the area of a circle stands for its events in that period. "
            "Click a circle to open the first of them."
        ),
        "最上面的柱子是每个时段的全部事件；每行一个社区，圆的面积表示该时段的事件数。点击圆打开其中第一个事件。",
    ),
    "part": ("Only the {shown} largest communities have a row.", "只列出最大的 {shown} 个社区。"),
    "no_dates": ("None of the events has a date, so there is no timeline.", "事件都没有日期，所以没有时间线。"),
}

_ROWS = 15
_LEFT, _RIGHT, _ROW, _BARS = 210.0, 990.0, 26.0, 56.0
_LABEL_SIZE = 12.0
_YEAR_WIDTH = 40.0
"""Of four figures."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar or circle; `target` is the first of its events, if the page lists it."""

    x: float
    y: float
    size: float
    target: str
    tip: str


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
    undated_x: float | None
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
    return TimelineSection(draw(context.events, ranking.communities, ranking.listed, context.messages(WORDING)))


def draw(
    events: EventTable, communities: Sequence[RankedCommunity], listed: Collection[int], messages: Messages
) -> TimelinePicture | None:
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
            _marks(timeline, i + 1, top + i * _ROW, listed, messages),
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
        bars=_marks(timeline, 0, _BARS + 8, listed, messages),
        rows=rows,
        years=_spaced(years),
        undated_x=round(_RIGHT - step / 2, 1) if timeline.has_undated else None,
        is_partial=len(communities) > len(shown),
    )


def _marks(timeline: Timeline, row: int, y: float, listed: Collection[int], messages: Messages) -> tuple[Mark, ...]:
    """Bars (row 0, height by count) or circles (area by count) of one row."""
    step = (_RIGHT - _LEFT) / len(timeline.columns)
    counts = timeline.counts[row]
    most = max(int(timeline.counts[min(row, 1) :].max(initial=1)), 1)
    largest = min(_ROW, step) / 2 + 1.5
    marks = []
    for column in np.flatnonzero(counts).tolist():
        share, event = counts[column] / most, int(timeline.first[row, column])
        size = max(_BARS * share, 1.0) if row == 0 else max(largest * np.sqrt(share), 1.4)
        name = timeline.columns[column].name or messages.no_date
        marks.append(
            Mark(
                round(_LEFT + (column + 0.5) * step, 1),
                y,
                round(float(size), 1),
                f"e{event}" if event in listed else "",
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
