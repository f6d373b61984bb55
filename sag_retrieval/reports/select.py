"""Which events a report shows: strong ones that differ, and the rest in time order."""

import numpy as np

from sag_retrieval.communities.events import EventTable, Flags, Rows
from sag_retrieval.communities.groups import Community
from sag_retrieval.communities.neighbours import cosines

_LOOKED_AT = 60
_SAME = 0.9


def typical_events(events: EventTable, community: Community, most: int) -> Rows:
    """At most `most` events that are typical and unlike each other, in time order.

    The next one has the highest `centrality - likeness`, likeness to the most alike of those already taken.
    One that is the same as another (likeness above .9) comes only when nothing else is left.

    Source:
        docs/algorithm.md §reports.6.

    """
    members, value = community.members[:_LOOKED_AT], community.centrality[:_LOOKED_AT].copy()
    likest = np.zeros(len(members))
    chosen: list[int] = []
    while len(chosen) < min(most, len(members)):
        best = int(np.argmax(value - likest - 2 * (likest > _SAME)))
        chosen.append(best)
        value[best] = -np.inf
        beside = cosines(events.vectors, np.full(len(members), members[best], np.int32), members)
        likest = np.maximum(likest, beside)
    return in_time_order(events, members[np.array(chosen, dtype=np.intp)])


def in_time_order(events: EventTable, rows: Rows) -> Rows:
    """Rows by date, those without one last, ties by row."""
    key = [(events.dates[row] is None, events.dates[row] or "", row) for row in rows.tolist()]
    return np.array([row for *_, row in sorted(key)], dtype=np.int32)


def listed_events(events: EventTable, community: Community, is_new: Flags, most: int) -> Rows:
    """The events that an article lists: all of them, or above `most` the most typical and all new ones."""
    members = community.members
    if len(members) > most:
        members = members[(np.arange(len(members)) < most) | is_new[members]]
    return in_time_order(events, members)


def period_of(events: EventTable, rows: Rows) -> str:
    """`2019–2023`, `2019-03 – 2019-11`, one date, or nothing."""
    dates = sorted(date for row in rows.tolist() if (date := events.dates[row]))
    if not dates:
        return ""
    first, last = dates[0], dates[-1]
    if first[:4] != last[:4]:
        return f"{first[:4]}–{last[:4]}"
    months = {date[:7] for date in dates}
    if any(len(month) < len("2000-01") for month in months):
        return str(first[:4])
    return first[:7] if len(months) == 1 else f"{min(months)} – {max(months)}"
