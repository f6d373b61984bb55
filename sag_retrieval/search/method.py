"""The one signature of every way to rank chunks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sag_retrieval.characters import is_text
from sag_retrieval.errors import QueryError
from sag_retrieval.release.allowed import Allowed, Flags
from sag_retrieval.release.index import Index
from sag_retrieval.release.mapped import Rows

__all__ = ["Allowed", "Flags", "Floats", "Method", "Query", "RankedKey", "Ranking", "Rows"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: the question, keys given with it, how many hits, and the restriction (None: none)."""

    text: str
    keys: tuple[str, ...] = ()
    top_k: int = 10
    allowed: Allowed | None = None
    explain: bool = False
    """Whether the ranking's trace tells how each hit was found."""
    gold_documents: tuple[str, ...] = ()
    """With `explain`: documents known to be right; the trace counts how many each stage still has."""

    def __post_init__(self) -> None:
        """Refuse what no encoding of text can hold, such as bytes of another encoding on a command line.

        Raises:
            QueryError: If the question or a key holds a lone surrogate.

        """
        for text in (self.text, *self.keys):
            if not is_text(text):
                raise QueryError(f"{text!r} holds half a character; give the query as UTF-8 text")


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
