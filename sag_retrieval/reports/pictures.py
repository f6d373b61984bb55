"""The pictures of a report: areas for topics, bars for periods, and text that fits into them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

import numpy as np

from sag_retrieval.language.words import is_cjk
from sag_retrieval.reports.ranking import RankedTopic
from sag_retrieval.reports.wording import Messages

WIDTHS: Final = (824.0, 358.0)
"""For wide and narrow screens, in the pixels of the page: text keeps its size."""
LABEL_SIZE: Final = 14.0
_BOLD_SIZE: Final = LABEL_SIZE * 1.12
"""Bold letters are wider: as wide as plain ones of this size."""
_LINE: Final = LABEL_SIZE * 1.25
_MARGIN: Final = 8.0
_GAP: Final = 2.0
_ROOM: Final = 1.7
"""Width to height of a tile in a treemap, if it could be chosen: titles are lines."""
_HEIGHTS: Final = {824.0: (300.0, 390.0, 480.0, 560.0), 358.0: (430.0, 540.0, 650.0, 760.0)}


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of a picture."""

    x: float
    y: float
    width: float
    height: float


def text_width(text: str, size: float = LABEL_SIZE) -> float:
    """Estimated width of a text as drawn; Chinese characters are as wide as high."""
    return sum(size if is_cjk(character) else size * 0.6 for character in text)


def wrapped(text: str, width: float, size: float = LABEL_SIZE) -> list[str]:
    """The text in as few lines as it can; words stay whole, also where one alone is wider.

    Examples:
        >>> wrapped("Net profit and equity", 11, 1.0)
        ['Net profit and', 'equity']

    """
    lines: list[str] = []
    for part in _parts(text):
        if lines and text_width((lines[-1] + part).rstrip(), size) <= width:
            lines[-1] += part
        else:
            lines.append(part)
    return [line.rstrip() for line in lines]


def _parts(text: str) -> Iterator[str]:
    """Words with the space behind them, and Chinese characters with the punctuation behind them."""
    part = ""
    for character in text:
        before = part[-1:]
        begins = is_cjk(character) or is_cjk(before) or before == " "
        if part and begins and not (is_cjk(before) and not is_cjk(character) and not character.isalnum()):
            yield part
            part = ""
        part += character
    if part:
        yield part


def fits(lines: Sequence[str], width: float, size: float = LABEL_SIZE) -> bool:
    """Whether no line is wider."""
    return all(text_width(line, size) <= width for line in lines)


def treemap(sizes: Sequence[float], whole: Tile) -> list[Tile]:
    """Tiles whose areas are in proportion to the sizes, in their order, with a shape that has room for words.

    Tiles are as near to squares as they can be in a plane that is narrower by `_ROOM`, so that they are wider by it.
    Sizes fall from first to last and are above 0. Source: Bruls, Huizing and van Wijk, Squarified Treemaps (2000).

    Examples:
        >>> [round(tile.width * tile.height) for tile in treemap([6, 3, 1], Tile(0, 0, 100, 10))]
        [600, 300, 100]

    """
    scale = whole.width * whole.height / _ROOM / sum(sizes) if sizes else 0.0
    left = Tile(whole.x / _ROOM, whole.y, whole.width / _ROOM, whole.height)
    areas, tiles = [size * scale for size in sizes], []
    while areas:
        side = min(left.width, left.height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(areas[:count], side):
            count += 1
        row, areas = areas[:count], areas[count:]
        placed, left = _place(row, left)
        tiles.extend(placed)
    return [Tile(tile.x * _ROOM, tile.y, tile.width * _ROOM, tile.height) for tile in tiles]


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of two sides among tiles of these areas in one row along a side."""
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))


def _place(row: Sequence[float], left: Tile) -> tuple[list[Tile], Tile]:
    """A row of tiles along the shorter side, and what is left beside it."""
    total, tiles = sum(row), []
    if left.width >= left.height:
        depth, y = total / left.height, left.y
        for area in row:
            tiles.append(Tile(left.x, y, depth, area / depth))
            y += area / depth
        return tiles, Tile(left.x + depth, left.y, left.width - depth, left.height)
    depth, x = total / left.width, left.x
    for area in row:
        tiles.append(Tile(x, left.y, area / depth, depth))
        x += area / depth
    return tiles, Tile(left.x, left.y + depth, left.width, left.height - depth)


@dataclass(frozen=True, slots=True)
class Area:
    """A topic on the map: its tile, the lines of its label, and whether there is room for its count below."""

    topic: RankedTopic
    tile: Tile
    label: tuple[str, ...]
    has_count: bool


@dataclass(frozen=True, slots=True)
class MapPicture:
    """The map in one width."""

    width: float
    height: float
    areas: tuple[Area, ...]


def draw_map(topics: Sequence[RankedTopic], width: float) -> MapPicture:
    """The largest topics, as many as have their whole titles on the highest map, drawn as low as they have them."""
    ordered, heights = sorted(topics, key=lambda each: (-each.size, each.number)), _HEIGHTS[width]
    for count in range(len(ordered), 0, -1):
        for height in heights:
            tiles = [_inner(tile) for tile in treemap([t.size for t in ordered[:count]], Tile(0.0, 0.0, width, height))]
            pairs = zip(reversed(ordered[:count]), reversed(tiles), strict=True)  # the smallest fails first
            areas = list(takewhile(lambda area: area.label, (_area(topic, tile) for topic, tile in pairs)))
            if len(areas) == count:
                return MapPicture(width, height, tuple(reversed(areas)))
    return MapPicture(width, heights[0], ())


def _inner(tile: Tile) -> Tile:
    """The tile without the gap between it and others."""
    sides = (max(0.5, tile.width - _GAP), max(0.5, tile.height - _GAP))
    return Tile(*(round(each, 1) for each in (tile.x + _GAP / 2, tile.y + _GAP / 2, *sides)))


def _area(topic: RankedTopic, tile: Tile) -> Area:
    """Number and title in lines; no line where the tile has no room for all of them."""
    rows = int((tile.height - 1.5 * _MARGIN) // _LINE)
    width = tile.width - 2 * _MARGIN
    label = wrapped(f"{topic.number} {topic.title}", width, _BOLD_SIZE)
    is_whole = len(label) <= rows and fits(label, width, _BOLD_SIZE)
    return Area(topic, tile, tuple(label) if is_whole else (), len(label) < rows and fits([f"{topic.size:,}"], width))


MOST_COLUMNS: Final = 32
_STEPS: Final = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1_200)
"""Months a column may span."""
_YEAR: Final = 12
_NAMED: Final = 12
"""Columns up to which each has its name below; above, those that begin a year."""
_OUTSIDE: Final = (0.01, 0.05, 0.1)
"""Shares of the dates that may lie before the periods and after them, if that makes the periods half as long."""
_VAGUE: Final = 0.2
"""Share of bare years among the dates from which on columns are years."""
_ISO: Final = re.compile(r"(\d{4})(?:-(\d\d))?")
_BARS, _HIGH = 60.0, 100.0
"""Height of the highest bar and of the picture."""
_LEAST_DATED, _TOWER = 10, 0.75
"""Fewer dates than that are no picture, nor are periods of which one holds such a share."""


@dataclass(frozen=True, slots=True)
class Column:
    """A period: its name, the count of its events, and what stands below it, if anything."""

    name: str
    count: int
    label: str = ""
    outside: str = ""
    """`before` or `after`, where it holds all that is before or after the named period."""

    def said(self, messages: Messages) -> str:
        """Its name in words."""
        return messages[self.outside].format(period=self.name) if self.outside else self.name


@dataclass(frozen=True, slots=True)
class Timeline:
    """Events by period, and how many have no date, or a year only where columns are finer."""

    columns: tuple[Column, ...]
    undated: int


def make_timeline(dates: Sequence[str | None]) -> Timeline | None:
    """Events by month, quarter, half-year, year or longer: the finest that gives at most 32 columns.

    The outer hundredth of the events, or more where that makes columns half as long, goes into one column before the
    first and one after the last. None where no event has a date.

    Source:
        docs/algorithm.md §reports.9.

    """
    found = [_ISO.match(date) if date else None for date in dates]
    month = np.array([int(m[1]) * _YEAR + int(m[2] or 1) - 1 if m else -1 for m in found], np.int64)
    is_year_only = np.array([m is not None and m[2] is None for m in found], np.bool_)
    dated = month >= 0
    if not dated.any():
        return None
    first, last, step = _periods(month[dated], is_vague=is_year_only.sum() > _VAGUE * dated.sum())
    placed = month[dated & ~(is_year_only & (step < _YEAR))] // step
    counts = np.bincount(np.clip(placed, first - 1, last + 1) - first + 1, minlength=last - first + 3).tolist()
    columns = [
        Column(_name(first + at, step), count, _label(first + at, step)) for at, count in enumerate(counts[1:-1])
    ]
    if len(columns) <= _NAMED:
        columns = [replace(column, label=column.name) for column in columns]
    early = [Column(columns[0].name, counts[0], outside="before")] if counts[0] else []
    late = [Column(columns[-1].name, counts[-1], outside="after")] if counts[-1] else []
    return Timeline((*early, *columns, *late), len(dates) - len(placed))


def _periods(month: "np.typing.NDArray[np.int64]", *, is_vague: bool) -> tuple[int, int, int]:
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


def _label(number: int, step: int) -> str:
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
class TimelinePicture:
    """The timeline in one width: bars with what they say, and names of periods with their place."""

    width: float
    height: float
    bars: tuple[tuple[Tile, str], ...]
    labels: tuple[tuple[float, str], ...]


def draw_timeline(timeline: Timeline, width: float, messages: Messages) -> TimelinePicture | None:
    """A bar for each period; None where the dates are too few, or nearly all of one period."""
    counts = [column.count for column in timeline.columns]
    if sum(counts) < _LEAST_DATED or max(counts) >= _TOWER * sum(counts):
        return None
    step = width / len(counts)
    bars, labels, free = [], list[tuple[float, str]](), 0.0
    for place, column in enumerate(timeline.columns):
        height = round(_BARS * column.count / max(counts), 1)
        tile = Tile(round(place * step + step * 0.1, 1), _HIGH - _LINE - 6 - height, round(step * 0.8, 1), height)
        bars.append((tile, f"{column.said(messages)}{messages.colon}{column.count:,}"))
        start, long = round(place * step, 1), text_width(column.label)
        if column.label and free <= start and start + long <= width:
            labels.append((start, column.label))
            free = start + long + _MARGIN
    return TimelinePicture(width, _HIGH, tuple(bars), tuple(labels))
