"""How rare a key is: its idf, from the number of events that carry it."""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats

Smoothing = Literal["none", "add-one"]


def idf(event_count: int, total_events: int, *, smoothing: Smoothing = "none") -> float:
    """`ln(total_events / event_count)`, never negative: 0 for a key that every event carries, or that none does.

    Args:
        event_count: Events that carry the key.
        total_events: All events, at least `event_count`.
        smoothing: `add-one` divides by `event_count + 1`, and stops at 0.

    Raises:
        ValueError: If a count is negative or more events carry the key than there are.

    Source: docs/algorithm.md §extraction.7.

    Examples:
        >>> round(idf(2, 200), 4), round(idf(2, 200, smoothing="add-one"), 4)
        (4.6052, 4.1997)
    """
    if not 0 <= event_count <= total_events:
        raise ValueError(f"event_count={event_count} must lie in [0, total_events={total_events}]")
    if event_count == 0:
        return 0.0
    divisor = event_count + 1 if smoothing == "add-one" else event_count
    return max(0.0, math.log(total_events / divisor))


def idf_of(event_counts: npt.NDArray[np.integer], total_events: int, smoothing: Smoothing) -> Floats:
    """The idf of each key; that of keys without events is the highest there can be."""
    distinct, back = np.unique(event_counts, return_inverse=True)
    values = [
        idf(count, total_events, smoothing=smoothing) if count else math.log(max(total_events, 1))
        for count in distinct.tolist()
    ]
    found: Floats = np.array(values, np.float64)[back]
    return found
