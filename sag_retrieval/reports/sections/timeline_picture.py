"""The timeline as drawn: bars of all events, the highest of them named, and a row of circles for each community."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.communities.events import Rows
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.sections.picture import LABEL_SIZE, Mark, shortened, text_width, wrapped
from sag_retrieval.reports.wording import Messages
from sag_retrieval.text.words import is_cjk

_TEXT, _LINE, _ROW, _BARS = LABEL_SIZE, LABEL_SIZE * 1.2, 22.0, 46.0
_WIDE_LETTERS = 1.05
"""Fonts whose letters are wider than estimated."""
_GAP = 10.0


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


@dataclass(frozen=True, slots=True)
class Shape:
    """Width of the picture and where its periods begin; at 0 the label of a row stands above its marks."""

    width: float
    left: float


SHAPES = (Shape(824.0, 310.0), Shape(358.0, 0.0))
"""For wide and for narrow screens, in the pixels of the page: text keeps its size."""


@dataclass(frozen=True, slots=True)
class Row:
    """One community's row: the lines of its label, each with its height, and its marks at `y`."""

    community: RankedCommunity
    label: tuple[tuple[float, str], ...]
    y: float
    marks: tuple[Mark, ...]


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
    """Bars of all events, and a row of circles for each of the shown places among the communities."""
    right = shape.width - (_GAP if shape.left else 0.0)
    step = (right - shape.left) / len(timeline.columns)
    base = _LINE + _BARS + 4
    rows: list[Row] = []
    top = base + 8
    for place in shown:
        label = _label(communities[place], shape)
        lines = label if shape.left else label[:1]
        above = 0.0 if shape.left else _LINE
        height = max(_ROW, len(lines) * _LINE + 4) if shape.left else _ROW + _LINE
        middle = round(top + above + (height - above) / 2, 1)
        first = middle - (len(lines) - 1) * _LINE / 2 + _TEXT * 0.35 if shape.left else top + _TEXT
        heights = tuple((round(first + at * _LINE, 1), line) for at, line in enumerate(lines))
        rows.append(Row(communities[place], heights, middle, _marks(timeline, place + 1, middle, shape, messages)))
        top += height
    years = [(round(shape.left + at * step, 1), each.year) for at, each in enumerate(timeline.columns) if each.year]
    bars = _marks(timeline, 0, base, shape, messages)
    return TimelinePicture(
        width=shape.width,
        height=round(top + _LINE + 6, 1),
        left=shape.left,
        right=right,
        bar_base=base,
        bar_width=round(step * 0.72, 1),
        bars=bars,
        peak=_peak(bars, timeline, shape, step),
        rows=tuple(rows),
        years=_spaced(years, shape.width),
    )


def _label(community: RankedCommunity, shape: Shape) -> list[str]:
    """Number and title in at most two lines, beside the marks, or in one above them."""
    text, size = f"{community.number} {community.title}", _TEXT * _WIDE_LETTERS
    if not shape.left:
        return [shortened(text, shape.width, size)]
    width = shape.left - _GAP
    lines = wrapped(text, width, size)
    joint = "" if is_cjk(text) else " "
    return lines if len(lines) < 3 else [lines[0], shortened(joint.join(lines[1:]), width, size)]  # noqa: PLR2004  lines


def _peak(bars: Sequence[Mark], timeline: Timeline, shape: Shape, step: float) -> Peak:
    """The first of the highest bars, with its share of the dated events; the text grows to where there is room."""
    highest = max(bars, key=lambda bar: bar.size)
    share = timeline.counts[0].max() / timeline.counts[0].sum()
    is_late = highest.x > (shape.left + shape.width) / 2
    edge = highest.x + (step if is_late else -step) * 0.36
    return Peak(round(edge, 1), f"{highest.tip} ({share:.0%})", "end" if is_late else "start")


def _marks(timeline: Timeline, row: int, y: float, shape: Shape, messages: Messages) -> tuple[Mark, ...]:
    """Bars (row 0, height by count) or circles (area by count) of one row."""
    step = (shape.width - (_GAP if shape.left else 0.0) - shape.left) / len(timeline.columns)
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
                round(shape.left + (column + 0.5) * step, 1),
                y,
                round(float(size), 1),
                name + messages.colon + messages.counted(messages.event_count, int(counts[column])),
            )
        )
    return tuple(marks)


def _spaced(years: Sequence[tuple[float, str]], width: float) -> tuple[tuple[float, str], ...]:
    """All year lines; names only where the one before and the edge leave room."""
    found: list[tuple[float, str]] = []
    free = 0.0
    for x, year in years:
        end = x + text_width(year, _TEXT * _WIDE_LETTERS) + 3
        named = x >= free and end <= width
        found.append((x, year if named else ""))
        free = end + 3 if named else free
    return tuple(found)
