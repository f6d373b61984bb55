"""The vectors of several layers as those of one table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from sag_retrieval.core.types import Flags, Floats32, Rows
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.layer_precedence import Joined
from sag_retrieval.release.topk import BinaryIndex, top_k
from sag_retrieval.release.vectors import VectorSet


@dataclass(frozen=True, slots=True, eq=False)
class JoinedVectors:
    """Vectors that lie apart, by layer: each layer scores its rows, all together are ranked."""

    layers: Sequence[VectorSet]
    joined: Joined

    @property
    def row_count(self) -> int:
        """Rows of the table."""
        return len(self.joined)

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return self.layers[0].dimension

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        numbers = self.joined.source if rows is None else self.joined.source[rows]
        return np.concatenate([layer.scores(query) for layer in self.layers])[numbers]

    def top(self, query: Vectors, k: int, allowed: Flags | None = None) -> tuple[Rows, Floats32]:
        """The k best allowed rows."""
        scores = self.scores(query)
        return top_k(scores if allowed is None else np.where(allowed, scores, np.float32(0)), k)

    def likeness(self, query: Vectors) -> Floats32 | None:
        """None: each layer scores all its rows."""
        del query
        return None

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        numbers = self.joined.source[rows]
        layer = np.searchsorted(self.joined.firsts, numbers, side="right") - 1
        order, taken = [np.zeros(0, np.int64)], list[Vectors]()
        for place in np.unique(layer).tolist():
            chosen = np.flatnonzero(layer == place)
            order.append(chosen)
            taken.append(self.layers[place].take((numbers[chosen] - self.joined.firsts[place]).astype(np.int32)))
        back = np.argsort(np.concatenate(order), kind="stable")
        if not taken:
            return self.layers[0].take(np.zeros(0, np.int32))
        sparse = [each for each in taken if isinstance(each, csr_array)]
        if sparse:
            return csr_array(csr_array(vstack(sparse, format="csr"))[back])
        return np.concatenate([np.asarray(each) for each in taken])[back]


def join_signs(layers: Sequence[BinaryIndex], joined: Joined) -> BinaryIndex:
    """One binary index, with the reach of the first: a row's signs depend on its vector alone."""
    words = np.concatenate([layer.words for layer in layers], axis=1)
    return BinaryIndex(np.ascontiguousarray(words[:, joined.source]), layers[0].reach)
