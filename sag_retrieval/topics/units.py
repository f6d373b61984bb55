"""Choose what topics are made of: statements that can be quoted, and passages of talk."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_array, diags_array

from sag_retrieval.clusters.events import EventTable, Floats, Rows
from sag_retrieval.core.types import Flags
from sag_retrieval.statements.quoting import judged, worth_quoting
from sag_retrieval.statements.talk import spoken_rows
from sag_retrieval.topics.topic_words import TopicWords

_JUDGED: Final = 20_000
"""Events judged as statements, spread evenly; the others join the topics that these make."""
_MOSTLY: Final = 0.5
_NEARLY: Final = 0.05
"""What the best statement of a document has to score, for the document to have a topic without one to quote."""


@dataclass(frozen=True, slots=True, eq=False)
class TopicUnits:
    """The unit of each event, with the events that count as statements to quote."""

    unit: Rows
    """Shape (events,): number of the event's unit; -1 for one that makes no topic."""
    second: Flags
    """Shape (units,): whether a unit is of a document that has no statement to quote."""
    quotable: Flags
    """Shape (events,): whether the event is a statement to quote."""

    @property
    def count(self) -> int:
        """Count of units."""
        return len(self.second)


def topic_units(events: EventTable, quoted: EventTable) -> TopicUnits:
    """One unit for each statement that can be quoted, and for each passage of a document that is mostly talk.

    A turn of talk says too little to be compared; its passage says what the talk is about. Of a document without such
    a statement those at least half as quotable as its best are units of their own kind, so that a record in notes has
    a topic too.

    Args:
        events: The events.
        quoted: The same as a report quotes them.

    Source:
        docs/algorithm.md §reports.3.

    """
    rows = np.arange(0, len(events), 1 + len(events) // _JUDGED, dtype=np.int32)
    talk, good = _is_talk(events), np.zeros(len(events), np.bool_)
    good[rows] = worth_quoting(quoted, rows)
    score = np.full(len(events), -1.0)
    score[rows] = [each.quotable for each in judged(quoted, rows)]
    told = np.zeros(len(events.documents.titles), np.bool_)
    told[events.document[good | talk]] = True
    best = np.full(len(told), _NEARLY)
    np.maximum.at(best, events.document, score)
    is_second = (score >= best[events.document] / 2) & ~told[events.document]
    key = np.where(talk, events.chunk, -1 - np.arange(len(events)))
    chosen = np.flatnonzero(talk | good | is_second)
    _, first, number = np.unique(key[chosen], return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int32)
    order[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    unit = np.full(len(events), -1, np.int32)
    unit[chosen] = order[number]
    second = np.zeros(len(first), np.bool_)
    second[unit[is_second & ~talk]] = True
    return TopicUnits(unit, second, good & ~talk)


def _is_talk(events: EventTable) -> Flags:
    """Whether each event is of a document that is mostly turns of talk."""
    count = len(events.documents.titles)
    spoken = np.bincount(events.document[spoken_rows(events)], minlength=count)
    return np.asarray((spoken > _MOSTLY * np.bincount(events.document, minlength=count))[events.document])


def unit_vectors(words: TopicWords, units: TopicUnits) -> csr_array:
    """Shape (units, words): how often the events of each unit say a word, times its idf among units; length 1."""
    rows = np.flatnonzero(units.unit >= 0)
    of_unit = csr_array((np.ones(len(rows)), (units.unit[rows], rows)), shape=(units.count, len(units.unit)))
    return scaled(csr_array(of_unit @ words.counts), idf(csr_array(of_unit @ words.counts)))


def idf(counts: csr_array) -> Floats:
    """Shape (words,): `ln(rows / rows that say the word)`."""
    said = np.bincount(counts.indices[counts.data > 0], minlength=counts.shape[1])
    return np.asarray(np.log(max(1, counts.shape[0]) / np.maximum(1, said)), np.float64)


def scaled(counts: csr_array, weight: Floats) -> csr_array:
    """Rows times the weight of each word, of length 1 (0 for a row without words)."""
    weighed = csr_array(counts.multiply(weight[None, :]))
    length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return csr_array(diags_array(np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)) @ weighed)
