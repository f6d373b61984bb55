"""Map: the largest communities as circles with their events as dots, and a table of all communities."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.reports.ranking import RankedCommunity, Ties
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import Label, Placed, place_circles, place_dots, place_labels, shortened
from sag_retrieval.reports.wording import Messages, Wording, table

WORDING: Wording = {
    "heading": ("Map of the communities", "社区地图"),
    "how": (
        (
            "Each circle is a community: its area stands for its events. Each dot is an event: "
            "the nearer the centre, the more typical. Lines join communities that share keys or meaning; "
            "the wider, the stronger. "
            "Tied communities lie near each other, otherwise the position has no meaning. "
            "Colours stand for themes."
        ),
        (
            "每个圆是一个社区，面积表示事件数；每个点是一个事件，越靠近圆心越有代表性。"
            "连线表示两个社区共享属性或含义相近，越粗联系越强；相连的社区彼此靠近，位置本身没有含义。"
            "颜色表示主题组。"
        ),
    ),
    "help": (
        (
            "Click a circle to open its community, a dot to open its event. "
            "Zoom with + − Fit, by dragging, double click or Ctrl + wheel, or with the keys + − 0 and the arrows."
        ),
        "点击圆打开社区，点击点打开事件；用 + − 全图、拖动、双击或 Ctrl + 滚轮缩放，也可用键盘的 + − 0 和方向键。",
    ),
    "legend_new": ("new since the previous release", "上一版本之后新增的事件"),
    "legend_many": ("one dot stands for {count} events", "一个点代表 {count} 个事件"),
    "part": (
        "The map shows the {shown} largest of {count} communities.",
        "地图只画出最大的 {shown} 个社区，共 {count} 个。",
    ),
    "zoom_in": ("Zoom in", "放大"),
    "zoom_out": ("Zoom out", "缩小"),
    "fit": ("Fit", "全图"),
    "all_communities": ("All communities", "全部社区"),
    "number": ("No.", "序号"),
    "title": ("Title", "标题"),
    "no_map": (
        "There is one community only, or fewer than 10 events, so there is no map.",
        "社区只有一个，或事件不足 10 个，所以不画地图。",
    ),
}

_DOTS = 5_000
_TITLE_WIDTH = 190.0
_TIP = 90

Pair = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Dot:
    """An event on the map, or the first of several; `target` is its place in the page, or its community's."""

    x: float
    y: float
    target: str
    tip: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class Circle:
    """A community on the map."""

    community: RankedCommunity
    x: float
    y: float
    radius: float
    label: Label
    dot_radius: float
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class MapEdge:
    """A tie on the map between two communities by number."""

    one: int
    two: int
    x1: float
    y1: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True, slots=True)
class MapPicture:
    """The drawing: its box, and lines under circles."""

    box: str
    lines: tuple[MapEdge, ...]
    circles: tuple[Circle, ...]
    events_per_dot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """The section: the picture with its legend, and all communities that have an article."""

    picture: MapPicture | None
    themes: tuple[tuple[int, str], ...]
    """Number and title of each theme in the legend."""
    communities: tuple[RankedCommunity, ...]
    community_count: int
    further: int
    has_new: bool


def build(context: ReportContext) -> Map | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    ranking, other = context.ranking, context.messages().other
    return Map(
        picture=_picture(context.events, ranking.on_map, ranking.ties, ranking.listed, context.comparison.is_new)
        if ranking.on_map
        else None,
        themes=tuple((theme, ranking.theme_title(theme, other)) for theme in ranking.themes),
        communities=ranking.communities,
        community_count=ranking.proper_count,
        further=ranking.further,
        has_new=bool(context.comparison.is_new.any()),
    )


def _picture(
    events: EventTable,
    shown: Sequence[RankedCommunity],
    ties: Ties,
    listed: Collection[int],
    is_new: "np.typing.NDArray[np.bool_]",
) -> MapPicture:
    pairs = _strongest_two(ties, len(shown))
    placed = place_circles([each.size for each in shown], [(one - 1, two - 1, weight) for one, two, weight in pairs])
    per_dot = -(-sum(each.size for each in shown) // _DOTS)
    labels = place_labels(placed, [shortened(each.title, _TITLE_WIDTH) for each in shown])
    circles = []
    for i, community in enumerate(shown):
        (x, y), radius = placed.centre[i].tolist(), float(placed.radius[i])
        rows = community.members[::per_dot].tolist()
        points, dot_radius = place_dots(len(rows), x, y, radius)
        dots = tuple(
            Dot(px, py, *_link(events, row, community, listed), bool(is_new[row]))
            for (px, py), row in zip(points.tolist(), rows, strict=True)
        )
        circles.append(Circle(community, x, y, radius, labels[i], dot_radius, dots))
    box = " ".join(f"{side:.0f}" for side in placed.box)
    return MapPicture(box, _lines(placed, pairs), tuple(circles), per_dot)


def _strongest_two(ties: Ties, count: int) -> list[Pair]:
    """The two strongest ties of each of the first `count` communities among themselves, each pair once."""
    pairs = {
        (min(one, other), max(one, other)): weight
        for one in range(1, count + 1)
        for other, weight in [tie for tie in ties.get(one, ()) if tie[0] <= count][:2]
    }
    return [(*pair, weight) for pair, weight in sorted(pairs.items())]


def _lines(placed: Placed, pairs: Sequence[Pair]) -> tuple[MapEdge, ...]:
    widest = max((weight for *_, weight in pairs), default=1.0) or 1.0
    found = []
    for one, two, weight in pairs:
        (x1, y1), (x2, y2) = placed.centre[[one - 1, two - 1]].tolist()
        found.append(MapEdge(one, two, x1, y1, x2, y2, round(0.8 + 4.2 * float(np.sqrt(weight / widest)), 1)))
    return tuple(found)


def _link(events: EventTable, row: int, community: RankedCommunity, listed: Collection[int]) -> tuple[str, str]:
    """Where a dot leads, and its tip: date and beginning of an event that is not listed."""
    if row in listed:
        return f"e{row}", ""
    text = events.contents[row]
    text = text if len(text) <= _TIP else text[: _TIP - 1].rstrip() + "…"
    return f"c{community.number}", " ".join(filter(None, (events.dates[row], text)))


def markdown(content: Map, messages: Messages) -> Iterator[str]:
    """The table of all communities: Markdown has no picture."""
    if not content.communities:
        return
    yield from (f"## {messages.all_communities}", "")
    head = ["number", "title", "events", "new", "documents", "period", "main_keys"]
    yield from table(
        [messages[name] for name in head],
        [
            [
                str(each.number),
                each.title,
                f"{each.size:,}",
                f"{each.new_count:,}" if each.new_count else "",
                f"{each.document_count:,}",
                each.period,
                messages.comma.join(each.main_keys),
            ]
            for each in content.communities
        ],
    )


SECTION = ReportSection(name="map", anchor="map", build=build, markdown=markdown, wording=WORDING)
