"""What an asking may cost and how it goes about it."""

from dataclasses import dataclass
from typing import Literal

from sag_retrieval.core.errors import QueryError

Mode = Literal["fast", "normal", "deep"]
MODES: tuple[Mode, ...] = ("fast", "normal", "deep")

_LEAST = {
    "top_k": 1,
    "rounds": 1,
    "nodes": 1,
    "at_once": 1,
    "max_calls": 0,
    "max_tokens": 0,
    "max_seconds": 0.0,
    "evidence": 1,
    "sentences": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Bounds and choices of one asking; the defaults suit a question of a few steps."""

    top_k: int = 10
    """Hits of each search."""
    keys: tuple[str, ...] = ()
    """Keys every search starts from, besides those the model names."""
    sql: str | None = None
    """Restriction of every search; a model's own `sql` takes part only without it."""
    language: str = "auto"
    """Language of the prompts: `zh`, `en`, or `auto`, that of the question."""
    rounds: int = 3
    """Plans of the deep mode, the first included."""
    nodes: int = 8
    """Sub-questions of one plan."""
    at_once: int = 8
    """Sub-questions under way at the same time."""
    max_calls: int = 40
    """Model calls of the whole asking; one is kept for the final answer."""
    max_tokens: int = 200_000
    """Tokens sent and received in the whole asking."""
    max_seconds: float = 180.0
    """Wall time after which no model answer is waited for."""
    evidence: int = 10
    """Passages shown for the final answer."""
    sentences: int = 3
    """Sentences of an answer made without a model."""

    def __post_init__(self) -> None:
        """Refuse values out of bounds, with the value and the bound."""
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise QueryError(f"{name} is {getattr(self, name)}, must be at least {least}")
