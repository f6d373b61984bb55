"""Levels of communities: coarser ones made of whole finer ones, and sweeps over resolutions, by leidenalg."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import igraph
import leidenalg
import numpy as np

from sag_retrieval.communities.edges import Edges
from sag_retrieval.communities.events import Floats, Rows
from sag_retrieval.communities.groups import Quality, Tie, measure, sum_by
from sag_retrieval.communities.leiden import by_size, to_graph
from sag_retrieval.communities.options import ClusterOptions

TIES_KEPT = 6
"""Ties kept for each community."""


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


@dataclass(frozen=True, slots=True)
class Swept:
    """What one resolution gives."""

    resolution: float
    sizes: tuple[int, ...]
    """Falling."""
    quality: Quality


def sweep(edges: Edges, resolutions: Iterable[float], seed: int = 0) -> list[Swept]:
    """Communities at several resolutions, to choose one by looking."""
    graph, weight = to_graph(edges), edges.strength.tolist()
    found = []
    for resolution in resolutions:
        each = leidenalg.find_partition(
            graph, leidenalg.CPMVertexPartition, weights=weight, resolution_parameter=resolution, seed=seed
        )
        group = by_size(np.asarray(each.membership, dtype=np.int32))
        found.append(Swept(resolution, tuple(np.bincount(group).tolist()), measure(edges, group, 0)[0]))
    return found
