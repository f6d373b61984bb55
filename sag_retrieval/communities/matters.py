"""Add to titles that are only names what the events of these names are about: `Harbour Bank: loan agreement`."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable, Keys, Rows
from sag_retrieval.communities.groups import Communities, Community
from sag_retrieval.communities.said import SaidNames
from sag_retrieval.communities.statements import fault_counts
from sag_retrieval.communities.tagging import tagged
from sag_retrieval.communities.titles import TakenTitles, distinctive_keys, fits, names_something, naming_keys
from sag_retrieval.communities.topic_titles import phrases_of
from sag_retrieval.communities.topic_words import topic_words
from sag_retrieval.text.words import fold, is_cjk

JOINT: Final = " · "
"""Between two names of a title."""
_NAMES: Final = 3
"""Names of a title that are tried."""
_SHARE: Final = 0.15
"""Of the events of a group that carry a name in the language of the report, for the title to begin with it."""
_WORD_ALONE: Final = 3
"""Events of a name that have to say a Chinese word; an English one is no phrase."""
_FORE: Final = ("n", "vn", "an", "a", "b", "j", "l")
_LAST: Final = ("n", "vn", "an", "j", "l")
"""Parts of speech of the words of a Chinese noun phrase."""
_COMMON: Final = 0.5
"""Share of all events that say a word from which it distinguishes nothing."""
_NEAR: Final = 4
"""Characters between a Chinese office and who holds it."""
_OFFICE: Final = re.compile(
    r"(?:[员长师]|总监|主任|经理|教授|总裁|执行官|法官|书记|主席|秘书|director|manager|officer|chair\w{0,6}|president"
    r"|secretary|engineer|captain|professor|clerk|executive)\Z"
)
_LONGEST: Final = 24


def with_matters(events: EventTable, communities: Communities, language: str) -> Communities:
    """The same communities; of a title that is only names one stays, with the phrase that distinguishes its events.

    A phrase counts if two events of the name in the language of the report say it, one of them a statement without a
    fault, and if it is no office: none stands next to the name or before a person. Without a phrase the title stays.

    Args:
        events: The events, clean.
        communities: Groups with titles.
        language: Of the report.

    Source:
        docs/algorithm.md §reports.5.

    """
    tried = list(_tried(events, communities, language))
    if not tried:
        return communities
    own = [_rows_of(events, each.members, key, language) for each, key in tried]
    taken, titles = TakenTitles(each.title for each in communities if each.title), dict[str, str]()
    phrases = phrases_of(events, topic_words(_with_titles_as_topics(events), spread=1, common=_COMMON), own)
    for (each, key), rows, forms in zip(tried, own, phrases, strict=True):
        if each.community_id not in titles and len(rows) >= _SHARE * len(each.members):
            proposals = (title for title in _titles(events, key, rows, forms) if title not in taken)
            if title := next(proposals, ""):
                titles[each.community_id] = title
                taken.add(title)
    renamed = (replace(each, title=titles.get(each.community_id, each.title)) for each in communities)
    return replace(communities, communities=tuple(renamed))


def _tried(events: EventTable, communities: Communities, language: str) -> Iterator[tuple[Community, int]]:
    """The communities whose title is only names, each with the names that a title may begin with."""
    keys = events.keys
    rows = {
        value: row for row, value in enumerate(keys.values) if names_something(keys, row) and not _is_title(keys, row)
    }
    named = [each for each in communities if each.title and all(part in rows for part in each.title.split(JOINT))]
    said, distinctive = SaidNames(events), distinctive_keys(events, [each.members for each in named])
    for each, found in zip(named, distinctive, strict=True):
        parts = [rows[part] for part in each.title.split(JOINT)]
        others = [key.row for key in naming_keys(events, found) if key.row in said and not _is_title(keys, key.row)]
        tried = [key for key in dict.fromkeys([*parts, *others]) if is_cjk(keys.values[key]) == (language == "zh")]
        yield from ((each, key) for key in tried[:_NAMES])


def _is_title(keys: Keys, row: int) -> bool:
    return keys.types[row] == "title"


def _with_titles_as_topics(events: EventTable) -> EventTable:
    """The events with titles of documents as topics: what a title says is no name where sentences say it."""
    types = ["topic" if kind == "title" else kind for kind in events.keys.types]
    return replace(events, keys=replace(events.keys, types=types))


def _rows_of(events: EventTable, members: Rows, key: int, language: str) -> Rows:
    """The members that carry a key and are in a language."""
    carrying = np.isin(members, events.links.event[events.links.key == key])
    spoken = [events.documents.languages[row] == language for row in events.document[members].tolist()]
    return members[carrying & np.array(spoken, np.bool_)]


def _titles(events: EventTable, key: int, rows: Rows, phrases: Sequence[tuple[str, int]]) -> Iterator[str]:
    name = events.keys.values[key]
    joint = "：" if is_cjk(name) else ": "
    good = [events.contents[row].casefold() for row in rows[fault_counts(events, rows) < 1].tolist()]
    for form, count in phrases:
        is_phrase = len(tagged(form)) > 1 or count >= _WORD_ALONE if is_cjk(form) else " " in form
        if not is_phrase or not _is_noun(form) or fold(form) in fold(name) or not fits(f"{name}{JOINT}{form}"):
            continue
        if any(form in text for text in good) and not _is_office(events, form, rows, name):
            yield f"{name}{joint}{form}"


def _is_office(events: EventTable, form: str, rows: Rows, name: str) -> bool:
    """Whether a phrase is an office, or stands a little before the name or a person: `harbour master Ada Byrne`."""
    if _OFFICE.search(form):
        return True
    near = _NEAR if is_cjk(form) else 1
    for row in rows.tolist():
        text = events.contents[row]
        start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
        keys = events.links.key[start:end].tolist()
        persons = [one for key in keys if events.keys.types[key] == "person" for one in events.keys.names_of(key)]
        ends = itertools.accumulate(map(len, text.casefold().split(form)), lambda end, size: end + len(form) + size)
        behind = [text[end + len(form) :][:_LONGEST] for end in ends][:-1]
        if any(0 <= told.find(one) <= near for told in behind for one in (*persons, name)):
            return True
    return False


def _is_noun(form: str) -> bool:
    """Whether Chinese words are a noun with what qualifies it; English ones were judged by their places."""
    if not is_cjk(form):
        return True
    *before, last = (part for _, part in tagged(form))
    return last.startswith(_LAST) and all(part.startswith(_FORE) for part in before)
