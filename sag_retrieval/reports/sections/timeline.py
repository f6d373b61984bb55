"""Timeline: bars of all events by period, and a row of bars for each theme with dates, up to 15."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import LABEL_SIZE, Mark, text_width, wrapped
from sag_retrieval.reports.wording import Messages, Wording

_TEXT, _LINE, _ROW, _BARS = LABEL_SIZE, LABEL_SIZE * 1.2, 20.0, 46.0
"""Height of a text, a line, the bars of a theme and those of all events."""
_BETWEEN = 9.0
_WIDE_LETTERS = 1.05
"""Fonts whose letters are wider than estimated."""
_GAP = 10.0
_NUMBER = 50.0
"""Width of the number at the end of a row."""


@dataclass(frozen=True, slots=True)
class Column:
    """A period: its name, and its label: the year that begins in it, or its name."""

    name: str
    year: str = ""
    outside: Literal["", "before", "after"] = ""
    """Whether it holds all that is before or after the named period."""

    def said(self, messages: Messages) -> str:
        """Its name in words."""
        return messages[self.outside].format(period=self.name) if self.outside else self.name


@dataclass(frozen=True, slots=True)
class Timeline:
    """Counts of shape (rows, columns); row 0 is all events."""

    columns: tuple[Column, ...]
    counts: Rows
    undated: int
    """Events without a date, or with a year only where columns are finer."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Width of the picture and where its periods begin; at 0 the label of a row stands above its marks."""

    width: float
    left: float


SHAPES = (Shape(824.0, 310.0), Shape(358.0, 0.0))
"""For wide and for narrow screens, in the pixels of the page: text keeps its size."""


@dataclass(frozen=True, slots=True)
class Row:
    """One theme's row: the lines of its label, each with its height; its bars, which stand on `y`, and the highest."""

    community: RankedCommunity
    label: tuple[tuple[float, str], ...]
    y: float
    marks: tuple[Mark, ...]
    most: str


@dataclass(frozen=True, slots=True)
class Peak:
    """The period with most events, named at its bar; `anchor` is the end of the text that stands at `x`."""

    x: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class TimelinePicture:
    """The timeline in one shape."""

    width: float
    height: float
    left: float
    right: float
    bar_base: float
    bar_width: float
    bars: tuple[Mark, ...]
    peak: Peak
    rows: tuple[Row, ...]
    years: tuple[tuple[float, str], ...]


def draw(
    timeline: Timeline, communities: Sequence[RankedCommunity], shown: Sequence[int], shape: Shape, messages: Messages
) -> TimelinePicture:
    """Bars of all events, and a row of bars for each of the shown places among the communities."""
    right = shape.width - _NUMBER
    step = (right - shape.left) / len(timeline.columns)
    base = _LINE + _BARS + 4
    rows: list[Row] = []
    top = base + _BETWEEN
    for place in shown:
        label = _label(communities[place], shape)
        height = max(_ROW, len(label) * _LINE) if shape.left else _ROW + len(label) * _LINE + 2
        foot = round(top + height, 1)
        first = foot - (len(label) - 1) * _LINE - 4 if shape.left else top + _TEXT - 2
        heights = tuple((round(first + at * _LINE, 1), line) for at, line in enumerate(label))
        marks = _marks(timeline, place + 1, foot, shape.left, step, messages)
        rows.append(Row(communities[place], heights, foot, marks, f"{int(timeline.counts[place + 1].max()):,}"))
        top = foot + _BETWEEN
    bars = _marks(timeline, 0, base, shape.left, step, messages)
    return TimelinePicture(
        width=shape.width,
        height=round(top + _LINE, 1),
        left=shape.left,
        right=right,
        bar_base=base,
        bar_width=round(step * 0.8, 1),
        bars=bars,
        peak=_peak(bars, timeline, shape, step),
        rows=tuple(rows),
        years=_years(timeline, shape, step, messages),
    )


def _label(community: RankedCommunity, shape: Shape) -> list[str]:
    """Number and title in lines beside the bars, or above them."""
    width = shape.left - _GAP if shape.left else shape.width
    return wrapped(f"{community.number} {community.title}", width, _TEXT * _WIDE_LETTERS)


def _peak(bars: Sequence[Mark], timeline: Timeline, shape: Shape, step: float) -> Peak:
    """The first of the highest bars, with its share of the dated events; the text grows to where there is room."""
    highest = max(bars, key=lambda bar: bar.size)
    share = timeline.counts[0].max() / timeline.counts[0].sum()
    is_late = highest.x > (shape.left + shape.width) / 2
    edge = highest.x + (step if is_late else -step) * 0.4
    return Peak(round(edge, 1), f"{highest.tip} ({share:.0%})", "end" if is_late else "start")


def _marks(timeline: Timeline, row: int, base: float, left: float, step: float, messages: Messages) -> tuple[Mark, ...]:
    """The bars of one row, which stand on `base`; the highest has the whole height of the row."""
    counts = timeline.counts[row]
    highest = _ROW if row else _BARS
    return tuple(
        Mark(
            round(left + (column + 0.5) * step, 1),
            round(base, 1),
            round(max(highest * float(counts[column]) / float(counts.max()), 1.0), 1),
            timeline.columns[column].said(messages)
            + messages.colon
            + messages.counted(messages.event_count, int(counts[column])),
        )
        for column in np.flatnonzero(counts).tolist()
    )


def _years(timeline: Timeline, shape: Shape, step: float, messages: Messages) -> tuple[tuple[float, str], ...]:
    """The labels of the periods, as many as have room: first what is earlier and later, then the others in turn."""
    outside = {"before": messages.earlier, "after": messages.later}
    labels = [(at, outside.get(each.outside, each.year)) for at, each in enumerate(timeline.columns)]
    ends = [(at, text) for at, text in labels if timeline.columns[at].outside]
    taken: list[tuple[float, float]] = []
    found: list[tuple[float, str]] = []
    for at, text in (*ends, *(each for each in labels if each not in ends)):
        x = round(shape.left + at * step, 1)
        end = x + text_width(text, _TEXT * _WIDE_LETTERS) + _GAP
        if text and end <= shape.width + _GAP and all(end <= low or x >= high for low, high in taken):
            taken.append((x, end))
            found.append((x, text))
    return tuple(sorted(found))


MOST_COLUMNS = 32
_STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
"""Months a column may span."""
_YEAR = 12
_NAMED = 12
_OUTSIDE = (0.01, 0.05, 0.1)
"""Shares of the dates that may lie before the periods and after them, if that makes the periods half as long."""
_ISO = re.compile(r"(\d{4})(?:-(\d\d))?")
WORDING: Wording = {
    "heading": ("Timeline", "时间线"),
    "how": (
        (
            "The bars on top are all events of a period, the highest is named. Each row shows when a theme has its "
            "events; each row has its own scale, and its highest bar stands for the number at its end."
        ),
        "最上面的柱子是每个时段的全部事件，最高的一根标出数目。下面每行一个主题，显示其事件集中在何时；每行有自己的比例，行末的数字是最高一根的事件数。",
    ),
    "before": ("before {period}", "{period} 以前"),
    "after": ("after {period}", "{period} 以后"),
    "earlier": ("earlier", "更早"),
    "later": ("later", "更晚"),
    "part": (
        "{shown} themes have a row: the first with {least} or more events in these periods.",
        "列出 {shown} 个主题：排在最前、在这些时段有 {least} 个以上事件的主题。",
    ),
    "without_date": ("{count} events have no date that fits a period.", "{count} 个事件没有可归入时段的日期。"),
    "source": ("Source: the dates of {events} in {documents}.", "来源：{documents}中 {events}的日期。"),
    "no_dates": (
        "Fewer than 10 events have a date that fits a period, so there is no timeline.",
        "有可归入时段日期的事件不足 10 个，所以没有时间线。",
    ),
    "one_period": (
        "{share} of the {events} with a date are of {period}, so there is no timeline.",
        "有日期的 {events}中 {share} 在 {period}，所以没有时间线。",
    ),
}

_ROWS = 15
_TOWER = 0.75
"""Share of the dated events in one period above which a timeline would show that period alone."""
_LEAST_DATED, _LEAST_IN_ROW = 10, 5
"""With fewer dated events there is no timeline, and no row of a theme."""


def make_timeline(events: EventTable, groups: Sequence[Rows]) -> Timeline | None:
    """Events by month, quarter, half-year, year or longer: the finest that gives at most 32 columns.

    The outer hundredth of the events, or more where that makes columns half as long, goes into one column before the
    first and one after the last. Events without a date, or with a year only where columns are finer, are counted
    apart. None if no event has a date.

    Source:
        docs/algorithm.md §reports.9.

    """
    month, is_year_only = _months(events.dates)
    dated = month >= 0
    if not dated.any():
        return None
    first, last, step = _periods(month[dated], is_vague=is_year_only.sum() > 0.2 * dated.sum())
    placed = dated & ~(is_year_only & (step < _YEAR))
    is_early, is_late = ((placed & outside).any() for outside in (month // step < first, month // step > last))
    low, high = first - int(is_early), last + int(is_late)
    width = high - low + 1
    column = np.where(placed, np.clip(month // step, low, high) - low, width)
    rows = [np.arange(len(events), dtype=np.int32), *groups]
    counts = np.array([np.bincount(column[row], minlength=width + 1) for row in rows], dtype=np.int32)
    return Timeline(
        columns=_columns(first, last, step, is_early=bool(is_early), is_late=bool(is_late)),
        counts=counts[:, :width],
        undated=int((~placed).sum()),
    )


def _periods(month: Rows, *, is_vague: bool) -> tuple[int, int, int]:
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


def _months(dates: Sequence[str | None]) -> tuple[Rows, "np.typing.NDArray[np.bool_]"]:
    month, is_year_only = np.full(len(dates), -1, np.int32), np.zeros(len(dates), dtype=bool)
    for row, date in enumerate(dates):
        if date and (match := _ISO.match(date)):
            month[row] = int(match[1]) * _YEAR + (int(match[2]) - 1 if match[2] else 0)
            is_year_only[row] = match[2] is None
    return month, is_year_only


def _columns(first: int, last: int, step: int, *, is_early: bool, is_late: bool) -> tuple[Column, ...]:
    """Names of the periods, between the column of what is earlier and that of what is later."""
    columns = [Column(_name(number, step), _year(number, step)) for number in range(first, last + 1)]
    if len(columns) <= _NAMED:
        columns = [replace(column, year=column.name) for column in columns]
    early = [Column(columns[0].name, outside="before")] if is_early else []
    late = [Column(columns[-1].name, outside="after")] if is_late else []
    return (*early, *columns, *late)


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
    """The picture for wide and narrow screens, or why there is none; and what it rests on."""

    pictures: tuple[TimelinePicture, ...] = ()
    none: str = ""
    source: str = ""
    undated: int = 0
    partial: str = ""
    """Which themes have a row, where not all have one."""


def build(context: ReportContext) -> TimelineSection | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    events, communities, messages = context.events, context.ranking.communities, context.messages(WORDING)
    timeline = make_timeline(events, [each.members for each in communities])
    if timeline is None or timeline.counts[0].sum() < _LEAST_DATED:
        return TimelineSection(none=messages.no_dates)
    if one_period := _one_period(timeline, messages):
        return TimelineSection(none=one_period)
    dated = np.array([date is not None for date in events.dates])
    source = messages.source.format(
        events=messages.counted(messages.event_count, int(timeline.counts[0].sum())),
        documents=messages.counted(messages.document_count, len(np.unique(events.document[dated]))),
    )
    shown = [place for place in range(len(communities)) if timeline.counts[place + 1].sum() >= _LEAST_IN_ROW][:_ROWS]
    return TimelineSection(
        pictures=tuple(draw(timeline, communities, shown, shape, messages) for shape in SHAPES),
        source=source,
        undated=timeline.undated,
        partial=messages.part.format(shown=len(shown), least=_LEAST_IN_ROW) if len(shown) < len(communities) else "",
    )


def _one_period(timeline: Timeline, messages: Messages) -> str:
    """A sentence where nearly all dates are of one period, as with the date of the document itself; else empty."""
    whole, most = int(timeline.counts[0].sum()), int(timeline.counts[0].argmax())
    share = timeline.counts[0, most] / whole
    if share < _TOWER:
        return ""
    events = messages.counted(messages.event_count, whole)
    return messages.one_period.format(share=f"{share:.0%}", events=events, period=timeline.columns[most].said(messages))


def markdown(content: TimelineSection, _messages: Messages) -> Iterator[str]:
    """A sentence where there is no timeline; else nothing: Markdown has no picture."""
    if not content.pictures:
        yield from (content.none, "")


SECTION = ReportSection(
    name="timeline",
    anchor="timeline",
    build=build,
    markdown=markdown,
    wording=WORDING,
    needs_heading=lambda content: bool(content.pictures),
)
