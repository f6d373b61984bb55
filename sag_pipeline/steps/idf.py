"""How rare keys are among events."""

import math
from typing import Literal

Smoothing = Literal["none", "add-one"]


def idf(event_count: int, total_events: int, *, smoothing: Smoothing = "none") -> float:
    """`ln(total_events / event_count)`, never negative: 0 for a key that every event carries, or that none does.

    Args:
        event_count: Events that carry the key.
        total_events: All events, at least `event_count`.
        smoothing: `add-one` divides by `event_count + 1` as the seed's appendix does, and stops at 0.

    Raises:
        ValueError: If a count is negative or more events carry the key than there are.

    Source:
        docs/algorithm.md §extraction.7.

    Example:
        >>> round(idf(2, 200), 4), round(idf(2, 200, smoothing="add-one"), 4)
        (4.6052, 4.1997)

    """
    if not 0 <= event_count <= total_events:
        raise ValueError(f"event_count={event_count} must lie in [0, total_events={total_events}]")
    if event_count == 0:
        return 0.0
    divisor = event_count + 1 if smoothing == "add-one" else event_count
    return max(0.0, math.log(total_events / divisor))
