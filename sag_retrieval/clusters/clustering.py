"""Detect communities with Leiden or Louvain, level by level."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import igraph
import numpy as np

from sag_retrieval.clusters.events import EventTable, Floats, Rows
from sag_retrieval.clusters.groups import PROPER, TIES_KEPT, Communities, Community, Quality, Tie, community_id
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Edges, sum_by, weigh_edges

_one_at_a_time = threading.Lock()  # igraph has one random number generator for the whole process


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Give igraph its own seeded generator; Python's shared one is neither read nor changed."""
    with _one_at_a_time:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  repeatable, not secret
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


Pairs = tuple[Rows, Rows, Floats]
"""Rows of two nodes each, and the strength of their tie."""


def group_sizes(sizes: Rows, ties: Pairs, options: ClusterOptions, resolution: float) -> Rows:
    """The group of every node by the constant Potts model on nodes that stand for several events.

    Joining two nodes of `m` and `n` events pays where the weight between them exceeds `resolution · m · n`.
    """
    low, high, weight = ties
    graph = igraph.Graph(n=len(sizes), edges=np.column_stack([low, high]).astype(np.int64))
    with seeded(options.seed):
        found = graph.community_leiden(
            "CPM",
            weights=weight.tolist(),
            node_weights=sizes.tolist(),
            resolution=resolution,
            n_iterations=options.iterations,
        )
    return np.asarray(found.membership, dtype=np.int32)


def partition(edges: Edges, options: ClusterOptions) -> Rows:
    """Community number of every node, from 0, larger communities first; shape (nodes,).

    `leiden` uses the constant Potts model on ties above the background; its resolution does not depend on
    the size of the graph; `leiden-modularity` grows its resolution with the graph instead.

    Source: docs/algorithm.md §reports.3.
    """
    weight = edges.weight if options.pairs == "all" else edges.strength
    tied = weight > 0
    pairs = np.column_stack([edges.left, edges.right])[tied].astype(np.int64)
    graph, weight = igraph.Graph(n=edges.node_count, edges=pairs), weight[tied]
    goal, resolution = "CPM", options.resolution_for(edges.node_count)
    if options.method == "leiden-modularity":
        goal, resolution = "modularity", max(1.0, resolution * edges.node_count / 20)
    with seeded(options.seed):
        if options.method == "louvain":
            found = graph.community_multilevel(weights=weight)
        else:
            rounds = options.iterations
            found = graph.community_leiden(goal, weights=weight, resolution=resolution, n_iterations=rounds)
    return by_size(np.asarray(found.membership, dtype=np.int32))


def by_size(group: Rows) -> Rows:
    """The same groups numbered by falling size, ties by their first member."""
    if not len(group):
        return group
    _, first, number, count = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.lexsort((first, -count))] = np.arange(len(first), dtype=np.int32)
    return rank[number]


def coarser(edges: Edges, group: Rows, options: ClusterOptions, level: int) -> Rows:
    """Group number of every node one level up: whole groups of the level below, joined by their ties.

    Joining two groups pays where the weight between them exceeds `resolution · level_ratio^level` per pair of
    events, which is the constant Potts model on groups with their sizes. Source: docs/algorithm.md §reports.3.
    """
    resolution = options.resolution_for(len(group)) * options.level_ratio**level
    tied = ties((edges.left, edges.right, edges.strength), group)
    return by_size(group_sizes(np.bincount(group).astype(np.int32), tied, options, resolution)[group])


def ties(pairs: Pairs, group: Rows) -> Pairs:
    """Pairs of groups that are tied (`low < high`, ordered), and the summed strength between them."""
    left, right, strength = pairs
    one, two = group[left], group[right]
    apart = one != two
    low, high = np.minimum(one, two)[apart].astype(np.int64), np.maximum(one, two)[apart].astype(np.int64)
    width = int(group.max()) + 1 if len(group) else 1
    code, number = np.unique(low * width + high, return_inverse=True)
    weight = sum_by(number.astype(np.int32), strength[apart], len(code))
    return (code // width).astype(np.int32), (code % width).astype(np.int32), weight


def strongest_ties(pairs: Pairs, group: Rows, ids: Sequence[str]) -> Iterator[Tie]:
    """The ties that are among the `TIES_KEPT` strongest of either of their groups; `ids` name the groups."""
    low, high, weight = ties(pairs, group)
    kept: Counter[int] = Counter()
    for number in np.lexsort((high, low, -weight)).tolist():
        one, other = int(low[number]), int(high[number])
        if min(kept[one], kept[other]) < TIES_KEPT:
            kept.update((one, other))
            yield Tie(ids[one], ids[other], float(weight[number]))


def build_communities(events: EventTable, options: ClusterOptions | None = None) -> Communities:
    """The communities of the events; without titles: `topics/naming.py` gives them.

    Source: docs/algorithm.md §reports.1 to §reports.4.
    """
    options = options or ClusterOptions()
    if not len(events):
        return Communities(communities=(), quality=())
    edges = weigh_edges(events, options)
    groups = _levels(events, edges, options)
    central = [centralities(edges, group) for group in groups]
    members = [members_of(group, own) for group, own in zip(groups, central, strict=True)]
    ids = [ids_of(events, rows, level) for level, rows in enumerate(members)]
    parents = [coarse[np.unique(fine, return_index=True)[1]] for fine, coarse in pairwise(groups)]
    communities: list[Community] = []
    quality = []
    for level, group in enumerate(groups):
        figures, inner, conductance = measure(edges, group, level)
        quality.append(figures)
        communities.extend(
            Community(
                community_id=ids[level][number],
                parent_id=ids[level + 1][parents[level][number]] if level < len(parents) else None,
                level=level,
                members=rows,
                centrality=central[level][rows],
                weight=float(inner[number]),
                conductance=float(conductance[number]),
            )
            for number, rows in enumerate(members[level])
        )
    return Communities(
        communities=tuple(communities),
        quality=tuple(quality),
        ties=tuple(strongest_ties((edges.left, edges.right, edges.strength), groups[0], ids[0])),
        edge_count=len(edges.left),
        candidate_count=edges.candidate_count,
        common_keys=edges.common_keys,
        normal=edges.normal,
    )


def _levels(events: EventTable, edges: Edges, options: ClusterOptions) -> list[Rows]:
    finest = _group_by_key_type(events, options.key_types[0]) if options.method == "key-type" else None
    groups = [partition(edges, options) if finest is None else finest]
    for level in range(1, options.levels):
        groups.append(coarser(edges, groups[-1], options, level))
    return groups


def _group_by_key_type(events: EventTable, key_type: str) -> Rows:
    """Each event with the key of this type that most events carry; an event without one is a group alone.

    Source: docs/algorithm.md §reports.3.
    """
    matrix = events.incidence((key_type,))
    count = matrix.sum(axis=0)
    event = np.repeat(np.arange(len(events)), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -count[matrix.indices], event))
    carrying, first = np.unique(event[order], return_index=True)
    group = matrix.shape[1] + np.arange(len(events))
    group[carrying] = matrix.indices[order][first]
    return by_size(group.astype(np.int32))


def ids_of(events: EventTable, members: Sequence[Rows], level: int = 0) -> list[str]:
    """The ids of communities with these rows of events."""
    return [community_id(level, [events.event_ids[row] for row in rows.tolist()]) for rows in members]


_NOTHING = 1e-12
"""Less weight than this is the rounding of sums."""


def measure(edges: Edges, group: Rows, level: int) -> tuple[Quality, Floats, Floats]:
    """Quality of a grouping, and the inner weight and conductance of each group (docs/algorithm.md §reports.4)."""
    count = int(group.max()) + 1 if len(group) else 0
    strength = edges.strength
    inside = group[edges.left] == group[edges.right]
    inner = sum_by(group[edges.left[inside]], strength[inside], count)
    volume = sum_by(group, degrees(edges, strength), count)
    total = float(strength.sum())
    smaller = np.minimum(volume, 2 * total - volume)
    cut = np.maximum(volume - 2 * inner, 0)
    conductance = np.divide(cut, smaller, out=np.zeros(count), where=smaller > _NOTHING)
    proper = np.bincount(group, minlength=count) >= PROPER
    quality = Quality(
        level=level,
        communities=count,
        modularity=float(inner.sum() / total - ((volume / (2 * total)) ** 2).sum()) if total else 0.0,
        coverage=float(inner.sum() / total) if total else 0.0,
        conductance=float(conductance[proper].mean()) if proper.any() else 0.0,
    )
    return quality, inner, conductance


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


def members_of(group: Rows, centrality: Floats) -> list[Rows]:
    """Rows of each group, the most central first, ties by row."""
    order = np.lexsort((np.arange(len(group)), -centrality, group)).astype(np.int32)
    count = int(group.max()) + 1 if len(group) else 0
    return np.split(order, np.searchsorted(group[order], np.arange(1, count))) if count else []
