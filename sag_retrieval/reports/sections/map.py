"""Map: the largest themes as areas with the keys that tie them, and a table of all themes."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from sag_retrieval.reports.ranking import RankedCommunity, Ties
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import LABEL_SIZE, Tile, fits, treemap, wrapped
from sag_retrieval.reports.wording import Messages, Wording, table

WORDING: Wording = {
    "heading": ("Map of the themes", "主题地图"),
    "how": (
        (
            "Each area is a theme: its size shows how many events it has, and below its title stand names that occur "
            "often in it. Point at one to see the themes that are tied to it; click to read it."
        ),
        "每个区域是一个主题，面积表示事件的多少，标题下是其中常出现的名称。指向一个区域会显示与它关联的主题，点击即可阅读。",
    ),
    "part": (
        "The map shows the {shown} largest of {count} themes.",
        "地图只画出最大的 {shown} 个主题，共 {count} 个。",
    ),
    "all_communities": ("All themes", "全部主题"),
    "number": ("No.", "序号"),
    "title": ("Title", "标题"),
    "no_map": (
        "There is one theme only, or fewer than 10 events, so there is no map.",
        "主题只有一个，或事件不足 10 个，所以不画地图。",
    ),
}
_SHAPES: Final = ((824.0, (300.0, 390.0, 480.0, 560.0)), (358.0, (430.0, 540.0, 650.0, 760.0)))
"""Width and possible heights for wide and for narrow screens, in the pixels of the page: text keeps its size."""
_BOLD_SIZE: Final = LABEL_SIZE * 1.12
"""Bold letters are wider: as wide as plain ones of this size."""
_LINE: Final = LABEL_SIZE * 1.25
_MARGIN: Final = 8.0
_GAP: Final = 2.0
_KEY_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Area:
    """A theme on the map: its tile, the lines of its label and of what stands below, and the themes tied to it."""

    community: RankedCommunity
    tile: Tile
    label: tuple[str, ...]
    below: tuple[str, ...]
    """How many events it has, and keys, as far as there is room."""
    tied: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MapPicture:
    """The map in one shape."""

    width: float
    height: float
    areas: tuple[Area, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """The section: the map for wide and narrow screens, and all themes that have an article."""

    pictures: tuple[MapPicture, ...]
    communities: tuple[RankedCommunity, ...]
    community_count: int


def build(context: ReportContext) -> Map | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    ranking, messages = context.ranking, context.messages(WORDING)
    shapes = _SHAPES if ranking.on_map else ()
    return Map(
        pictures=tuple(draw(ranking.on_map, ranking.ties, *shape, messages) for shape in shapes),
        communities=ranking.communities,
        community_count=ranking.proper_count,
    )


def draw(
    shown: Sequence[RankedCommunity], ties: Ties, width: float, heights: Sequence[float], messages: Messages
) -> MapPicture:
    """The largest themes, as many as have their whole titles on the highest map, drawn as low as they have them."""
    ordered = sorted(shown, key=lambda each: (-each.size, each.number))
    for count in range(len(ordered), 0, -1):
        for height in heights:
            tiles = treemap([each.size for each in ordered[:count]], Tile(0.0, 0.0, width, height))
            labels = list(takewhile(bool, map(_label, reversed(ordered[:count]), reversed(tiles))))
            if len(labels) == count:
                numbers = {each.number for each in ordered[:count]}
                areas = zip(ordered, tiles, reversed(labels), strict=False)
                return MapPicture(width, height, tuple(_area(*each, ties, numbers, messages) for each in areas))
    return MapPicture(width, heights[0], ())


def _inner(tile: Tile) -> Tile:
    """The tile without the gap between it and others."""
    return Tile(
        round(tile.x + _GAP / 2, 1),
        round(tile.y + _GAP / 2, 1),
        round(max(0.5, tile.width - _GAP), 1),
        round(max(0.5, tile.height - _GAP), 1),
    )


def _rows(tile: Tile) -> int:
    """Lines that a tile has room for."""
    return int((_inner(tile).height - 1.5 * _MARGIN) // _LINE)


def _label(community: RankedCommunity, tile: Tile) -> tuple[str, ...]:
    """Number and title in lines; none where the tile has no room for all of them."""
    width = _inner(tile).width - 2 * _MARGIN
    lines = wrapped(f"{community.number} {community.title}", width, _BOLD_SIZE)
    return tuple(lines) if len(lines) <= _rows(tile) and fits(lines, width, _BOLD_SIZE) else ()


def _area(
    community: RankedCommunity,
    tile: Tile,
    label: tuple[str, ...],
    ties: Ties,
    shown: Container[int],
    messages: Messages,
) -> Area:
    width = _inner(tile).width - 2 * _MARGIN
    below = [
        line
        for line in (messages.counted(messages.event_count, community.size), *community.main_keys[:_KEY_LINES])
        if fits([line], width)
    ]
    tied = tuple(other for other, _ in ties.get(community.number, ()) if other in shown)
    return Area(community, _inner(tile), label, tuple(below[: max(0, _rows(tile) - len(label) - 1)]), tied)


def markdown(content: Map, messages: Messages) -> Iterator[str]:
    """The table of all themes: Markdown has no picture."""
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
