"""What distinguishes groups of events: their keys, and the title and summary made of these."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventTable, Floats, Keys, Rows, Spread
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.language.words import fold
from sag_retrieval.topics.titler import DistinctiveName, TopicContents

_NOT_A_NAME = frozenset(
    ["date", "time", "day", "month", "year", "number", "quantity", "amount", "money", "percentage", "percent"]
)
_NO_SHOWN_NAME: Final = frozenset({"title", "section", "heading"})
"""Types of keys that name a text, not something that a text speaks of."""
_folded: Final = lru_cache(maxsize=65_536)(fold)  # values and types of frequent keys are compared again and again
_OF_A_DOCUMENT = "title"
"""Type of the keys that are titles of documents: they name a community only where nothing else does."""
_NO_NAME = re.compile(r"^[\W\d_年月日时分秒]*$|^\w*_\w|^\d{1,2}[-./]\w{2,9}[-./]\d{2,4}\b")
"""No letters, a name of a file or column, or what begins with a date."""
_WHOLE_DOCUMENT = 0.8, 0.5
"""A community is a document with this share of its events of it, and this share of the document's events in it."""
_SENTENCES: Final = 3


@dataclass(frozen=True, slots=True)
class DistinctiveKey:
    """A key of a community: its row, how many of the community's events carry it, how distinctive it is.

    `everywhere` counts the events of all that carry it, `rivals` the other communities that have it among their three
    most distinctive keys.
    """

    row: int
    count: int
    score: float
    everywhere: int = 0
    rivals: int = 0


def distinctive_keys(events: EventTable, groups: Sequence[Rows], most: int = 12) -> list[list[DistinctiveKey]]:
    """The `most` distinctive keys of each group of event rows, best first, ties by row.

    A key that c of a group's s events and d of all n events carry scores `c · ln(c n / (s d))`: frequent here
    and rare elsewhere. In a group of all events, where every such score is 0, keys are ordered by count.

    Source:
        docs/algorithm.md §reports.5.

    """
    incidence = events.incidence()
    counts = key_counts(incidence, groups)
    spread = events.spread or Spread(len(events), np.asarray(incidence.sum(axis=0), np.float64))
    found = []
    for number, members in enumerate(groups):
        part = slice(counts.indptr[number], counts.indptr[number + 1])
        key, count = counts.indices[part], counts.data[part]
        score = count * np.log(count * spread.events / (len(members) * spread.carrying[key]))
        order = np.lexsort((key, -count, -np.round(score, 9)))[:most]
        carrying = spread.carrying[key]
        found.append([DistinctiveKey(int(key[i]), int(count[i]), float(score[i]), int(carrying[i])) for i in order])
    first = Counter(key.row for keys in found for key in keys[:3])
    return [[replace(key, rivals=max(first[key.row] - 1, 0)) for key in keys] for keys in found]


def key_counts(incidence: csr_array, groups: Sequence[Rows]) -> csr_array:
    """Shape (groups, keys): events of the group that carry the key."""
    sizes = [len(members) for members in groups]
    member = np.concatenate([np.zeros(0, np.int32), *groups])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ones: Floats = np.ones(len(member))
    member_rows = csr_array((ones, member, starts), shape=(len(groups), incidence.shape[0]))
    return csr_array(member_rows @ incidence)


@dataclass(frozen=True, slots=True)
class TitledGroup:
    """What a title is made from: members by falling centrality, distinctive keys, the language to write in.

    `carried` has shape (members, keys), 1 where the member carries the key.
    """

    members: Rows
    keys: Sequence[DistinctiveKey]
    language: str
    carried: csr_array


def naming_keys(events: EventTable, keys: Sequence[DistinctiveKey]) -> list[DistinctiveKey]:
    """The keys that name something; titles of documents only where nothing else is distinctive."""
    names = [key for key in keys if names_something(events.keys, key.row)]
    own = [key for key in names if _folded(events.keys.types[key.row]) != _OF_A_DOCUMENT]
    return own if any(key.score > 0 for key in own) else names


def names_something(keys: Keys, row: int) -> bool:
    """Whether a key is a name: a text, neither a date nor a quantity."""
    kind, value = keys.types[row], keys.values[row]
    return keys.can_name(row) and _folded(kind) not in _NOT_A_NAME and not _NO_NAME.match(value)


def contents_of(events: EventTable, group: TitledGroup, terms: Sequence[str] = ()) -> TopicContents:
    """What a titler is given of a group."""
    return TopicContents(
        language=group.language,
        terms=terms,
        names=[
            DistinctiveName(events.keys.values[key.row], key.score, key.rivals)
            for key in naming_keys(events, group.keys)
        ],
        documents=list(_document_title(events, group)),
        sentences=[events.contents[row] for row in group.members[:_SENTENCES].tolist()],
    )


def _document_title(events: EventTable, group: TitledGroup) -> Iterator[str]:
    """Title of the one document that the group is about and that is about little else."""
    inside, covered = _WHOLE_DOCUMENT
    for key in group.keys:
        is_title = _folded(events.keys.types[key.row]) == _OF_A_DOCUMENT and names_something(events.keys, key.row)
        if is_title and key.count >= inside * len(group.members) and key.count >= covered * key.everywhere:
            yield events.keys.values[key.row]


def is_shown_name(keys: Keys, row: int) -> bool:
    """Whether pages list a key as a name: a person, place, thing or subject; one word in small letters is none."""
    kind, value = _folded(keys.types[row]), keys.values[row]
    is_word = kind in {"entity", "topic"} and value.isascii() and value == value.lower() and " " not in value
    return kind not in _NO_SHOWN_NAME and not is_word and names_something(keys, row)


def make_summary(events: EventTable, group: TitledGroup) -> tuple[CitedSentence, ...]:
    """Two or three sentences, each with the events that state it: distinctive keys, period, newest event."""
    return tuple(sentence for sentence in (_about(events, group), _newest(events, group)) if sentence)


def _about(events: EventTable, group: TitledGroup) -> CitedSentence | None:
    named = naming_keys(events, group.keys)[:3]
    if not named:
        return None
    counted = sorted(named, key=lambda key: (-key.count, key.row))
    size, zh = len(group.members), group.language == "zh"
    parts = [
        f"{events.keys.values[key.row]}（{key.count} 个）" if zh else f"{events.keys.values[key.row]} ({key.count})"
        for key in counted
    ]
    text = (
        f"{size} 个事件中反复出现的有：{'、'.join(parts)}。"
        if zh
        else f"Recurring in its {size} events: {', '.join(parts)}."
    )
    return CitedSentence(text, _bearers(events, group, counted))


def _bearers(events: EventTable, group: TitledGroup, keys: Sequence[DistinctiveKey]) -> tuple[str, ...]:
    """For each key, its most typical event in the group; each event once."""
    member = np.repeat(np.arange(len(group.members)), np.diff(group.carried.indptr))
    first = [int(member[group.carried.indices == key.row].min()) for key in keys]
    return tuple(dict.fromkeys(events.event_ids[int(group.members[place])] for place in first))


def _newest(events: EventTable, group: TitledGroup) -> CitedSentence | None:
    dated = sorted((date, -place, int(row)) for place, row in enumerate(group.members) if (date := events.dates[row]))
    if not dated:
        return None
    (first, _, first_row), (last, _, last_row) = dated[0], dated[-1]
    content = events.contents[last_row]
    if group.language == "zh":
        span = f"时间从 {first} 到 {last}，" if first != last else f"时间为 {last}，"
        text = f"{span}最新的一件是：{content}"
    else:
        span = f"They run from {first} to {last}" if first != last else f"All are dated {last}"
        text = f"{span}; the newest: {content}"
    return CitedSentence(text, tuple(dict.fromkeys((events.event_ids[last_row], events.event_ids[first_row]))))
