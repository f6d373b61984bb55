"""Build the communities of events, level by level."""

from itertools import pairwise

import numpy as np

from sag_retrieval.communities.clustering import by_size, coarser, partition, strongest_ties
from sag_retrieval.communities.edges import Edges, weigh_edges
from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.groups import (
    Communities,
    Community,
    centralities,
    community_id,
    measure,
    members_of,
)
from sag_retrieval.communities.options import ClusterOptions


def build_communities(
    events: EventTable, options: ClusterOptions | None = None, edges: Edges | None = None
) -> Communities:
    """The communities of the events, without titles: `name_communities` gives these.

    Args:
        events: What to group; none gives no communities.
        options: How; the defaults suit reports.
        edges: The weighed pairs, if they are at hand.

    Raises:
        SettingsError: If every pair of too many events is asked for.

    Source:
        docs/algorithm.md §reports.1 to §reports.4.

    """
    options = options or ClusterOptions()
    edges = weigh_edges(events, options) if edges is None else edges
    if not len(events):
        return Communities(communities=(), quality=())
    groups = _levels(events, edges, options)
    ids = [[community_id(level, names) for names in _names(events, group)] for level, group in enumerate(groups)]
    parents = [_parents(fine, coarse) for fine, coarse in pairwise(groups)]
    communities: list[Community] = []
    quality = []
    for level, group in enumerate(groups):
        figures, inner, conductance = measure(edges, group, level)
        quality.append(figures)
        centrality = centralities(edges, group)
        communities.extend(
            Community(
                community_id=ids[level][number],
                parent_id=ids[level + 1][parents[level][number]] if level < len(parents) else None,
                level=level,
                members=members,
                centrality=centrality[members],
                weight=float(inner[number]),
                conductance=float(conductance[number]),
            )
            for number, members in enumerate(members_of(group, centrality))
        )
    return Communities(
        communities=tuple(communities),
        quality=tuple(quality),
        ties=tuple(strongest_ties(edges, groups[0], ids[0])),
        edge_count=len(edges.left),
        candidate_count=edges.candidate_count,
        common_keys=edges.common_keys,
    )


def _levels(events: EventTable, edges: Edges, options: ClusterOptions) -> list[Rows]:
    finest = group_by_key_type(events, options.key_types[0]) if options.method == "key-type" else None
    groups = [partition(edges, options) if finest is None else finest]
    for level in range(1, options.levels):
        groups.append(coarser(edges, groups[-1], options, level))
    return groups


def group_by_key_type(events: EventTable, key_type: str) -> Rows:
    """Each event with the key of this type that most events carry; an event without one stands alone.

    Source:
        docs/algorithm.md §reports.3.

    """
    matrix = events.incidence((key_type,))
    count = matrix.sum(axis=0)
    event = np.repeat(np.arange(len(events)), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -count[matrix.indices], event))
    carrying, first = np.unique(event[order], return_index=True)
    group = matrix.shape[1] + np.arange(len(events))
    group[carrying] = matrix.indices[order][first]
    return by_size(group.astype(np.int32))


def _names(events: EventTable, group: Rows) -> list[list[str]]:
    names: list[list[str]] = [[] for _ in range(int(group.max()) + 1)]
    for row, number in enumerate(group.tolist()):
        names[number].append(events.event_ids[row])
    return names


def _parents(fine: Rows, coarse: Rows) -> Rows:
    _, first = np.unique(fine, return_index=True)
    return coarse[first]
