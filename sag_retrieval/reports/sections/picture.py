"""Marks of the report's pictures, and text that has to fit into them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.language.words import is_cjk

LABEL_SIZE: Final = 14.0
_NARROWER: Final = 24
"""Steps of a width in which lines are made of about one length."""
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


def wrapped(text: str, width: float, size: float = LABEL_SIZE) -> list[str]:
    """The text in as few lines as it can, of about one length; words stay whole, also where one alone is wider.

    Examples:
        >>> wrapped("Net profit and equity", 15, 1.0)
        ['Net profit and equity']
        >>> wrapped("Net profit and equity", 9, 1.0)
        ['Net profit', 'and equity']

    """
    parts = list(_parts(text))
    lines = _filled(parts, width, size)
    for step in range(1, _NARROWER):
        room = width * (1 - step / _NARROWER)
        narrower = _filled(parts, room, size)
        if len(narrower) > len(lines) or not fits(narrower, room, size):
            break
        lines = narrower
    return lines


def _filled(parts: Sequence[str], width: float, size: float) -> list[str]:
    """Each line holds as much as it can."""
    lines: list[str] = []
    for part in parts:
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
