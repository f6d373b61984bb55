"""What a caller gives to ask a question: a search function, a mode and its bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Final, Literal, Protocol

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.options import Bounds, Internal, check_options


class FoundPassage(Protocol):
    """A chunk that was found; `start:end` is its place in the document's text."""

    @property
    def chunk_id(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def document_id(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def title(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def text(self) -> str: ...  # noqa: D102  the column of the release
    @property
    def score(self) -> float: ...  # noqa: D102  the higher the better
    @property
    def start(self) -> int: ...  # noqa: D102  the column of the release


class FoundPassages(Protocol):
    """The passages a search found, best first."""

    @property
    def hits(self) -> Sequence[FoundPassage]: ...  # noqa: D102  at most `top_k`
    @property
    def keys(self) -> Sequence[Any]: ...  # noqa: D102  keys that took part, each with `type` and `value`
    @property
    def trace(self) -> Mapping[str, Any]: ...  # noqa: D102  how it was found


class SearchFunction(Protocol):
    """A search bound to a release and a method (docs/algorithm/search.md)."""

    def __call__(
        self, text: str, /, keys: Sequence[str] = (), sql: str | None = None, top_k: int = 10
    ) -> FoundPassages:
        """The best chunks for a text.

        Raises:
            FilterError: If the restriction was refused.
        """
        ...


Mode = Literal["fast", "normal", "deep", "global"]
"""Names of modes, for type checkers and editors; a test compares it with `MODES`."""


@dataclass(frozen=True, slots=True)
class ModeEntry:
    """A mode: its summary, and its function, which takes a `Session`, as `module:name`."""

    summary: str
    target: str


MODES: Final[Mapping[Mode, ModeEntry]] = {
    "fast": ModeEntry("asks no model", "sag_retrieval.ask.modes:ask_fast"),
    "normal": ModeEntry("lets a model rewrite the question", "sag_retrieval.ask.modes:ask_normal"),
    "deep": ModeEntry("plans sub-questions and answers them in order", "sag_retrieval.ask.deep:ask_deep"),
    "global": ModeEntry("answers from the themes of all documents", "sag_retrieval.ask.global_answer:ask_global"),
}
"""Every mode, by name; the command line takes its choices and help from here."""


AT_ONCE: Final = 8
"""Sub-questions of one plan, or themes of a global answer, that are answered at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """Bounds and choices for one question; the defaults suit a question of a few steps."""

    top_k: Annotated[int, Bounds(1)] = 10
    """Hits of each search."""
    keys: tuple[str, ...] = ()
    """Keys every search starts from, in addition to those the model names."""
    sql: str | None = None
    """Restriction of every search; a model's `sql` narrows it."""
    language: Literal["auto", "zh", "en"] = "auto"
    """Language of the prompts: `zh`, `en`, or `auto`, that of the question."""
    rounds: Annotated[int, Bounds(1)] = 3
    """Plans of the deep mode, the first included."""
    nodes: Annotated[int, Bounds(1)] = 8
    """Sub-questions of one plan."""
    max_calls: Annotated[int, Bounds(0)] = 40
    """Model calls for the whole question; one is kept for the final answer."""
    max_tokens: Annotated[int, Bounds(0)] = 200_000
    """Tokens sent and received for the whole question."""
    max_seconds: Annotated[float, Bounds(0)] = 180.0
    """Wall time after which no model answer is waited for."""
    evidence: Annotated[int, Bounds(1)] = 10
    """Passages shown for the final answer."""
    context: Annotated[bool, Internal()] = True
    """A model sees each passage with heading, date, the sentence before, events and keys; off: title and text."""
    vocabulary: Annotated[int, Bounds(0, 10_000)] = 600
    """Tokens of tables, key types, units and example values shown to a model that may write filters; 0: none."""
    sentences: Annotated[int, Bounds(1)] = 3
    """Sentences of an answer made without a model."""
    answer_scorer: str = "features"
    """How likely a sentence answers, without a model: `features`, or the name of a plug-in of `sag.answer_scorers`."""
    today: str = ""
    """The day from which what is next counts, ISO; empty: that on which the question is asked."""

    def __post_init__(self) -> None:
        check_options(self, QueryError)
        try:
            date.fromisoformat(self.today or "2000-01-01")
        except ValueError:
            wanted = "a day such as 2025-06-30, or empty; `sag settings --options ask` lists the options"
            raise QueryError(f"today={shown(self.today)} must be {wanted}") from None
