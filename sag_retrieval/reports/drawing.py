"""The two pictures of a report, ready to be drawn: map and timeline."""

from collections.abc import Collection, Sequence

import numpy as np

from sag_retrieval.communities.titles import clean
from sag_retrieval.reports.content import (
    Article,
    Circle,
    Dot,
    MapEdge,
    MapView,
    Mark,
    TimelineRow,
    TimelineView,
)
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.map import LABEL_SIZE, Placed, place_circles, place_dots, place_labels, text_width
from sag_retrieval.reports.timeline import Timeline, make_timeline

LEAST_EVENTS = 10
"""Fewer events, or one community only, have no map."""
TIMELINE_ROWS = 15

_DOTS = 5_000
_TITLE_WIDTH = 190.0
_TIP = 90
_LEFT, _RIGHT, _ROW, _BARS = 210.0, 990.0, 26.0, 56.0


def draw_map(draft: ReportContext, articles: Sequence[Article], listed: Collection[int]) -> MapView | None:
    """The largest communities as circles with their events as dots, which link to listed events."""
    shown = articles[: draft.options.on_map]
    if len(shown) <= 1 or len(draft.events) < LEAST_EVENTS:
        return None
    pairs = _strongest_two(draft, len(shown))
    placed = place_circles([each.size for each in shown], [(a - 1, b - 1, w) for a, b, w in pairs])
    per_dot = -(-sum(each.size for each in shown) // _DOTS)
    labels = place_labels(placed, [shortened(each.title, _TITLE_WIDTH) for each in shown])
    circles = tuple(
        Circle(
            article,
            float(placed.centre[i, 0]),
            float(placed.centre[i, 1]),
            float(placed.radius[i]),
            labels[i],
            *_dots(draft, article, placed, listed, per_dot),
        )
        for i, article in enumerate(shown)
    )
    widest = max((weight for *_, weight in pairs), default=1.0) or 1.0
    lines = tuple(
        MapEdge(one, two, *_ends(placed, one, two), round(0.8 + 4.2 * float(np.sqrt(weight / widest)), 1))
        for one, two, weight in pairs
    )
    box = " ".join(f"{side:.0f}" for side in placed.box)
    return MapView(box, lines, circles, per_dot, draft.proper_count)


def _strongest_two(draft: ReportContext, count: int) -> list[tuple[int, int, float]]:
    pairs = {
        (min(one, other), max(one, other)): weight
        for one in range(1, count + 1)
        for other, weight in [tie for tie in draft.ties.get(one, ()) if tie[0] <= count][:2]
    }
    return [(*pair, weight) for pair, weight in sorted(pairs.items())]


def _ends(placed: Placed, one: int, two: int) -> tuple[float, float, float, float]:
    (x1, y1), (x2, y2) = placed.centre[one - 1].tolist(), placed.centre[two - 1].tolist()
    return x1, y1, x2, y2


def _dots(
    draft: ReportContext, article: Article, placed: Placed, listed: Collection[int], per_dot: int
) -> tuple[float, tuple[Dot, ...]]:
    members = draft.ranked[article.number - 1].members[::per_dot]
    (x, y), radius = placed.centre[article.number - 1].tolist(), float(placed.radius[article.number - 1])
    points, dot_radius = place_dots(len(members), x, y, radius)
    return dot_radius, tuple(
        Dot(
            px,
            py,
            f"e{row}" if row in listed else f"c{article.number}",
            "" if row in listed else tip(draft, row),
            bool(draft.is_new[row]),
        )
        for (px, py), row in zip(points.tolist(), members.tolist(), strict=True)
    )


def tip(draft: ReportContext, row: int) -> str:
    """Date and beginning of an event."""
    text = clean(draft.events.contents[row])
    text = text if len(text) <= _TIP else text[: _TIP - 1].rstrip() + "…"
    return " ".join(filter(None, (draft.events.dates[row], text)))


def shortened(title: str, width: float, size: float = LABEL_SIZE) -> str:
    """The title as far as it fits the width, with `…` where it was cut."""
    if text_width(title, size) <= width:
        return title
    while title and text_width(title + "…", size) > width:
        title = title[:-1]
    return title.rstrip() + "…"


def draw_timeline(draft: ReportContext, articles: Sequence[Article], listed: Collection[int]) -> TimelineView | None:
    """Bars of all events and a row of circles for each of the 15 largest communities."""
    shown = articles[:TIMELINE_ROWS]
    timeline = make_timeline(draft.events, [draft.ranked[each.number - 1].members for each in shown])
    if timeline is None:
        return None
    step = (_RIGHT - _LEFT) / len(timeline.columns)
    top = _BARS + 34
    rows = tuple(
        TimelineRow(
            article,
            shortened(f"{article.number} {article.title}", _LEFT - 16, 12),
            top + i * _ROW,
            _marks(draft, timeline, i + 1, (step, top + i * _ROW), listed),
        )
        for i, article in enumerate(shown)
    )
    years = tuple((round(_LEFT + i * step, 1), each.year) for i, each in enumerate(timeline.columns) if each.year)
    return TimelineView(
        width=1000.0,
        height=top + len(shown) * _ROW + 18,
        left=_LEFT,
        right=_RIGHT,
        bar_base=_BARS + 8,
        bar_width=round(step * 0.72, 1),
        bars=_marks(draft, timeline, 0, (step, _BARS + 8), listed),
        rows=rows,
        years=_spaced(years),
        undated_x=round(_RIGHT - step / 2, 1) if timeline.has_undated else None,
        is_partial=len(articles) > len(shown),
    )


def _marks(
    draft: ReportContext, timeline: Timeline, row: int, place: tuple[float, float], listed: Collection[int]
) -> tuple[Mark, ...]:
    """Bars (row 0, height by count) or circles (area by count) of one row; `place` is column width and y."""
    step, y = place
    counts = timeline.counts[row]
    most = max(int(timeline.counts[min(row, 1) :].max(initial=1)), 1)
    largest = min(_ROW, step) / 2 + 1.5
    marks = []
    for column in np.flatnonzero(counts).tolist():
        share, event = counts[column] / most, int(timeline.first[row, column])
        size = max(_BARS * share, 1.0) if row == 0 else max(largest * np.sqrt(share), 1.4)
        name = timeline.columns[column].name or draft.labels.no_date
        marks.append(
            Mark(
                round(_LEFT + (column + 0.5) * step, 1),
                y,
                round(float(size), 1),
                f"e{event}" if event in listed else "",
                f"{name}{': ' if draft.labels.lang == 'en' else '：'}"
                + draft.labels.counted(draft.labels.event_count, int(counts[column])),
            )
        )
    return tuple(marks)


def _spaced(years: Sequence[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """All year lines; names only where the one before leaves room."""
    found: list[tuple[float, str]] = []
    last = -100.0
    for x, year in years:
        found.append((x, year if x - last > 40 else ""))  # noqa: PLR2004  width of four figures
        last = x if found[-1][1] else last
    return tuple(found)
