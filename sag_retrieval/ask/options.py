"""What an asking may cost and how it goes about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.options import Bounds, check_options

Mode = Literal["fast", "normal", "deep"]
"""Names of modes, for type checkers and editors; a test holds it against `MODES`."""


@dataclass(frozen=True, slots=True)
class ModeEntry:
    """A way to ask: what it does, and the function of a `Session` that does it, as `module:name`."""

    summary: str
    target: str


MODES: Final[Mapping[Mode, ModeEntry]] = {
    "fast": ModeEntry("asks no model", "sag_retrieval.ask.modes:ask_fast"),
    "normal": ModeEntry("lets a model rewrite the question", "sag_retrieval.ask.modes:ask_normal"),
    "deep": ModeEntry("plans sub-questions and works them off", "sag_retrieval.ask.deep:ask_deep"),
}
"""Every mode, by name; choices of the command line and its help follow from here."""


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
