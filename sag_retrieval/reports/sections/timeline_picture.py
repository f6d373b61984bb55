"""The timeline as drawn: bars of all events, the highest of them named, and a row of bars for each theme."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sag_retrieval.clusters.events import Rows
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.sections.picture import LABEL_SIZE, Mark, text_width, wrapped
from sag_retrieval.reports.wording import Messages

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
