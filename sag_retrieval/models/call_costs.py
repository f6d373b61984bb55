"""What each question to a language model took and cost."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One row of the table `calls` (`sag_retrieval/release/schema.py`), and how many requests it took."""

    call_id: str
    document_id: str
    step: str
    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    is_cached: bool
    cost: float | None
    requests: int = 1
    """0 for an answer that came with the request of another one."""


def cost_of(calls: Sequence[Call]) -> dict[str, float]:
    """Calls, tokens and money of a step, for its metadata."""
    paid = [call for call in calls if not call.is_cached]
    return {
        "calls": sum(call.requests for call in paid),
        "cached_calls": len(calls) - len(paid),
        "input_tokens": sum(call.input_tokens for call in paid),
        "output_tokens": sum(call.output_tokens for call in paid),
        "cost": round(sum(call.cost or 0.0 for call in paid), 6),
    }
