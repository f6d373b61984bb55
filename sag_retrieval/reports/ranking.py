"""Order the topics of a report by size, and choose the statements that stand for them and for documents."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.clusters.groups import PROPER, CitedSentence, Communities, Community
from sag_retrieval.language.cleaning import clean
from sag_retrieval.reports.series import Comparison
from sag_retrieval.statements.header_classes import row_cells
from sag_retrieval.statements.scorer import WORTHY, quotable, understood, worth, worth_quoting
from sag_retrieval.topics.naming import DistinctiveKey, is_shown_name, naming_keys
from sag_retrieval.topics.titler import JOINT

_JUDGED: Final = 400
"""The most central events of a topic, or first of a document, among which one to quote is looked for."""
_TERMS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedTopic:
    """A topic with what the page says of it. Number 1 has the most events."""

    number: int
    community_id: str
    title: str
    members: Rows
    """Rows of its events, the most typical first."""
    documents: int
    summary: tuple[CitedSentence, ...] = ()
    """Where a model wrote one."""
    terms: tuple[str, ...] = ()
    """Words or names that distinguish it, without those of its title."""
    central: int = -1
    """Row of the most central event with a name of the title that can be quoted; -1 if none can."""
    new_count: int = 0

    @property
    def size(self) -> int:
        """Count of its events."""
        return len(self.members)


def proper_communities(events: EventTable, communities: Communities) -> list[Community]:
    """The communities that are topics: the largest first, or those of a text in its order.

    A topic has three different statements: a sentence that stands in many documents, as on forms, is none.

    Source:
        docs/algorithm.md §reports.6.

    """
    found = [each for each in communities.at(0) if _are_various(events, each.members)]
    if communities.is_ordered:
        return found
    return sorted(found, key=lambda each: (-len(each.members), -round(each.weight, 9), each.community_id))


def _are_various(events: EventTable, members: Rows) -> bool:
    seen = set[str]()
    for row in members.tolist():
        seen.add(events.contents[row])
        if len(seen) >= PROPER:
            return True
    return False


def rank_topics(
    events: EventTable,
    chosen: Sequence[Community],
    keys: Sequence[Sequence[DistinctiveKey]],
    comparison: Comparison,
    *,
    is_titled: bool,
) -> tuple[RankedTopic, ...]:
    """What the page says of each topic.

    Args:
        events: The events of the report.
        chosen: The topics in their order.
        keys: The distinctive keys of each.
        comparison: What is new.
        is_titled: Whether the titles are those of a text or a model, which no sentence has to say.

    """
    return tuple(
        RankedTopic(
            number=number,
            community_id=each.community_id,
            title=each.title,
            members=each.members,
            documents=len(np.unique(events.document[each.members])),
            summary=tuple(replace(sentence, text=clean(sentence.text)) for sentence in each.summary),
            terms=_terms(events, each, own),
            central=central_row(events, each.members) if is_titled else _central(events, each),
            new_count=comparison.count_new(each),
        )
        for number, (each, own) in enumerate(zip(chosen, keys, strict=True), 1)
    )


def _central(events: EventTable, community: Community) -> int:
    """The central sentence among those with a term or a name of the title; -1 where none can be quoted."""
    names = [name.casefold() for name in community.terms or community.title.rstrip("…").split(JOINT)]
    said = [(row, events.contents[row]) for row in community.members.tolist()]
    own = [row for row, text in said if any(name in text.casefold() for name in names) and not row_cells(text)[1:]]
    return central_row(events, np.array(own, np.int32)) if own else -1


def _terms(events: EventTable, community: Community, keys: Sequence[DistinctiveKey]) -> tuple[str, ...]:
    often = (key.row for key in naming_keys(events, keys) if key.count > 1)
    names = [events.keys.values[row] for row in often if is_shown_name(events.keys, row)]
    title = community.title.casefold()
    return tuple(each for each in (community.terms or names) if each.casefold() not in title)[:_TERMS]


def central_row(events: EventTable, members: Rows) -> int:
    """Of the first members that can be quoted, the one most like all members; -1 where none can.

    Those that are worth a line to a reader come before the others. Likeness is the product with the mean of the
    members.
    """
    rows = members[:_JUDGED]
    is_worth = worth_quoting(events, rows)
    rows = rows[is_worth if is_worth.any() else quotable(events, rows)]
    if not len(rows):
        return -1
    mean = np.asarray(events.vectors[members].mean(axis=0)).ravel()
    likeness = np.round(np.asarray(events.vectors[rows] @ mean, np.float64), 9)
    return int(rows[np.lexsort((rows, -likeness))[0]])


def in_time_order(events: EventTable, rows: Rows) -> Rows:
    """Rows by date, those without one last, ties by row."""
    return np.array(sorted(rows.tolist(), key=lambda row: (events.dates[row] or "~", row)), dtype=np.int32)


def leading_row(events: EventTable, rows: Rows) -> int:
    """Of the first events of a document that a reader understands alone, the first; -1 where there is none.

    Those that are worth a line come before the others. A plan may stand for a document, what was revised may not.
    """
    rows = rows[:_JUDGED]
    rows = rows[understood(events, rows)]
    worthy = rows[worth(events, rows) >= WORTHY]
    return int([*worthy[:1], *rows[:1], -1][0])
