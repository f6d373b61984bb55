"""Group events by what they are about, across documents: words said together form topics, events join their topic."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import igraph
import leidenalg
import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from sag_retrieval.communities.events import EventTable, Floats, Rows
from sag_retrieval.communities.groups import (
    TIES_KEPT,
    Communities,
    Quality,
    Tie,
    by_size,
    community_id,
    members_of,
    on_one_level,
)
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.routine import as_quoted, quotable_rows
from sag_retrieval.communities.topic_titles import topic_titles
from sag_retrieval.communities.topic_words import MANY_DOCUMENTS, SPREAD, TopicWords, topic_words

_RESOLUTIONS: Final = tuple(round(2 ** (step / 2), 3) for step in range(-5, 7))
"""Tried from few topics to many."""
_PARTNERS: Final = 10
"""Strongest pairs kept for each word."""
_TOGETHER: Final = 2
_NEAR: Final = 4
"""Where events are short, as in talks, words said by events of a passage at most this far apart belong together."""
_SHORT: Final = 4.0
"""Words of a short event on average."""
_MANY: Final = 1_000
"""With fewer events neighbours share words by chance."""
_SHARE: Final = 0.5
"""An event belongs to a topic that has more than this share of its weight."""
_OTHER_SHARE: Final = 0.25
"""An event ties its topic to another one that has at least this share of its weight."""
_LEAST: Final = 3
"""Events that a topic has to have: at least three, a third of the root of all, and one in a hundred."""


@dataclass(frozen=True, slots=True, eq=False)
class _Assigned:
    """The topic of each event (-1: none) with its weight, and the share of every topic in every event."""

    topic: Rows
    weight: Floats
    shares: csr_array


def build_topics(events: EventTable, options: ClusterOptions) -> Communities:
    """The topics of the events as communities of one level, with titles; events without a topic are single ones.

    Words are nodes, tied where events say them together more often than by chance; Leiden finds groups of words. The
    resolution is the one whose count of topics is nearest to `options.topics`. A topic has at least 1 % of the events
    (more of a few), of at least three documents (chunks, where there are fewer than six documents). Routine has none,
    unless fewer than three topics are left without it.

    Source:
        docs/algorithm.md §reports.3.

    """
    quoted = as_quoted(events)
    for skipped in (quoted.is_routine, np.zeros(0, np.bool_)):
        words = topic_words(events, skipped)
        group, modularity = _word_groups(events, words, options)
        assigned = _assign(words, group)
        topic = _proper(events, assigned.topic)
        if topic.max(initial=-1) + 1 >= SPREAD or not len(skipped):
            break
    number = _with_singles(topic)
    centrality = _centralities(topic, assigned.weight)
    members = members_of(number, centrality)
    ids = [community_id(0, [events.event_ids[row] for row in rows.tolist()]) for rows in members]
    titles = topic_titles(events, words, topic, group, quotable_rows(quoted, topic))
    return Communities(
        communities=on_one_level(ids, members, titles, centrality=centrality, weight=assigned.weight),
        quality=(
            Quality(
                level=0,
                communities=len(members),
                modularity=modularity,
                coverage=float((topic >= 0).mean()) if len(topic) else 0.0,
                conductance=0.0,
            ),
        ),
        ties=tuple(_ties(assigned, topic, ids)),
        edge_count=words.counts.nnz,
        candidate_count=words.counts.shape[1],
    )


def _word_groups(events: EventTable, words: TopicWords, options: ClusterOptions) -> tuple[Rows, float]:
    """Group of each word, and the modularity of the grouping."""
    graph, weight = _word_graph(_with_neighbours(events, words.counts))
    best: tuple[float, Rows, float] | None = None
    for resolution in _RESOLUTIONS:
        found = leidenalg.find_partition(
            graph,
            leidenalg.RBConfigurationVertexPartition,
            weights=weight,
            resolution_parameter=resolution,
            seed=options.seed,
            n_iterations=options.iterations,
        )
        group = by_size(np.asarray(found.membership, dtype=np.int32)) if graph.vcount() else np.zeros(0, np.int32)
        topic = _proper(events, _assign(words, group).topic)
        count = int(topic.max(initial=-1)) + 1
        far = abs(np.log(max(count, 0.5) / options.topics))
        if best is None or far < best[0]:
            best = far, group, float(graph.modularity(group.tolist(), weights=weight)) if weight else 0.0
        if count > options.topics:
            break
    return (best[1], best[2]) if best else (np.zeros(0, np.int32), 0.0)


def _with_neighbours(events: EventTable, counts: csr_array) -> csr_array:
    """Shape (events, words), 1 where the event says the word; of many short events, also where one near it does."""
    said = np.asarray(counts.sum(axis=1))
    if len(events) < _MANY or said.sum() >= _SHORT * (said > 0).sum():
        return counts
    rows = np.arange(len(events))
    pairs = [(rows[: max(0, len(rows) - step)], rows[step:]) for step in range(_NEAR + 1)]
    one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
    same = events.chunk[one] == events.chunk[other]
    one, other = one[same], other[same]
    near = csr_array(coo_array((np.ones(len(one)), (one, other)), shape=(len(rows), len(rows))))
    found = csr_array((near + near.T) @ counts)
    found.data[:] = 1.0
    return found


def _word_graph(said_near: csr_array) -> tuple[igraph.Graph, list[float]]:
    """Words tied by normalised pointwise mutual information times the log of how often; the ten strongest each."""
    total = max(2, said_near.shape[0])
    said = np.asarray(said_near.sum(axis=0))
    pairs = triu(said_near.T @ said_near, k=1, format="coo")
    often = pairs.data >= _TOGETHER
    one, two, together = pairs.row[often], pairs.col[often], pairs.data[often]
    information = np.log(together * total / (said[one] * said[two]))
    weight = information / -np.log(np.minimum(together / total, 1 - 1 / total)) * np.log1p(together)
    chosen = _strongest(one, two, np.round(weight, 9), said_near.shape[1])
    edges = np.stack([one[chosen], two[chosen]], axis=1)
    graph = igraph.Graph(n=said_near.shape[1], edges=edges.tolist())
    return graph, weight[chosen].tolist()


def _strongest(one: Rows, two: Rows, weight: Floats, count: int) -> Rows:
    """Numbers of the pairs above 0 that are among the strongest of either of their words, in their order."""
    node, other = np.concatenate([one, two]), np.concatenate([two, one])
    pair, both = np.tile(np.arange(len(one)), 2), np.tile(weight, 2)
    order = np.lexsort((other, -both, node))
    starts = np.searchsorted(node[order], np.arange(count))
    rank = np.arange(len(order)) - starts[node[order]]
    kept = np.unique(pair[order][(rank < _PARTNERS) & (both[order] > 0)])
    return np.asarray(kept)


def _assign(words: TopicWords, group: Rows) -> _Assigned:
    """Each event to the topic with most of the idf of its words."""
    count = int(group.max(initial=-1)) + 1
    weighed = csr_array(words.counts.multiply(words.idf[None, :]))
    among = csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), max(1, count)))
    sums = csr_array(weighed @ among)
    total = np.asarray(sums.sum(axis=1))
    best = np.full(sums.shape[0], -1, np.int32)
    most = np.zeros(sums.shape[0])
    if sums.nnz:
        row = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
        order = np.lexsort((sums.indices, -np.round(sums.data, 9), row))
        rows, first = np.unique(row[order], return_index=True)
        best[rows], most[rows] = sums.indices[order][first], sums.data[order][first]
    best[most <= _SHARE * total] = -1
    said = np.sqrt(np.maximum(1.0, np.asarray(words.counts.sum(axis=1))))
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return _Assigned(best, most / said, csr_array(sums.multiply(scale[:, None])))


def _proper(events: EventTable, topic: Rows) -> Rows:
    """The topics that are large and spread enough, numbered by falling size; -1 for the events of the others."""
    place = events.document if len(set(events.document.tolist())) >= MANY_DOCUMENTS else events.chunk
    has = topic >= 0
    count = int(topic.max(initial=-1)) + 1
    sizes = np.bincount(topic[has], minlength=count)
    pairs = np.unique(topic[has].astype(np.int64) * (int(place.max(initial=0)) + 1) + place[has])
    spread = np.bincount(pairs // (int(place.max(initial=0)) + 1), minlength=count)
    kept = np.flatnonzero((sizes >= max(_LEAST, len(topic) ** 0.5 / 3, len(topic) / 100)) & (spread >= SPREAD))
    order = kept[np.lexsort((kept, -sizes[kept]))]
    renumbered = np.full(count + 1, -1, np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    return renumbered[topic]


def _with_singles(topic: Rows) -> Rows:
    """Group numbers without gaps: the topics, then each other event alone."""
    number = topic.copy()
    alone = np.flatnonzero(topic < 0)
    number[alone] = int(topic.max(initial=-1)) + 1 + np.arange(len(alone), dtype=np.int32)
    return number


def _centralities(topic: Rows, weight: Floats) -> Floats:
    """Weight of each event relative to the best of its topic; 1 for an event without one."""
    best = np.zeros(int(topic.max(initial=-1)) + 2)
    np.maximum.at(best, topic, weight)
    found = np.divide(weight, best[topic], out=np.ones(len(topic)), where=best[topic] > 0)
    return np.where(topic < 0, 1.0, found)


def _ties(assigned: _Assigned, topic: Rows, ids: Sequence[str]) -> Iterator[Tie]:
    """Pairs of topics with the count of events that are about both; the strongest of each."""
    count = int(topic.max(initial=-1)) + 1
    topic_of = np.full(assigned.shares.shape[1], -1, np.int64)
    topic_of[assigned.topic[topic >= 0]] = topic[topic >= 0]
    row = np.repeat(np.arange(len(topic)), np.diff(assigned.shares.indptr))
    other = topic_of[assigned.shares.indices]
    both = (assigned.shares.data >= _OTHER_SHARE) & (other >= 0) & (topic[row] >= 0) & (other != topic[row])
    low, high = np.minimum(topic[row[both]], other[both]), np.maximum(topic[row[both]], other[both])
    code, weight = np.unique(low.astype(np.int64) * max(1, count) + high, return_counts=True)
    kept: Counter[int] = Counter()
    for place in np.lexsort((code, -weight)).tolist():
        one, two = divmod(int(code[place]), count)
        if min(kept[one], kept[two]) < TIES_KEPT:
            kept.update((one, two))
            yield Tie(ids[one], ids[two], float(weight[place]))
