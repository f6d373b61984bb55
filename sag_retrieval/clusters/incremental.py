"""Communities of an earlier release carried over to a changed one: gone events leave, new ones join by their ties."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, issparse

from sag_retrieval.clusters.events import Flags, Floats, Rows
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Normal, cosines, nearest, places, sum_by, tying
from sag_retrieval.release.arrays import Index

_LIKELY, _MEMBERS = 2, 12
"""Communities whose most typical event is nearest to a new event, and how many of their events are paired with it."""
_AT_ONCE: Final = 1_000
"""New events whose pairs are held in memory at a time."""


Pair = tuple[Rows, Rows]
"""Places of new events, and event rows."""


class NewTies(NamedTuple):
    """The strongest ties of new events, ordered by them: place of the event among the new ones, other row, strength."""

    place: Rows
    other: Rows
    strength: Floats


def _ties_of(index: Index, fresh: Rows, typical: Sequence[Rows], options: ClusterOptions, normal: Normal) -> NewTies:
    """The strongest ties of the fresh events with all others, weighed as `weigh_edges` weighs pairs.

    Proposed are the events that share a key which is not too common, and typical events of the communities nearest in
    meaning. `normal` is what the shared weight of the other ties was normalised by.

    Source: docs/algorithm.md §reports.13.
    """
    if not len(fresh):
        return NewTies(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))
    weigher = _Weigher.of(index, options, normal)
    leading = [rows for rows in typical if len(rows) > 1] if options.alpha < 1 else []
    count = options.neighbours_by_meaning if options.alpha < 1 else 0
    place, near = nearest(index.arrays.vectors["events"].take(fresh), count, options.seed)
    parts = []
    for start in range(0, len(fresh), _AT_ONCE):
        block = fresh[start : start + _AT_ONCE]
        own = slice(*np.searchsorted(place, [start, start + len(block)]))
        pairs = [(place[own] - np.int32(start), fresh[near[own]]), *_near(index, block, leading)]
        parts.append(_strongest_ties(index, block, start, weigher, _nearest(index, block, pairs, count)))
    return NewTies(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class _Weigher:
    """What weighs a pair of rows: keys that tie, the idf of each, and which are too common to propose pairs."""

    index: Index
    options: ClusterOptions
    normal: Normal
    idf: Floats
    is_common: Flags

    @classmethod
    def of(cls, index: Index, options: ClusterOptions, normal: Normal) -> "_Weigher":
        count = index.arrays.key_events.sizes()
        keys = index.rows["keys"]
        types = keys["key_type"]
        can_tie = tying(keys["value_string"].to_pylist(), count, index.arrays.event_count, options) & (count > 0)
        can_tie &= np.asarray(keys["value_bool"].is_null().to_numpy(), np.bool_)
        if options.key_types:
            can_tie &= np.asarray(pc.is_in(types, pa.array(options.key_types)).to_numpy(), np.bool_)
        can_tie &= ~np.asarray(pc.is_in(types, pa.array(options.without_key_types, pa.string())).to_numpy(), np.bool_)
        idf = np.log(index.arrays.event_count / np.maximum(count, 1)) if options.use_idf else np.ones(len(count))
        return cls(index, options, normal, np.where(can_tie, idf, 0.0), count > options.common_key_limit)

    def carried(self, rows: Rows) -> csr_array:
        """Shape (rows, keys): the idf of each key that a row carries."""
        lists = self.index.arrays.event_keys
        owner, place = lists.gather(rows)
        key = lists.items[place]
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(rows)))])
        return csr_array((self.idf[key], key, starts), shape=(len(rows), len(self.idf)))

    def strengths(self, fresh: Rows, place: Rows, other: Rows) -> Floats:
        """Strength of each pair above the background; below 0 where its weight is under the threshold."""
        rows, number = np.unique(other, return_inverse=True)
        mine, theirs = self.carried(fresh), self.carried(rows)
        theirs.data = (theirs.data != 0).astype(np.float64)
        shared = np.asarray(mine[place].multiply(theirs[number]).sum(axis=1)).reshape(-1)
        weight = self.options.alpha * self.normal(shared)
        if self.options.alpha < 1:
            weight += (1 - self.options.alpha) * _cosines(self.index, fresh, place, other)
        background = self.options.alpha * float(self.normal(np.zeros(1))[0])
        return np.where(weight > self.options.threshold, weight - background, -1.0)


def _cosines(index: Index, fresh: Rows, place: Rows, other: Rows) -> Floats:
    """Cosines of new events, by their place, with other rows."""
    rows, number = np.unique(np.concatenate([fresh[place], other]), return_inverse=True)
    return cosines(index.arrays.vectors["events"].take(rows.astype(np.int32)), *np.split(number.astype(np.int32), 2))


def _strongest_ties(index: Index, fresh: Rows, start: int, weigher: _Weigher, near: Pair) -> NewTies:
    """Of pairs with events that share a key or are near, each pair once, the strongest of each event."""
    owner, position = index.arrays.event_keys.gather(fresh)
    key = index.arrays.event_keys.items[position]
    proposes = (weigher.idf[key] > 0) & ~weigher.is_common[key]
    source, position = index.arrays.key_events.gather(key[proposes])
    sharing = owner[proposes][source], index.arrays.key_events.items[position]
    place, other = _once(fresh, *(np.concatenate(side) for side in zip(sharing, near, strict=True)), index=index)
    strength = weigher.strengths(fresh, place, other)
    kept = np.flatnonzero(strength > 0)
    kept = kept[_best(place[kept], strength[kept], weigher.options.strongest)]
    return NewTies(place[kept] + np.int32(start), other[kept], strength[kept])


def _best(place: Rows, value: Floats, count: int) -> npt.NDArray[np.intp]:
    """Positions of the `count` highest values of each place, ordered by place; equal ones by position."""
    order = np.lexsort((-value, place))
    return order[places(place[order]) < count]


def _once(fresh: Rows, place: Rows, other: Rows, *, index: Index) -> Pair:
    """Each pair once, without those of an event and itself, ordered."""
    apart = fresh[place] != other
    code = np.sort(place[apart].astype(np.int64) * index.arrays.event_count + other[apart])
    code = code[np.diff(code, prepend=-1) > 0]  # `np.unique` makes a hash table first, for ten times as long
    place, other = np.divmod(code, index.arrays.event_count)
    return place.astype(np.int32), other.astype(np.int32)


def _near(index: Index, fresh: Rows, leading: Sequence[Rows]) -> Iterator[Pair]:
    """Each new event with the most typical events of the communities whose first one is nearest to it."""
    if not leading:
        return
    vectors = index.arrays.vectors["events"]
    first = vectors.take(np.array([rows[0] for rows in leading], np.int32))
    product = vectors.take(fresh) @ first.T
    likeness = np.asarray(product.toarray() if issparse(product) else product, np.float32)
    for _ in range(min(_LIKELY, len(leading))):
        best = likeness.argmax(axis=1)
        members = [leading[number][:_MEMBERS] for number in best.tolist()]
        yield np.repeat(np.arange(len(fresh), dtype=np.int32), [len(rows) for rows in members]), np.concatenate(members)
        likeness[np.arange(len(fresh)), best] = -np.inf


def _nearest(index: Index, fresh: Rows, pairs: Sequence[Pair], count: int) -> Pair:
    """Of some pairs, those with the `count` nearest of each new event: more would crowd out those that share keys."""
    both = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    place, other = _once(fresh, *both, index=index)
    chosen = _best(place, _cosines(index, fresh, place, other), count)
    return place[chosen], other[chosen]


def settle(nodes: Sequence[Rows], ties: NewTies, group: Rows, count: int, options: ClusterOptions, level: int) -> Rows:
    """The community of each event row, with those of the nodes: one that is there, or a new one from `count` on.

    A node has the rows of new events that move as one; in `group` they are -1. Leiden runs on the nodes and on the
    communities that they have ties with, each one node of its size. Ties between communities are left out, so none of
    them splits; where a group holds two, its nodes go to the one that they have stronger ties with.

    Source: docs/algorithm.md §reports.13.
    """
    from sag_retrieval.clusters.clustering import group_sizes  # noqa: PLC0415  loads the graph library

    found = group.copy()
    if not nodes:
        return found
    node_of = np.full(len(group), -1, np.int32)
    node_of[np.concatenate(nodes)] = np.repeat(np.arange(len(nodes), dtype=np.int32), [len(rows) for rows in nodes])
    known = np.unique(group[ties.other][group[ties.other] >= 0])
    other = np.where(
        group[ties.other] >= 0, len(nodes) + np.searchsorted(known, group[ties.other]), node_of[ties.other]
    )
    apart = (other >= 0) & (other != ties.place)
    pairs = _summed(ties.place[apart], other[apart].astype(np.int32), ties.strength[apart], len(nodes))
    sizes = np.concatenate([[len(rows) for rows in nodes], np.bincount(group[group >= 0], minlength=count)[known]])
    resolution = options.resolution_for(len(group)) * options.level_ratio**level
    number = _numbered(group_sizes(sizes.astype(np.int32), pairs, options, resolution), len(nodes), pairs, known, count)
    found[np.concatenate(nodes)] = np.repeat(number, [len(rows) for rows in nodes])
    return found


def _summed(one: Rows, other: Rows, strength: Floats, nodes: int) -> tuple[Rows, Rows, Floats]:
    """Pairs once with their strength: sums of ties with a community; a tie of two nodes may be told by both of them."""
    width = np.int64(max(int(other.max(initial=0)), nodes) + 1)
    low, high = np.minimum(one, other), np.maximum(one, other)
    code, number = np.unique(low * width + high, return_inverse=True)
    summed = np.bincount(number, weights=strength, minlength=len(code)).astype(np.float64)
    both = np.bincount(number[one > other], minlength=len(code)) > 0
    summed[both & (np.bincount(number, minlength=len(code)) > 1)] /= 2
    return (code // width).astype(np.int32), (code % width).astype(np.int32), summed


def _numbered(group: Rows, nodes: int, pairs: tuple[Rows, Rows, Floats], known: Rows, count: int) -> Rows:
    """The community of each node: that in its group with the strongest ties to the group, or a new one."""
    low, high, strength = pairs
    inside = (group[low] == group[high]) & (high >= nodes)
    tied = np.bincount(high[inside] - nodes, weights=strength[inside], minlength=len(known))
    order = np.lexsort((np.arange(len(known)), -tied, group[nodes:]))
    first = order[places(group[nodes:][order]) == 0]
    of_group = np.full(int(group.max(initial=-1)) + 1, -1, np.int32)
    of_group[group[nodes:][first]] = known[first]
    alone = np.unique(group[:nodes][of_group[group[:nodes]] < 0])
    of_group[alone] = count + np.arange(len(alone), dtype=np.int32)
    return of_group[group[:nodes]]


Tables = Mapping[str, pa.Table]
DRIFT: Final = 0.2
"""Share of the grouped events that may come or go before an ingest groups all events again."""


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


def carry(tables: Tables, index: Index, options: ClusterOptions, normal: Normal, most: float) -> Carried | None:
    """What becomes of communities in a changed release; None where more than `most` events came or went.

    Source: docs/algorithm.md §reports.13.
    """
    levels, events = _levels(tables, index), index.arrays.event_count
    if not levels:
        return None
    found = levels[0].places(events)
    fresh = np.flatnonzero(found < 0).astype(np.int32)
    moved = len(fresh) + int(np.count_nonzero(levels[0].row < 0))
    if moved > most:
        return None
    typical = [rows for rows, _ in levels[0].members()]
    ties = _ties_of(index, fresh, typical, options, normal)
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
