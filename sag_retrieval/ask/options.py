"""What an asking may cost and how it goes about it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.options import Bounds, check_options

Mode = Literal["fast", "normal", "deep"]
MODES: tuple[Mode, ...] = ("fast", "normal", "deep")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Bounds and choices of one asking; the defaults suit a question of a few steps."""

    top_k: Annotated[int, Bounds(1)] = 10
    """Hits of each search."""
    keys: tuple[str, ...] = ()
    """Keys every search starts from, besides those the model names."""
    sql: str | None = None
    """Restriction of every search; a model's own `sql` takes part only without it."""
    language: Literal["auto", "zh", "en"] = "auto"
    """Language of the prompts: `zh`, `en`, or `auto`, that of the question."""
    rounds: Annotated[int, Bounds(1)] = 3
    """Plans of the deep mode, the first included."""
    nodes: Annotated[int, Bounds(1)] = 8
    """Sub-questions of one plan."""
    at_once: Annotated[int, Bounds(1)] = 8
    """Sub-questions under way at the same time."""
    max_calls: Annotated[int, Bounds(0)] = 40
    """Model calls of the whole asking; one is kept for the final answer."""
    max_tokens: Annotated[int, Bounds(0)] = 200_000
    """Tokens sent and received in the whole asking."""
    max_seconds: Annotated[float, Bounds(0)] = 180.0
    """Wall time after which no model answer is waited for."""
    evidence: Annotated[int, Bounds(1)] = 10
    """Passages shown for the final answer."""
    sentences: Annotated[int, Bounds(1)] = 3
    """Sentences of an answer made without a model."""

    def __post_init__(self) -> None:
        """Refuse values out of bounds, with the value and the bound."""
        check_options(self, QueryError)
