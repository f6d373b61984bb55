"""Communities of an earlier release carried over to a changed one: gone events leave, new ones join by their ties."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.clusters.events import Flags, Floats, Rows
from sag_retrieval.clusters.groups import sum_by
from sag_retrieval.clusters.local_moving import NewTies, settle, ties_of
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Normal
from sag_retrieval.release.arrays import Index

Tables = Mapping[str, pa.Table]
DRIFT: Final = 0.2
"""Share of the grouped events that may come or go before an ingest groups all events again."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """When all events were grouped last: how many there were, how many came or went since, how weights are scaled."""

    events: int
    moved: int
    normal: Normal


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The members of the communities of one level, in runs, the most typical first."""

    count: int
    group: Rows
    """Community of each member, from 0."""
    row: Rows
    """Event row of each member; -1 for one that is gone."""
    centrality: Floats
    weight: Floats
    """Sum of the ties inside each community."""

    def places(self, events: int) -> Rows:
        """Community of each event row; -1 for one that has none."""
        kept = self.row >= 0
        found = np.full(events, -1, np.int32)
        found[self.row[kept]] = self.group[kept]
        return found

    def members(self) -> list[tuple[Rows, Floats]]:
        """Event rows and centralities of each community, without events that are gone."""
        kept = self.row >= 0
        cuts = np.searchsorted(self.group[kept], np.arange(1, self.count))
        return list(zip(np.split(self.row[kept], cuts), np.split(self.centrality[kept], cuts), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class LevelChange:
    """One level after the change; communities that came number on, and some may be empty."""

    after: Level
    before: int
    """How many communities there were."""
    lost: Flags
    """Of each community, whether an event of it is gone."""
    gained: Flags
    """Of each community, whether a new event is in it."""
    members: Sequence[tuple[Rows, Floats]]
    """Event rows and centralities of each community, the most typical first."""


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """All levels after the change, the finest first, and how many events came or went."""

    levels: Sequence[LevelChange]
    moved: int


def carry(tables: Tables, index: Index, options: ClusterOptions, grouped: Grouped) -> Carried | None:
    """What becomes of communities in a changed release; None where more than `DRIFT` of what was grouped has changed.

    Source:
        docs/algorithm.md §reports.13.

    """
    levels, events = _levels(tables, index), index.arrays.event_count
    if not levels:
        return None
    found = levels[0].places(events)
    fresh = np.flatnonzero(found < 0).astype(np.int32)
    moved = len(fresh) + int(np.count_nonzero(levels[0].row < 0))
    if grouped.moved + moved > DRIFT * grouped.events:
        return None
    typical = [rows for rows, _ in levels[0].members()]
    ties = ties_of(index, fresh, typical, options, grouped.normal)
    nodes, tied, changes = list(fresh[:, None]), ties, list[LevelChange]()
    for number, level in enumerate(levels):
        if number:
            found, nodes, tied = _above(levels[number - 1].count, found, level.places(events), fresh, ties)
        found = settle(nodes, tied, found, level.count, options, number)
        changes.append(_change(level, fresh, found, ties))
    return Carried(changes, moved)


def _levels(tables: Tables, index: Index) -> list[Level]:
    """The levels as they were stored: members lie in the order of their communities."""
    listed, members = tables["communities"], tables["community_events"]
    size, level, weight = (_numbers(listed[name]) for name in ("size", "level", "weight"))
    ids = index.rows["events"]["event_id"].combine_chunks()
    row = pc.fill_null(pc.index_in(members["event_id"].combine_chunks(), value_set=ids), -1)
    rows, centrality = _numbers(row).astype(np.int32), _numbers(members["centrality"])
    owner = np.repeat(np.arange(len(size)), size)
    found = []
    for number in range(int(level.max(initial=-1)) + 1):
        own = np.flatnonzero(level == number)
        part = slice(*np.searchsorted(owner, [own[0], own[-1] + 1]))
        group = (owner[part] - own[0]).astype(np.int32)
        found.append(Level(len(own), group, rows[part], centrality[part], weight[own].astype(np.float64)))
    return found


def _numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """A column without nulls; `ChunkedArray.to_numpy` imports pandas."""
    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _above(before: int, below: Rows, found: Rows, fresh: Rows, ties: NewTies) -> tuple[Rows, list[Rows], NewTies]:
    """One level up: events that joined a community go with it; communities that came move as one, by all their ties."""
    kept = np.flatnonzero(found >= 0)
    parent = np.full(before, -1, np.int32)
    parent[below[kept]] = found[kept]
    own = below[fresh]
    joined = own < before
    found[fresh[joined]] = parent[own[joined]]
    numbers, node = np.unique(own[~joined], return_inverse=True)
    node_of = np.full(len(fresh), -1, np.int32)
    node_of[~joined] = node
    nodes = [fresh[node_of == number] for number in range(len(numbers))]
    place = node_of[ties.place]
    order = np.flatnonzero(place >= 0)
    order = order[np.argsort(place[order], kind="stable")]
    return found, nodes, NewTies(place[order], ties.other[order], ties.strength[order])


def _change(level: Level, fresh: Rows, found: Rows, ties: NewTies) -> LevelChange:
    """One level with its new members, in order, each with its centrality."""
    kept, own = level.row >= 0, found[fresh]
    count = max(level.count, int(own.max(initial=-1)) + 1)
    inside = found[ties.other] == own[ties.place]
    inner = sum_by(ties.place[inside], ties.strength[inside], len(fresh))
    best = _best_degrees(level, count, own, inner)
    group = np.concatenate([level.group[kept], own])
    row = np.concatenate([level.row[kept], fresh])
    centrality = np.concatenate([level.centrality[kept], np.minimum(inner / best[own], 1.0)])
    lost, gained = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    lost[level.group[~kept]], gained[own] = True, True
    centrality = _relative(group, centrality, lost | gained)
    order = np.argsort(2.0 * group - centrality, kind="stable")
    weight = np.concatenate([level.weight, np.zeros(count - level.count)]) + sum_by(own, inner, count)
    gone = level.group[~kept]
    weight = np.maximum(weight - sum_by(gone, level.centrality[~kept] * best[gone], count), 0.0)
    after = Level(count, group[order], row[order], centrality[order], weight)
    return LevelChange(after, level.count, lost, gained, after.members())


def _best_degrees(level: Level, count: int, own: Rows, inner: Floats) -> Floats:
    """Ties of the most typical event of each community inside it: all ties count twice in the sum of centralities."""
    sums = sum_by(level.group, level.centrality, level.count)
    best = np.zeros(count)
    np.divide(2 * level.weight, sums, out=best[: level.count], where=sums > 0)
    alone = best <= 0
    np.maximum.at(best, own[alone[own]], inner[alone[own]])
    return np.where(best > 0, best, 1.0)


def _relative(group: Rows, centrality: Floats, changed: Flags) -> Floats:
    """Centralities in communities that changed, relative to the best; 1 where none has ties."""
    best = np.zeros(len(changed))
    np.maximum.at(best, group, centrality)
    best = np.where(best > 0, best, 1.0)
    is_tied = np.bincount(group, weights=centrality, minlength=len(changed)) > 0
    relative = np.where(is_tied[group], centrality / best[group], 1.0)
    return np.where(changed[group], relative, centrality)
