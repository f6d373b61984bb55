"""Layout of the map: coordinates of circles, dots and labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import igraph
import numpy as np
import numpy.typing as npt

from sag_retrieval.communities.clustering import seeded
from sag_retrieval.communities.events import Floats
from sag_retrieval.text.words import is_cjk

WIDTH, HEIGHT = 1000.0, 620.0
LABEL_SIZE = 13.0

_COVER = 0.2
"""Share of the map that circles fill."""
_GAP = 16.0
_SMALLEST = 12.0
_GOLDEN = np.pi * (3 - np.sqrt(5))
_ROUNDS = 600

Points = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Placed:
    """Circles: centres of shape (communities, 2), radii, and the box (x, y, width, height) of it all."""

    centre: Points
    radius: Floats
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Label:
    """Where a title stands: `anchor` is start, middle or end; hidden at first if it found no place."""

    x: float
    y: float
    anchor: str
    text: str
    fits: bool


Box = tuple[float, float, float, float]


def place_circles(sizes: Sequence[int], pairs: Sequence[tuple[int, int, float]], seed: int = 0) -> Placed:
    """Circles whose area is their size, tied ones near each other, none touching; the same every time.

    Very small ones are drawn larger than their size, so that their number fits in.

    Source:
        docs/algorithm.md §reports.8.

    """
    area = np.asarray(sizes, dtype=float)
    radius = np.sqrt(area * _COVER * WIDTH * HEIGHT / (np.pi * max(area.sum(), 1)))
    radius = np.maximum(radius * min(1.0, HEIGHT / 4 / float(radius.max(initial=1))), _SMALLEST)
    graph = igraph.Graph(n=len(sizes), edges=[(one, two) for one, two, _ in pairs])
    start = [[np.cos(_GOLDEN * i) * np.sqrt(i + 1), np.sin(_GOLDEN * i) * np.sqrt(i + 1)] for i in range(len(sizes))]
    with seeded(seed):
        layout = graph.layout_fruchterman_reingold(
            weights=[weight for *_, weight in pairs] or None, seed=start, niter=1_000
        )
    centre = _apart(_stretched(np.asarray(layout.coords, dtype=float).reshape(-1, 2)), radius)
    low = (centre - radius[:, None]).min(axis=0) - LABEL_SIZE * 2
    high = (centre + radius[:, None]).max(axis=0) + LABEL_SIZE * 2
    side = LABEL_SIZE * 4
    return Placed(
        np.round(centre, 1),
        np.round(radius, 1),
        (float(low[0] - side), float(low[1]), float(high[0] - low[0] + 2 * side), float(high[1] - low[1])),
    )


def _stretched(point: Points) -> Points:
    middle, spread = point.mean(axis=0), np.maximum(np.ptp(point, axis=0), 1e-9)
    scaled: Points = np.round((point - middle) / spread * [WIDTH * 0.8, HEIGHT * 0.8], 6)
    return scaled


def _apart(centre: Points, radius: Floats) -> Points:
    """Push circles apart until none touch, with a pull to the middle, stronger upright than sideways."""
    reach = radius[:, None] + radius[None, :] + _GAP
    for turn in range(_ROUNDS):
        if turn < _ROUNDS * 2 // 3:
            centre = centre * [0.992, 0.97]
        gap = centre[:, None] - centre[None, :]
        distance = np.hypot(gap[..., 0], gap[..., 1])
        np.fill_diagonal(distance, np.inf)
        overlap = np.maximum(reach - distance, 0)
        if turn >= _ROUNDS * 2 // 3 and not overlap.any():
            break
        push = np.where(distance > 0, overlap / np.maximum(distance, 1e-9) / 2, 0)
        centre = centre + (gap * push[..., None]).sum(axis=1) * 0.6
    return centre


def place_dots(count: int, x: float, y: float, radius: float) -> tuple[Points, float]:
    """Centres of `count` dots on a Fermat spiral around the number, and the radius of a dot."""
    order = np.arange(count)
    hole, rim = min(14.0, radius * 0.5), radius * 0.9
    away = np.sqrt(hole**2 + (rim**2 - hole**2) * (order + 0.5) / max(count, 1))
    turn = order * _GOLDEN
    point = np.column_stack([x + away * np.cos(turn), y + away * np.sin(turn)])
    return np.round(point, 1), round(float(np.clip(0.62 * rim / np.sqrt(max(count, 1)), 0.8, 2.6)), 2)


def text_width(text: str, size: float = LABEL_SIZE) -> float:
    """About how wide a text is drawn: a Chinese character is square, another a little over half as wide."""
    return sum(size * (1.04 if is_cjk(character) or ord(character) > 0x2E80 else 0.6) for character in text)  # noqa: PLR2004  full-width forms


def shortened(title: str, width: float, size: float = LABEL_SIZE) -> str:
    """The title as far as it fits the width, with `…` where it was cut."""
    if text_width(title, size) <= width:
        return title
    while title and text_width(title + "…", size) > width:
        title = title[:-1]
    return title.rstrip() + "…"


def place_labels(placed: Placed, titles: Sequence[str]) -> list[Label]:
    """A place for each title beside, under or over its circle that touches nothing; larger circles first."""
    taken: list[Box] = [
        (x - r, y - r, x + r, y + r) for (x, y), r in zip(placed.centre.tolist(), placed.radius.tolist(), strict=True)
    ]
    labels: dict[int, Label] = {}
    for number in np.argsort(-placed.radius, kind="stable").tolist():
        x, y = placed.centre[number].tolist()
        places = _places(x, y, float(placed.radius[number]), titles[number])
        free = next(((label, box) for label, box in places if _is_free(box, taken, placed.box)), None)
        label, box = free or (places[0][0], None)
        if box:
            taken.append(box)
        labels[number] = Label(label.x, label.y, label.anchor, label.text, fits=box is not None)
    return [labels[number] for number in range(len(titles))]


def _places(x: float, y: float, radius: float, text: str) -> list[tuple[Label, Box]]:
    wide, high = text_width(text), LABEL_SIZE * 1.2
    found = []
    for left, base, anchor, at in (
        (x - wide / 2, y + radius + high, "middle", x),
        (x + radius + 5, y + high / 3, "start", x + radius + 5),
        (x - radius - 5 - wide, y + high / 3, "end", x - radius - 5),
        (x - wide / 2, y - radius - 5, "middle", x),
    ):
        box = (left, base - high, left + wide, base + high * 0.25)
        found.append((Label(round(at, 1), round(base, 1), anchor, text, fits=True), box))
    return found


def _is_free(box: Box, taken: Sequence[Box], whole: Box) -> bool:
    left, top, right, bottom = box
    if left < whole[0] or top < whole[1] or right > whole[0] + whole[2] or bottom > whole[1] + whole[3]:
        return False
    return all(right < one[0] or left > one[2] or bottom < one[1] or top > one[3] for one in taken)
