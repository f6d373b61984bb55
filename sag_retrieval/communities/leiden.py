"""Communities of a weighted graph by igraph: Leiden, and the Louvain of the seed; seeded, without a trace."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import igraph
import numpy as np

from sag_retrieval.communities.edges import Edges
from sag_retrieval.communities.events import Floats, Rows
from sag_retrieval.communities.options import ClusterOptions

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


def to_graph(edges: Edges, chosen: "np.typing.NDArray[np.bool_] | None" = None) -> igraph.Graph:
    """The graph of the chosen pairs, without weights."""
    pairs = np.column_stack([edges.left, edges.right]).astype(np.int64)
    return igraph.Graph(n=edges.node_count, edges=pairs if chosen is None else pairs[chosen])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Lets igraph draw from its own seeded generator; Python's shared one is neither read nor moved."""
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
