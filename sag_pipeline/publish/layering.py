"""How many layers a release has: changes lie in small layers, and these are put together before they are many."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerSize:
    """Rows of a layer: those that are still shown, and all."""

    shown: int
    total: int


@dataclass(frozen=True, slots=True)
class Layering:
    """Bounds of the layers of a release; a row is a chunk or an event."""

    least_rows: int = 5_000
    """A release with fewer is written whole, which takes less than a second."""
    most: int = 8
    """Layers that a release has at most."""
    growth: float = 1.0
    """A layer is written again with the new rows unless it has more than this many times theirs."""
    share: float = 0.25
    """A release is written whole once more than this share of its rows would be written, or be hidden."""

    def kept(self, layers: Sequence[LayerSize], fresh: int) -> int:
        """How many of the layers, from the first on, the next release keeps; 0: it is written whole.

        Args:
            layers: Those of the release before, without the rows that are written again in any case.
            fresh: Number of these rows, and of new ones.

        """
        kept = len(layers)
        while kept > 1 and (kept >= self.most or layers[kept - 1].shown <= self.growth * fresh):
            kept -= 1
            fresh += layers[kept].shown
        shown = fresh + sum(layer.shown for layer in layers[:kept])
        hidden = sum(layer.total - layer.shown for layer in layers[:kept])
        is_whole = shown < self.least_rows or max(fresh, hidden) > self.share * shown
        return 0 if is_whole else kept
