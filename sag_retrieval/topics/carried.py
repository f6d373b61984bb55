"""Communities after a change as values: those that changed get new ids, and new titles and summaries by rule."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.clusters.events import EventTable, Rows, event_table
from sag_retrieval.clusters.groups import CitedSentence, Communities, Community, Quality, Tie, community_id
from sag_retrieval.clusters.incremental import Carried, LevelChange, Tables
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.csr import take_rows
from sag_retrieval.topics.naming import name_communities

StoredRow = Mapping[str, Any]
_NEW: Final[StoredRow] = {"community_id": "", "conductance": 0.0, "title": "", "sentences": (), "keys": ()}
"""What the table would tell of a community that came."""


def carried_communities(
    tables: Tables, carried: Carried, index: Index, models: Mapping[str, str]
) -> tuple[Communities, Mapping[str, str]]:
    """The communities of a changed release, all with names, and the model that named some, by their ids.

    One that lost an event, or names a key that is gone, is named by rule, and so is one with new events that a rule had
    named, as its summary counts them. A name that a model gave stays while events only come.

    Args:
        tables: The communities before.
        carried: Their members after the change.
        index: The changed release.
        models: The models that named some before, by their ids.

    Source:
        docs/algorithm.md §reports.12.

    """
    listed = tables["communities"].to_pylist()
    for row in naming_gone_keys(tables["communities"]["keys"], index):
        listed[row] = _unnamed(listed[row])
    found, ids, named_by = list[Community](), dict[str, str](), dict[str, str]()
    first = 0
    for level, change in enumerate(carried.levels):
        rows = [*listed[first : first + change.before], *[_NEW] * (change.after.count - change.before)]
        first += change.before
        for number in np.unique(change.after.group).tolist():
            before = rows[number]["community_id"]
            each = _changed(level, change, number, rows[number], is_by_model=before in models, index=index)
            found.append(each)
            ids[before] = each.community_id
            if before in models and each.title:
                named_by[each.community_id] = models[before]
    found = sorted(_with_parents(found, carried, index), key=lambda each: (each.level, -len(each.members)))
    return _whole(tables, _named(found, index), ids), named_by


def naming_gone_keys(keys: pa.ChunkedArray, index: Index) -> set[int]:
    """Rows of the communities whose title or summary names a key that the release does not have."""
    lists = keys.combine_chunks()
    ids = index.rows["keys"]["key_id"].combine_chunks()
    gone = pc.invert(pc.is_in(pc.list_flatten(lists), value_set=ids))
    return set(pc.list_parent_indices(lists).filter(gone).to_pylist())


def _changed(
    level: int, change: LevelChange, number: int, row: StoredRow, *, is_by_model: bool, index: Index
) -> Community:
    """One community after the change, without a title where it needs another."""
    lost, gained = bool(change.lost[number]), bool(change.gained[number])
    told = _unnamed(row) if lost or (gained and not is_by_model) else row
    members, centrality = change.members[number]
    return Community(
        community_id=community_id(level, _ids(index, members)) if lost or gained else row["community_id"],
        parent_id=None,
        level=level,
        members=members,
        centrality=centrality,
        weight=float(change.after.weight[number]),
        conductance=row["conductance"],
        title=told["title"],
        summary=tuple(CitedSentence(each["text"], tuple(each["event_ids"])) for each in told["sentences"]),
        keys=tuple(told["keys"]),
    )


def _ids(index: Index, events: Rows) -> list[str]:
    found: list[str] = take_rows(index.rows["events"].select(["event_id"]), events)["event_id"].to_pylist()
    return found


def _unnamed(row: StoredRow) -> StoredRow:
    return {**row, "title": "", "sentences": (), "keys": ()}


def _with_parents(found: Sequence[Community], carried: Carried, index: Index) -> list[Community]:
    """The same, each with the id of the community above that holds its events."""
    above: dict[int, dict[int, str]] = {}
    places = [change.after.places(index.arrays.event_count) for change in carried.levels]
    for each in found:
        above.setdefault(each.level, {})[int(places[each.level][each.members[0]])] = each.community_id
    return [
        replace(each, parent_id=above[each.level + 1][int(places[each.level + 1][each.members[0]])])
        if each.level + 1 in above
        else each
        for each in found
    ]


def _named(found: Sequence[Community], index: Index) -> list[Community]:
    """The same; those without a title get one, and a summary, by rule."""
    unnamed = [each for each in found if not each.title]
    allowed = np.zeros(index.arrays.event_count, np.bool_)
    for each in unnamed:
        allowed[each.members] = True
    events: EventTable = event_table(index, allowed, is_part=True)
    place = np.cumsum(allowed, dtype=np.int32) - 1
    moved = Communities(communities=tuple(replace(each, members=place[each.members]) for each in unnamed), quality=())
    taken: dict[int, list[str]] = {}
    for each in found:
        taken.setdefault(each.level, []).append(each.title)
    names = iter(name_communities(events, moved, taken_by_level=taken).communities)
    return [
        replace(each, title=(name := next(names)).title, summary=name.summary, keys=name.keys)
        if not each.title
        else each
        for each in found
    ]


def _whole(tables: Tables, found: Sequence[Community], former: Mapping[str, str]) -> Communities:
    """All of it; figures of the whole, but for the count, are those of the last grouping."""
    figures = tables["community_levels"].to_pylist()
    counts = {row["level"]: sum(each.level == row["level"] for each in found) for row in figures}
    quality = (Quality(**{name: row[name] for name in Quality.__slots__}) for row in figures)
    ties = tables["community_ties"].to_pylist()
    return Communities(
        communities=tuple(found),
        quality=tuple(replace(each, communities=counts[each.level]) for each in quality),
        ties=tuple(
            Tie(former[each["one"]], former[each["other"]], each["weight"])
            for each in ties
            if each["one"] in former and each["other"] in former
        ),
        **{name: figures[0][name] for name in ("edge_count", "candidate_count", "common_keys")},
    )
