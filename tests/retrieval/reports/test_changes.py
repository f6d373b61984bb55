"""What is new since the last report."""

import numpy as np
import pytest

from sag_retrieval.clusters.groups import Community, community_id
from sag_retrieval.reports.series import Previous, compare, new_events


def community(events, rows: list[int], title: str = "now") -> Community:
    return Community(
        community_id=community_id(0, [events.event_ids[row] for row in rows]),
        parent_id=None,
        level=0,
        members=np.array(rows, np.int32),
        centrality=np.ones(len(rows)),
        weight=1.0,
        conductance=0.0,
        title=title,
    )


def previous(events, groups: dict[str, list[int]]) -> Previous:
    members = {
        community_id(0, [events.event_ids[row] for row in rows]): frozenset(events.event_ids[row] for row in rows)
        for rows in groups.values()
    }
    return Previous(release="r1", titles=dict(zip(members, groups, strict=True)), members=members)


@pytest.mark.parametrize(
    ("before", "now", "status", "added"),
    [
        ({"a": [0, 1, 2]}, [0, 1, 2, 3], "grown", 1),
        ({"a": [0, 1, 2, 3]}, [0, 1, 2], "shrunk", 0),
        ({"a": [0, 1, 2], "b": [3, 4, 5]}, [0, 1, 2, 3, 4, 5], "merged", 0),
        ({"a": [0, 1, 2]}, [3, 4, 5], "new", 3),
        ({"a": [0, 1, 2, 3, 4, 5, 6, 7]}, [0, 1, 2], "split", 0),
        ({"a": [0, 1, 2, 9]}, [0, 1, 2, 3], "changed", 1),
    ],
)
def test_each_kind_of_change_is_told(towns, before, now, status, added):
    events = towns()

    found = compare([community(events, now)], events, previous(events, before))

    change = next(each for each in found if each.status != "gone")
    assert (change.status, change.added) == (status, added)


def test_a_community_that_nothing_continues_is_gone(towns):
    events = towns()

    found = compare([community(events, [9, 10, 11])], events, previous(events, {"old": [0, 1, 2]}))

    assert [(each.title, each.status, each.removed) for each in found if each.status == "gone"] == [("old", "gone", 3)]


def test_the_same_members_are_no_change(towns):
    events = towns()

    assert compare([community(events, [0, 1, 2])], events, previous(events, {"a": [2, 1, 0]})) == []


def test_new_events_are_those_the_last_report_did_not_have(towns):
    events = towns()

    assert new_events(events, previous(events, {"a": [0, 1]})).sum() == len(events) - 2
    assert new_events(events, None).sum() == 0


@pytest.mark.parametrize(
    ("before", "now", "joined"),
    [
        ({"a": [0, 1, 2], "b": [3, 4, 5, 6]}, [0, 1, 2, 3, 8], 1),
        ({"a": [0, 1, 2]}, [0, 1, 2, 3], 0),
        ({"a": [0, 1, 2], "b": [3, 4, 5]}, [0, 1, 2, 3, 4, 5], 0),
        ({"a": [0, 1, 2, 3], "b": [4, 5, 6]}, [0, 1, 2, 4], 1),
    ],
)
def test_events_that_came_from_other_communities_are_counted_apart_from_new_ones(towns, before, now, joined):
    events = towns()

    found = compare([community(events, now)], events, previous(events, before))

    change = next(each for each in found if each.status != "gone")
    assert change.joined == joined
    assert change.size == change.before - change.removed + change.added + change.joined
