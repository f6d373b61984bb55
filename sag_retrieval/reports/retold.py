"""Give each part of a long document a paragraph of its own sentences in reading order."""

from dataclasses import replace

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.groups import CitedSentence, Communities
from sag_retrieval.communities.narration import Narration, Told, is_independent, tells
from sag_retrieval.communities.retelling import retell
from sag_retrieval.communities.said import SaidNames
from sag_retrieval.communities.statements import fault_counts, telling
from sag_retrieval.reports.ranking import EventRanking, RankedCommunity

_SENTENCES = 5


def with_parts_retold(
    events: EventTable, communities: Communities, ranking: EventRanking, said: SaidNames
) -> EventRanking:
    """The same ranking; parts in reading order are summed up by sentences spread over them.

    Of a tale these need not hold a figure; of a report they are the statements that hold most to check. A summary
    that a model wrote stays.

    Source:
        docs/algorithm.md §reports.6.

    """
    if not communities.is_ordered:
        return ranking
    narration = Narration(events, said) if tells(events) else None
    written = {each.community_id for each in communities if each.summary}
    taken, found = set[str](), list[RankedCommunity]()
    for part in ranking.communities:
        told = narration.told(part.members) if narration else stated(events, part)
        quoted = retell(events, part.members, told, _SENTENCES, taken)
        taken |= {events.contents[each.row] for each in quoted}
        summary = tuple(CitedSentence(each.text, (events.event_ids[each.row],)) for each in quoted)
        found.append(
            replace(
                part,
                typical=tuple(each.row for each in quoted),
                summary=part.summary if part.community_id in written else summary,
            )
        )
    return replace(ranking, communities=tuple(found), on_map=tuple(found[: len(ranking.on_map)]))


def stated(events: EventTable, part: RankedCommunity) -> list[Told]:
    """The statements of a part of a report: those that hold most to check, others where a stretch has none of them."""
    rows = np.sort(part.members)
    counted = fault_counts(events, rows)
    rows, counted = rows[counted < 1], counted[counted < 1]
    values = zip(rows.tolist(), (telling(events, rows) - counted).tolist(), strict=True)
    return [
        Told(row, events.contents[row], weight=value) for row, value in values if is_independent(events.contents[row])
    ]
