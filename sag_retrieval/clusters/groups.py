"""Communities as values: members, centrality of each event, and quality of the partition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sag_retrieval.clusters.events import Floats, Rows
from sag_retrieval.clusters.similarity import Normal
from sag_retrieval.core.records import make_id

PROPER: Final = 3
"""Events from which on a community is a topic: two are a pair."""
TIES_KEPT = 6
"""Ties kept for each community."""


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """One sentence of a summary and the events that state it."""

    text: str
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """A group of events. The id depends on its level and members alone: same members, same id.

    `members` are event rows, the most typical first; `centrality` is in [0, 1], 1 for the most typical.
    """

    community_id: str
    parent_id: str | None
    level: int
    members: Rows
    centrality: Floats
    weight: float
    """Sum of the ties inside."""
    conductance: float
    """Share of its ties that leave it: 0 is closed, 1 has no tie inside."""
    title: str = ""
    summary: tuple[CitedSentence, ...] = ()
    keys: tuple[str, ...] = ()
    """Ids of the keys that title and summary name."""
    terms: tuple[str, ...] = ()
    """Words and phrases that distinguish it, best first, where it was grouped by words."""

    @property
    def summary_text(self) -> str:
        """The summary as one text."""
        return " ".join(sentence.text for sentence in self.summary)


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of one level of communities."""

    level: int
    communities: int
    modularity: float
    coverage: float
    """Share of the weight of all ties that stays inside communities."""
    conductance: float
    """Mean over communities of three or more events."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Summed weight between two communities."""

    one: str
    other: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Communities:
    """Every level's communities; within a level larger ones first. Level 0 is the finest."""

    communities: tuple[Community, ...]
    quality: tuple[Quality, ...]
    ties: tuple[Tie, ...] = ()
    """The strongest ties between communities of level 0."""
    edge_count: int = 0
    candidate_count: int = 0
    common_keys: int = 0
    """Keys too common to propose pairs."""
    is_ordered: bool = False
    """Whether their order is that of the text: parts of a document."""
    normal: Normal | None = None
    """What the shared weight of pairs was normalised by, where ties of keys made them."""

    def __iter__(self) -> Iterator[Community]:
        return iter(self.communities)

    def __len__(self) -> int:
        return len(self.communities)

    def at(self, level: int) -> tuple[Community, ...]:
        """The communities of one level."""
        return tuple(each for each in self.communities if each.level == level)

    @property
    def levels(self) -> int:
        """Count of levels."""
        return 1 + max((each.level for each in self.communities), default=-1)


def community_id(level: int, event_ids: Sequence[str]) -> str:
    """Equal for equal members in any order; different for each level."""
    return make_id("g", level, *sorted(event_ids))
