"""Marks of the report's pictures, and text that has to fit into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.text.words import is_cjk

LABEL_SIZE: Final = 14.0
_SHORT: Final = 12
"""Letters that may be left out to end with a word."""
ROOM: Final = 1.7
"""Width to height of a tile in a treemap, if it could be chosen: titles are lines."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A circle or bar of one or more events."""

    x: float
    y: float
    size: float
    tip: str


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of a treemap."""

    x: float
    y: float
    width: float
    height: float


def text_width(text: str, size: float = LABEL_SIZE) -> float:
    """Estimated width of a text as drawn; Chinese characters are as wide as high."""
    return sum(size if is_cjk(character) else size * 0.6 for character in text)


def shortened(title: str, width: float, size: float = LABEL_SIZE) -> str:
    """The title, cut with `…` where it is wider: behind a word, if that leaves out few letters more.

    Examples:
        >>> shortened("Long-term development and performance", 30, 1.0), shortened("Shareholder", 5, 1.0)
        ('Long-term development and performance', 'Shareho…')

    """
    if text_width(title, size) <= width:
        return title
    head = title
    while head and text_width(head + "…", size) > width:
        head = head[:-1]
    word = head.rpartition(" ")[0]
    if word and not is_cjk(head) and title[len(head)] != " " and len(head) - len(word) <= _SHORT:
        head = word
    return head.rstrip(" ·,;") + "…"


def wrapped(text: str, width: float, size: float = LABEL_SIZE) -> list[str]:
    """The text in lines that are no wider; words stay whole unless one alone is wider."""
    parts = list(text) if is_cjk(text) else [f"{word} " for word in text.split(" ")]
    lines: list[str] = []
    for part in parts:
        if lines and text_width((lines[-1] + part).rstrip(), size) <= width:
            lines[-1] += part
        else:
            lines.append(part)
    return [shortened(line.rstrip(), width, size) for line in lines]


def treemap(sizes: Sequence[float], whole: Tile) -> list[Tile]:
    """Tiles whose areas are in proportion to the sizes, in their order, with a shape that has room for words.

    Tiles are as near to squares as they can be in a plane that is narrower by `ROOM`, so that they are wider by it.
    Sizes fall from first to last and are above 0. Source: Bruls, Huizing and van Wijk, Squarified Treemaps (2000).

    Examples:
        >>> [round(tile.width * tile.height) for tile in treemap([6, 3, 1], Tile(0, 0, 100, 10))]
        [600, 300, 100]

    """
    scale = whole.width * whole.height / ROOM / sum(sizes) if sizes else 0.0
    narrow = Tile(whole.x / ROOM, whole.y, whole.width / ROOM, whole.height)
    areas, tiles, left = [size * scale for size in sizes], [], narrow
    while areas:
        side = min(left.width, left.height)
        count = 1
        while count < len(areas) and _worst(areas[: count + 1], side) <= _worst(areas[:count], side):
            count += 1
        row, areas = areas[:count], areas[count:]
        placed, left = _place(row, left)
        tiles.extend(placed)
    return [Tile(tile.x * ROOM, tile.y, tile.width * ROOM, tile.height) for tile in tiles]


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of two sides among tiles of these areas in one row along a side."""
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))


def _place(row: Sequence[float], left: Tile) -> tuple[list[Tile], Tile]:
    """A row of tiles along the shorter side, and what is left beside it."""
    total = sum(row)
    if left.width >= left.height:
        depth, y, tiles = total / left.height, left.y, []
        for area in row:
            tiles.append(Tile(left.x, y, depth, area / depth))
            y += area / depth
        return tiles, Tile(left.x + depth, left.y, left.width - depth, left.height)
    depth, x, tiles = total / left.width, left.x, []
    for area in row:
        tiles.append(Tile(x, left.y, area / depth, depth))
        x += area / depth
    return tiles, Tile(left.x, left.y + depth, left.width, left.height - depth)
