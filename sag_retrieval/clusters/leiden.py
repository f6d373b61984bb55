"""Leiden's algorithm on a weighed graph, repeatable: igraph's, with random numbers of its own."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import igraph
import numpy as np

from sag_retrieval.clusters.events import Floats, Rows
from sag_retrieval.clusters.options import ClusterOptions

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


def group_sizes(sizes: Rows, ties: tuple[Rows, Rows, Floats], options: ClusterOptions, resolution: float) -> Rows:
    """The group of every node by the constant Potts model on nodes that stand for several events.

    Joining two nodes of `m` and `n` events pays where the weight between them exceeds `resolution · m · n`.

    Args:
        sizes: Events of each node.
        ties: Pairs of nodes, each once, and the weight between them.
        options: Rounds and seed.
        resolution: Of the level.

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
