"""The highest of many scores, without sorting or partitioning them all."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats32, Rows

_BLOCK: Final = 32


def top_k(scores: Floats32, k: int, rows: Rows | None = None) -> tuple[Rows, Floats32]:
    """The k highest scores above 0, best first, ties by row, with their row numbers.

    Args:
        scores: Shape (rows,).
        k: How many at most.
        rows: The row number of each score, ascending; None: 0, 1, 2, ….

    """
    chosen = np.flatnonzero(scores >= kth_largest(scores, k))
    chosen = chosen[scores[chosen] > 0]
    order = chosen[np.argsort(-scores[chosen], kind="stable")][: max(k, 0)]
    return (order if rows is None else rows[order]).astype(np.int32), scores[order]


def kth_largest(scores: npt.NDArray[Any], k: int) -> float:
    """The k-th highest score, -inf where there are no more than k.

    The k-th highest of the highest of each block is no more than it, so only scores from there on are partitioned.
    """
    if not 0 < k < len(scores):
        return -np.inf
    whole = len(scores) // _BLOCK * _BLOCK
    if whole >= 2 * k * _BLOCK:
        highest = scores[:whole].reshape(_BLOCK, -1).max(axis=0)
        scores = scores[scores >= np.partition(highest, -k)[-k]]
    return float(np.partition(scores, -k)[-k])
