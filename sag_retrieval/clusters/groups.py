"""Communities as values: members, centrality of each event, and quality of the partition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.clusters.events import Floats, Rows
from sag_retrieval.clusters.similarity import Edges, Normal
from sag_retrieval.core.records import make_id

TIES_KEPT = 6
"""Ties kept for each community."""
_NOTHING = 1e-12
"""Less weight than this is the rounding of sums."""


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
        """All communities, level by level."""
        return iter(self.communities)

    def __len__(self) -> int:
        """Count of communities of all levels."""
        return len(self.communities)

    def at(self, level: int) -> tuple[Community, ...]:
        """The communities of one level."""
        return tuple(each for each in self.communities if each.level == level)

    @property
    def levels(self) -> int:
        """Count of levels."""
        return 1 + max((each.level for each in self.communities), default=-1)


def measure(edges: Edges, group: Rows, level: int) -> tuple[Quality, Floats, Floats]:
    """Quality of a grouping, and the inner weight and conductance of each group.

    Source:
        docs/algorithm.md §reports.4.

    """
    count = int(group.max()) + 1 if len(group) else 0
    strength = edges.strength
    inside = group[edges.left] == group[edges.right]
    inner = sum_by(group[edges.left[inside]], strength[inside], count)
    volume = sum_by(group, degrees(edges, strength), count)
    total = float(strength.sum())
    smaller = np.minimum(volume, 2 * total - volume)
    cut = np.maximum(volume - 2 * inner, 0)
    conductance = np.divide(cut, smaller, out=np.zeros(count), where=smaller > _NOTHING)
    proper = np.bincount(group, minlength=count) >= 3  # noqa: PLR2004  smaller ones are listed as single events
    quality = Quality(
        level=level,
        communities=count,
        modularity=float(inner.sum() / total - ((volume / (2 * total)) ** 2).sum()) if total else 0.0,
        coverage=float(inner.sum() / total) if total else 0.0,
        conductance=float(conductance[proper].mean()) if proper.any() else 0.0,
    )
    return quality, inner, conductance


def sum_by(group: Rows, weight: Floats, count: int) -> Floats:
    """Sum of the weights in each of `count` groups."""
    return np.bincount(group, weights=weight, minlength=count).astype(np.float64)


def degrees(edges: Edges, weight: Floats) -> Floats:
    """Sum of the weights of each node's ties."""
    return sum_by(edges.left, weight, edges.node_count) + sum_by(edges.right, weight, edges.node_count)


def centralities(edges: Edges, group: Rows) -> Floats:
    """Ties of each node inside its group, relative to the group's best; 1 where the group has no ties."""
    inside = group[edges.left] == group[edges.right]
    degree = degrees(edges, np.where(inside, edges.strength, 0.0))
    best = np.zeros(int(group.max()) + 1 if len(group) else 0)
    np.maximum.at(best, group, degree)
    return np.divide(degree, best[group], out=np.ones(len(group)), where=best[group] > 0)


def on_one_level(
    ids: Sequence[str], members: Sequence[Rows], titles: Sequence[str], *, centrality: Floats, weight: Floats
) -> tuple[Community, ...]:
    """Communities of one level without parents or conductance.

    Args:
        ids: Their ids.
        members: Rows of the events of each.
        titles: Titles of the first ones; the others have none.
        centrality: Shape (events,): of each event in its community.
        weight: Shape (events,): of each event; a community weighs as much as its members.

    """
    return tuple(
        Community(
            community_id=ids[place],
            parent_id=None,
            level=0,
            members=rows,
            centrality=centrality[rows],
            weight=float(weight[rows].sum()),
            conductance=0.0,
            title=titles[place] if place < len(titles) else "",
        )
        for place, rows in enumerate(members)
    )


def members_of(group: Rows, centrality: Floats) -> list[Rows]:
    """Rows of each group, the most central first, ties by row."""
    order = np.lexsort((np.arange(len(group)), -centrality, group)).astype(np.int32)
    count = int(group.max()) + 1 if len(group) else 0
    return np.split(order, np.searchsorted(group[order], np.arange(1, count))) if count else []


def community_id(level: int, event_ids: Sequence[str]) -> str:
    """Equal for equal members in any order; different for each level."""
    return make_id("g", level, *sorted(event_ids))


def by_size(group: Rows) -> Rows:
    """The same groups numbered by falling size, ties by their first member."""
    if not len(group):
        return group
    _, first, number, count = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.lexsort((first, -count))] = np.arange(len(first), dtype=np.int32)
    return rank[number]
