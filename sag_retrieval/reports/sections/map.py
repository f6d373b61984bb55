"""Map: the largest themes as areas with the keys that tie them, and a table of all themes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.reports.ranking import RankedCommunity, Ties
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.sections.picture import LABEL_SIZE, Tile, shortened, text_width, treemap, wrapped
from sag_retrieval.reports.wording import Messages, Wording, table

WORDING: Wording = {
    "heading": ("Map of the themes", "主题地图"),
    "how": (
        (
            "Each area is a theme, as large as its share of the events, with the names that occur most in it. "
            "Point at one to see the themes that are tied to it; click to read it."
        ),
        "每个区域是一个主题，面积表示事件所占的份额，区域内是其中最常出现的名称。指向一个区域会显示与它关联的主题，点击即可阅读。",
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
_SHAPES: Final = ((824.0, 480.0), (358.0, 640.0))
"""Width and height for wide and for narrow screens, in the pixels of the page: text keeps its size."""
_BOLD_SIZE: Final = LABEL_SIZE * 1.12
"""Bold letters are wider: as wide as plain ones of this size."""
_LINE: Final = LABEL_SIZE * 1.25
_MARGIN: Final = 8.0
_GAP: Final = 2.0
_KEY_LINES: Final = 3
_SMALLEST: Final = 22.0
_LEAST_LINES: Final = 2
"""Of a label that is cut."""


@dataclass(frozen=True, slots=True)
class Area:
    """A theme on the map: its tile, the lines of its label, those of its keys below, and the themes tied to it."""

    community: RankedCommunity
    tile: Tile
    label: tuple[str, ...]
    keys: tuple[str, ...]
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
    further: int


def build(context: ReportContext) -> Map | None:
    """None where there are no events."""
    if not len(context.events):
        return None
    ranking = context.ranking
    return Map(
        pictures=tuple(draw(ranking.on_map, ranking.ties, *shape) for shape in _SHAPES) if ranking.on_map else (),
        communities=ranking.communities,
        community_count=ranking.proper_count,
        further=ranking.further,
    )


def draw(shown: Sequence[RankedCommunity], ties: Ties, width: float, height: float) -> MapPicture:
    """The map in one shape; themes too small for their number are left to the table."""
    numbers = {each.number for each in shown}
    shown = sorted(shown, key=lambda each: (-each.size, each.number))
    tiles = treemap([each.size for each in shown], Tile(0.0, 0.0, width, height))
    areas = [
        _area(community, tile, tuple(other for other, _ in ties.get(community.number, ()) if other in numbers))
        for community, tile in zip(shown, tiles, strict=True)
    ]
    return MapPicture(width, height, tuple(areas))


def _area(community: RankedCommunity, tile: Tile, tied: tuple[int, ...]) -> Area:
    """The label in full where it fits, else its beginning, else the number alone, else nothing."""
    inner = Tile(
        round(tile.x + _GAP / 2, 1),
        round(tile.y + _GAP / 2, 1),
        round(max(0.5, tile.width - _GAP), 1),
        round(max(0.5, tile.height - _GAP), 1),
    )
    width, rows = inner.width - 2 * _MARGIN, int((inner.height - _MARGIN) // _LINE)
    label = wrapped(f"{community.number} {community.title}", width, _BOLD_SIZE)
    if len(label) > rows or any(line.endswith("…") for line in label):
        label = _beginning(label, rows, width)
    if not label:
        fits = rows >= 1 and text_width(str(community.number)) <= inner.width - _GAP and inner.width >= _SMALLEST
        return Area(community, inner, (str(community.number),) if fits else (), (), tied)
    left = min(_KEY_LINES, rows - len(label) - 1)
    keys = tuple(shortened(key, width) for key in community.main_keys[: max(0, left)])
    return Area(community, inner, tuple(label), keys, tied)


def _beginning(label: Sequence[str], rows: int, width: float) -> list[str]:
    """The first lines of a label with `…` after the last; none where they would say little more than the number."""
    whole = next((place for place, line in enumerate(label) if line.endswith("…")), len(label))
    shown = list(label[: max(0, min(rows, whole))])
    if len(shown) < _LEAST_LINES:
        return []
    return [*shown[:-1], shortened(f"{shown[-1].rstrip(' ·')}…", width, _BOLD_SIZE)]


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
