"""Which rows of several layers are those of the release: of equal ids, the row of the last layer hides the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.types import Rows64


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Rows of a table of all layers, numbered one layer after another, and rows of the release."""

    source: Rows64
    """Number of each row of the release."""
    place: Rows64
    """Row of the release of each number; -1 for one that is not in it."""
    firsts: Rows64
    """The first number of each layer, and the end of the last."""

    def __len__(self) -> int:
        """Rows of the release."""
        return len(self.source)

    def without(self, rows: npt.NDArray[np.bool_]) -> "Joined":
        """The same without some rows of the release."""
        left = np.cumsum(~rows) - 1
        left[rows] = -1
        place = np.where(self.place < 0, -1, left[self.place]) if len(left) else np.full(len(self.place), -1, np.int64)
        return Joined(self.source[~rows], place, self.firsts)

    def of(self, layer: int) -> Rows64:
        """The row of the release of each row of a layer."""
        return self.place[self.firsts[layer] : self.firsts[layer + 1]]

    def is_shown(self) -> npt.NDArray[np.bool_]:
        """Whether each number is a row of the release, and not one that another takes the place of."""
        flags = np.zeros(len(self.place), np.bool_)
        flags[self.source] = True
        return flags


def overlay(layers: Sequence[pa.ChunkedArray]) -> Joined:
    """The union of sorted ids, sorted; `place` names the row of each id, also where another layer's row is shown."""
    ids = _comparable(layers)
    merged, source = ids[0], np.arange(len(ids[0]))
    places = [source]
    for later in ids[1:]:
        at = np.searchsorted(merged, later) if len(merged) else np.zeros(len(later), np.int64)
        known = np.zeros(len(later), np.bool_)
        inside = np.flatnonzero(at < len(merged))
        known[inside] = merged[at[inside]] == later[inside]
        new = np.flatnonzero(~known)
        moved = np.arange(len(merged)) + np.searchsorted(at[new], np.arange(len(merged)), side="right")
        own = np.empty(len(later), np.int64)
        own[new] = at[new] + np.arange(len(new))
        own[known] = moved[at[known]]
        places = [moved[each] for each in places] + [own]
        number = sum(map(len, places[:-1])) + np.arange(len(later))
        whole, sources = np.empty(len(merged) + len(new), merged.dtype), np.empty(len(merged) + len(new), np.int64)
        whole[moved], sources[moved] = merged, source
        whole[own], sources[own] = later, number
        merged, source = whole, sources
    return Joined(source, np.concatenate(places), firsts_of(map(len, ids)))


def _comparable(columns: Sequence[pa.ChunkedArray]) -> list[npt.NDArray[Any]]:
    """Ids that NumPy can compare: as bytes where all are of one length, as most ids of keys are, else as objects."""
    whole = [column.combine_chunks() for column in columns]
    widths = {int(width) for each in whole for width in pc.unique(pc.binary_length(each)).to_pylist()}
    if len(widths) == 1 and (width := widths.pop()):
        found = [
            np.frombuffer(each.buffers()[2], np.uint8, width * len(each), _start(each)) for each in whole if len(each)
        ]
        if not any((each == 0).any() for each in found):  # NumPy takes zeros at an end for padding
            filled = iter(found)
            return [next(filled).view(f"S{width}") if len(each) else np.zeros(0, f"S{width}") for each in whole]
    return [np.array(each.to_pylist(), object) for each in whole]  # `to_numpy` would import pandas


def _start(ids: pa.StringArray) -> int:
    """The byte at which the text of an array begins."""
    return int(np.frombuffer(ids.buffers()[1], np.int32, 1, 4 * ids.offset)[0])


def below(owners: Sequence[Rows64]) -> Joined:
    """The rows whose owner is shown, by owner; rows of one owner in their order.

    Args:
        owners: By layer: the row of the release of each row's owner; -1 where that is hidden.

    """
    owner = np.concatenate(owners)
    shown = np.flatnonzero(owner >= 0)
    source = shown[np.argsort(owner[shown], kind="stable")]
    place = np.full(len(owner), -1, np.int64)
    place[source] = np.arange(len(source))
    return Joined(source, place, firsts_of(map(len, owners)))


def firsts_of(sizes: Iterable[int]) -> Rows64:
    """The first number of each layer, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.fromiter(sizes, np.int64))]).astype(np.int64)
