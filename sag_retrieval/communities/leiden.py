"""Detect communities in a weighted graph with Leiden or Louvain, and join them to coarser levels."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import igraph
import leidenalg
import numpy as np

from sag_retrieval.communities.edges import Edges
from sag_retrieval.communities.events import Flags, Floats, Rows
from sag_retrieval.communities.groups import Tie, sum_by
from sag_retrieval.communities.options import ClusterOptions

TIES_KEPT = 6
"""Ties kept for each community."""

_one_at_a_time = threading.Lock()  # igraph has one random number generator for the whole process


def partition(edges: Edges, options: ClusterOptions) -> Rows:
    """Community number of every node, from 0, larger communities first; shape (nodes,).

    `leiden` counts ties above the background by the constant Potts model, whose resolution does not depend on
    the size of the graph; `leiden-modularity` grows its resolution with the graph instead.

    Source:
        docs/algorithm.md §reports.3.

    """
    weight = edges.weight if options.pairs == "all" else edges.strength
    tied = weight > 0
    graph, weight = to_graph(edges, tied), weight[tied]
    with seeded(options.seed):
        found = _find(graph, weight, options)
    return by_size(np.asarray(found.membership, dtype=np.int32))


def _find(graph: igraph.Graph, weight: Floats, options: ClusterOptions) -> igraph.VertexClustering:
    if options.method == "louvain":
        return graph.community_multilevel(weights=weight)
    if options.method == "leiden-modularity":
        resolution = max(1.0, options.resolution_for(graph.vcount()) * graph.vcount() / 20)
        return graph.community_leiden(
            "modularity", weights=weight, resolution=resolution, n_iterations=options.iterations
        )
    return graph.community_leiden(
        "CPM",
        weights=weight,
        resolution=options.resolution_for(graph.vcount()),
        n_iterations=options.iterations,
    )


def to_graph(edges: Edges, chosen: Flags | None = None) -> igraph.Graph:
    """The graph of the chosen pairs, without weights."""
    pairs = np.column_stack([edges.left, edges.right]).astype(np.int64)
    return igraph.Graph(n=edges.node_count, edges=pairs if chosen is None else pairs[chosen])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Give igraph its own seeded generator; Python's shared one is neither read nor changed."""
    with _one_at_a_time:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  repeatable, not secret
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


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
    events, which is the constant Potts model on groups with their sizes.

    Source:
        docs/algorithm.md §reports.3.

    """
    sizes = np.bincount(group)
    low, high, weight = ties(edges, group)
    graph = igraph.Graph(n=len(sizes), edges=np.column_stack([low, high]).astype(np.int64))
    found = leidenalg.find_partition(
        graph,
        leidenalg.CPMVertexPartition,
        weights=weight.tolist(),
        node_sizes=sizes.tolist(),
        resolution_parameter=options.resolution_for(len(group)) * options.level_ratio**level,
        n_iterations=options.iterations,
        seed=options.seed,
    )
    return by_size(np.asarray(found.membership, dtype=np.int32)[group])


def ties(edges: Edges, group: Rows) -> tuple[Rows, Rows, Floats]:
    """Pairs of groups that are tied (`low < high`, ordered), and the summed strength between them."""
    one, two = group[edges.left], group[edges.right]
    apart = one != two
    low, high = np.minimum(one, two)[apart].astype(np.int64), np.maximum(one, two)[apart].astype(np.int64)
    width = int(group.max()) + 1 if len(group) else 1
    code, number = np.unique(low * width + high, return_inverse=True)
    weight = sum_by(number.astype(np.int32), edges.strength[apart], len(code))
    return (code // width).astype(np.int32), (code % width).astype(np.int32), weight


def strongest_ties(edges: Edges, group: Rows, ids: Sequence[str]) -> Iterator[Tie]:
    """The ties that are among the `TIES_KEPT` strongest of either of their groups; `ids` name the groups."""
    low, high, weight = ties(edges, group)
    kept: Counter[int] = Counter()
    for number in np.lexsort((high, low, -weight)).tolist():
        one, other = int(low[number]), int(high[number])
        if min(kept[one], kept[other]) < TIES_KEPT:
            kept.update((one, other))
            yield Tie(ids[one], ids[other], float(weight[number]))
