"""Group events by what they are about, across documents: statements alike form topics, the others join them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import igraph
import leidenalg
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventTable, Floats, Rows
from sag_retrieval.clusters.groups import (
    TIES_KEPT,
    Communities,
    Quality,
    Tie,
    by_size,
    community_id,
    members_of,
    on_one_level,
)
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import cosines, nearest
from sag_retrieval.statements.routine import as_quoted
from sag_retrieval.topics.topic_titles import topic_titles
from sag_retrieval.topics.topic_words import MANY_DOCUMENTS, SPREAD, TopicWords, topic_words
from sag_retrieval.topics.units import TopicUnits, idf, scaled, topic_units, unit_vectors

_RESOLUTIONS: Final = tuple(round(2 ** (step / 4), 3) for step in range(-16, 16))
"""Tried from few topics to many."""
_PAST: Final = 6
"""Resolutions tried behind the one with most topics: above it topics fall apart."""
_NEIGHBOURS: Final = 8
"""Most similar units that each unit is tied to."""
_ALIKE: Final = 0.1
"""Cosine from which two units are tied."""
_JOINS: Final = 0.4
"""Cosine with the mean of a topic from which another event joins it."""
_SECOND: Final = 0.5
"""Topics aimed at for documents without a statement to quote, beside the share of them."""
_LEAST: Final = 3
"""Units that a topic has to have: at least three, and one in a hundred."""
_FOR_A_TOPIC: Final = 12
"""Units for each topic aimed at, where there are few."""


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """The topic of each unit (-1: none), the ties of units, and how well they are grouped."""

    topic: Rows
    left: Rows
    right: Rows
    strength: Floats
    modularity: float


def build_topics(events: EventTable, options: ClusterOptions) -> Communities:
    """The topics of the events as communities of one level, with titles; events without a topic are single ones.

    Units (`units.py`) are nodes, tied to those of the same language that say the most similar words; Leiden groups
    them. The resolution is the one whose count of topics is nearest to `options.topics`, or to one for twelve units. A
    topic has at least 1 % of the units (more of a few), of at least three documents (chunks, where there are fewer
    than six documents). Other events join the topic whose words they say.

    Source:
        docs/algorithm.md §reports.3.

    """
    words = topic_words(events)
    units = topic_units(events, as_quoted(events))
    vectors = unit_vectors(words, units)
    grouped = _grouped(events, units, vectors, options)
    topic, weight = _joined(events, words, units, vectors, grouped.topic)
    topic = _by_falling_size(topic)
    number = _with_singles(topic)
    centrality = _centralities(topic, weight)
    members = members_of(number, centrality)
    ids = [community_id(0, [events.event_ids[row] for row in rows.tolist()]) for rows in members]
    return Communities(
        communities=on_one_level(
            ids, members, topic_titles(events, words, topic, units.quotable), centrality=centrality, weight=weight
        ),
        quality=(
            Quality(
                level=0,
                communities=len(members),
                modularity=grouped.modularity,
                coverage=float((grouped.topic >= 0).mean()) if units.count else 0.0,
                conductance=0.0,
            ),
        ),
        ties=tuple(_ties(units, topic, grouped, ids)),
        edge_count=len(grouped.strength),
        candidate_count=units.count,
    )


def _grouped(events: EventTable, units: TopicUnits, vectors: csr_array, options: ClusterOptions) -> _Grouped:
    """Group the units with a statement to quote, and apart from them those of the other documents."""
    first = np.full(units.count, -1, np.int32)
    rows = np.flatnonzero(units.unit >= 0)[::-1]
    first[units.unit[rows]] = rows
    places = (events.document if len(set(events.document.tolist())) >= MANY_DOCUMENTS else events.chunk)[first]
    languages = np.array([events.documents.languages[row] for row in events.document[first].tolist()])
    topic = np.full(units.count, -1, np.int32)
    ties, best = [], 0.0
    documents = np.unique(events.document[first]).size
    for kind in (False, True):
        own = np.flatnonzero(units.second == kind).astype(np.int32)
        share = np.unique(events.document[first[own]]).size / max(1, documents)
        aim = min(options.topics * (_SECOND * share if kind else 1.0), len(own) / _FOR_A_TOPIC)
        left, right, strength = _tied(vectors[own], languages[own], options.seed)
        found, modularity = _leiden(len(own), (left, right, strength), places[own], max(_LEAST, aim), options)
        topic[own[found >= 0]] = found[found >= 0] + topic.max(initial=-1) + 1
        ties.append((own[left], own[right], strength))
        best = max(best, modularity)
    left, right, strength = (np.concatenate(side) for side in zip(*ties, strict=True))
    return _Grouped(topic, left, right, strength, best)


def _tied(vectors: csr_array, languages: npt.NDArray[np.str_], seed: int) -> tuple[Rows, Rows, Floats]:
    """Pairs of units with their cosine: each with the most similar ones in its language."""
    found = []
    for language in np.unique(languages):
        rows = np.flatnonzero(languages == language).astype(np.int32)
        one, other = nearest(vectors[rows], _NEIGHBOURS, seed)
        pairs = np.unique(np.stack([np.minimum(one, other), np.maximum(one, other)]), axis=1)
        found.append(rows[pairs])
    left, right = np.concatenate(found, axis=1) if found else np.zeros((2, 0), np.int32)
    strength = np.round(cosines(vectors, left, right), 6)
    kept = strength >= _ALIKE
    return left[kept], right[kept], strength[kept]


def _leiden(
    count: int, ties: tuple[Rows, Rows, Floats], places: Rows, aim: float, options: ClusterOptions
) -> tuple[Rows, float]:
    """The topic of each unit at the resolution whose count of topics is nearest to the aim, and its modularity."""
    left, right, strength = ties
    graph = igraph.Graph(n=count, edges=np.stack([left, right], axis=1).tolist())
    weight = strength.tolist()
    tried: dict[int, tuple[Rows, float]] = {}

    def topics(step: int) -> int:
        if step not in tried:
            found = leidenalg.find_partition(
                graph,
                leidenalg.RBConfigurationVertexPartition,
                weights=weight,
                resolution_parameter=_RESOLUTIONS[step],
                seed=options.seed,
                n_iterations=options.iterations,
            )
            group = by_size(np.asarray(found.membership, dtype=np.int32))
            tried[step] = _proper(group, places), float(graph.modularity(group.tolist(), weights=weight))
        return int(tried[step][0].max(initial=-1)) + 1

    if not weight:
        return np.full(count, -1, np.int32), 0.0
    best = 0
    for step in range(0, len(_RESOLUTIONS), 2):
        best = step if topics(step) > topics(best) else best
        if topics(best) >= aim or step - best > _PAST:
            break
    near = [step for step in range(best - 2, best + 2) if 0 <= step < len(_RESOLUTIONS)]
    return tried[min(near, key=lambda step: (round(abs(np.log(max(topics(step), 0.5) / aim)), 9), step))]


def _proper(group: Rows, places: Rows) -> Rows:
    """The groups that are large and spread enough, numbered by falling size; -1 for the units of the others."""
    count = int(group.max(initial=-1)) + 1
    sizes = np.bincount(group, minlength=count)
    width = int(places.max(initial=0)) + 1
    spread = np.bincount(np.unique(group.astype(np.int64) * width + places) // width, minlength=count)
    kept = np.flatnonzero((sizes >= max(_LEAST, len(group) / 100)) & (spread >= SPREAD))
    renumbered = np.full(count + 1, -1, np.int32)
    renumbered[kept] = np.arange(len(kept), dtype=np.int32)
    return renumbered[group]


def _joined(
    events: EventTable, words: TopicWords, units: TopicUnits, vectors: csr_array, topic: Rows
) -> tuple[Rows, Floats]:
    """The topic of each event (-1: none) and its cosine with the mean of the topic.

    An event is in the topic of its unit, else in the one in its language whose mean is most like it.
    """
    count = int(topic.max(initial=-1)) + 1
    found = np.where(units.unit >= 0, np.append(topic, np.int32(-1))[units.unit], np.int32(-1)).astype(np.int32)
    if not count:
        return found, np.zeros(len(events))
    rows = np.flatnonzero(topic >= 0)
    among = csr_array((np.ones(len(rows)), (topic[rows], rows)), shape=(count, units.count))
    means = scaled(csr_array(among @ vectors), np.ones(vectors.shape[1]))
    rare = idf(vectors)
    likeness = np.asarray((scaled(words.counts, rare) @ means.T).todense()).reshape(len(events), count)
    language = _codes(events)
    of_topic = np.full(count, -1, np.int64)
    of_topic[found[found >= 0]] = language[found >= 0]
    likeness[language[:, None] != of_topic[None, :]] = 0.0
    likeness = np.round(likeness, 6)
    best = likeness.argmax(axis=1).astype(np.int32)
    joins = (units.unit < 0) & (likeness[np.arange(len(events)), best] >= _JOINS)
    found = np.where(joins, best, found).astype(np.int32)
    weight = np.where(found >= 0, likeness[np.arange(len(events)), found], 0.0)
    return found, weight


def _codes(events: EventTable) -> Rows:
    """The language of each event as a number."""
    spoken = sorted(set(events.documents.languages))
    number = np.array([spoken.index(each) for each in events.documents.languages], np.int32)
    return np.asarray(number[events.document]) if len(number) else np.zeros(0, np.int32)


def _by_falling_size(topic: Rows) -> Rows:
    """The same topics, the one with most events first."""
    found = topic.copy()
    found[topic >= 0] = by_size(topic[topic >= 0])
    return found


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


def _ties(units: TopicUnits, topic: Rows, grouped: _Grouped, ids: Sequence[str]) -> Iterator[Tie]:
    """Pairs of topics with the summed cosine of the units of both that are tied; the strongest of each."""
    count = int(topic.max(initial=-1)) + 1
    of_unit = np.full(units.count + 1, -1, np.int64)
    of_unit[units.unit[units.unit >= 0]] = topic[units.unit >= 0]
    one, other = of_unit[grouped.left], of_unit[grouped.right]
    both = (one >= 0) & (other >= 0) & (one != other)
    low, high = np.minimum(one[both], other[both]), np.maximum(one[both], other[both])
    code, place = np.unique(low * max(1, count) + high, return_inverse=True)
    weight = np.round(np.bincount(place, weights=grouped.strength[both], minlength=len(code)), 6)
    kept: Counter[int] = Counter()
    for number in np.lexsort((code, -weight)).tolist():
        first, second = divmod(int(code[number]), count)
        if min(kept[first], kept[second]) < TIES_KEPT:
            kept.update((first, second))
            yield Tie(ids[first], ids[second], float(weight[number]))
