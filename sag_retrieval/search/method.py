"""The one signature of every way to rank chunks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, SupportsIndex

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.types import Floats, Rows
from sag_retrieval.release.arrays import Allowed, Index

__all__ = ["Allowed", "Method", "Query", "RankedKey", "Ranking"]


LONGEST_QUERY: Final = 20_000
LONGEST_KEY: Final = 1_000
MOST_KEYS: Final = 1_000
"""Bounds of a query: characters of its text and of a key, and keys; reading one takes time in proportion."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: the question, keys given with it, how many hits, and the restriction (None: none)."""

    text: str
    keys: Collection[str] = ()
    top_k: int = 10
    allowed: Allowed | None = None
    explain: bool = False
    """Whether the ranking's trace tells how each hit was found."""
    gold_documents: Collection[str] = ()
    """With `explain`: documents known to be right; the trace counts how many each stage still has."""

    def __post_init__(self) -> None:
        """Refuse what cannot be read as a query.

        Raises:
            QueryError: If the query or a key is no text, broken or too long, or there are too many keys.

        """
        check_text("query", self.text, LONGEST_QUERY)
        if isinstance(self.keys, str) or not isinstance(self.keys, Collection):
            meant = f'; did you mean ["{self.keys}"]?' if isinstance(self.keys, str) else ""
            raise QueryError(f"keys must be a list of texts, got {shown(self.keys)}{meant}")
        if len(self.keys) > MOST_KEYS:
            raise QueryError(f"{len(self.keys)} keys are given, allowed are {MOST_KEYS}")
        for key in self.keys:
            check_text("key", key, LONGEST_KEY)
        if isinstance(self.gold_documents, str):
            raise QueryError(f"gold_documents must be a list of ids, got {shown(self.gold_documents)}")
        object.__setattr__(self, "keys", tuple(self.keys))
        object.__setattr__(self, "gold_documents", tuple(self.gold_documents))
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, SupportsIndex):
            meant = f"; did you mean {self.top_k}?" if str(self.top_k).isdecimal() else ""
            raise QueryError(f"top_k must be a whole number, got {shown(self.top_k)}{meant}")


def check_text(what: str, text: object, longest: int) -> None:
    """Refuse what is no text, has lone surrogates, or is longer than `longest` characters.

    Raises:
        QueryError: With the value and the bound.

    """
    if not isinstance(text, str):
        raise QueryError(f"a {what} must be text, got {shown(text)}")
    if len(text) > longest:
        raise QueryError(f"the {what} has {len(text):,} characters, allowed are {longest:,}; ask for less at once")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError(f"the {what} is broken text: {error.reason} at character {error.start}") from error


@dataclass(frozen=True, slots=True)
class RankedKey:
    """A key that took part: its row, weight, the hop that found it (0: a seed key), and why."""

    row: int
    weight: float
    hop: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks, best first, with descending scores; ties by row. `parts` holds the terms of each score."""

    chunks: Rows
    scores: Floats
    keys: tuple[RankedKey, ...] = ()
    parts: Mapping[str, Floats] = field(default_factory=dict)
    trace: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    def first(self, count: int) -> "Ranking":
        """The same with at most `count` chunks."""
        parts = {name: part[:count] for name, part in self.parts.items()}
        return replace(self, chunks=self.chunks[:count], scores=self.scores[:count], parts=parts)


class Method(Protocol):
    """Ranks the chunks of an index for a query: pure, and the same twice."""

    def __call__(self, index: Index, query: Query) -> Ranking:
        """Chunks for the query, at most `query.top_k` where the method has no reason to give more."""
        ...
