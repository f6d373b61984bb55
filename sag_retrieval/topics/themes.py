"""The themes of a report: topics, the parts of a long document, or groups by keys, titled in the reader's language."""

import re
from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.clusters.groups import Communities, Community
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.language.words import fold, is_cjk
from sag_retrieval.topics.naming import name_communities
from sag_retrieval.topics.parts import build_parts
from sag_retrieval.topics.said import SaidNames
from sag_retrieval.topics.titles import (
    JOINT,
    TakenTitles,
    TitledGroup,
    distinctive_keys,
    fits,
    make_title,
    naming_keys,
)

_WORD: Final = re.compile(r"[\u4e00-\u9fff]{2}|[^\W\d_]+")
_DIGIT: Final = re.compile(r"\d")
_FEWEST: Final = 3
"""With fewer topics, events are grouped by their keys."""
_NAMED: Final = 0.5
"""Share of the topics that a noun phrase has to name: of a small pile names group more, and say what they group."""
_COVERED: Final = 0.5
"""Topics of a smaller share of the units are left for groups by keys: few events share few words, but names."""


def build_themes(events: EventTable, options: ClusterOptions, language: str) -> Communities:
    """Communities as the options say; with the method `topics`, what suits the events.

    One or two long documents are grouped by their parts. Where topics are few, or hold a small part of the events, keys
    group them. A topic of documents in another language than the report's is named by its keys.

    Source:
        docs/algorithm.md §reports.3.

    """
    if options.method != "topics":
        return build_communities(events, options)
    events = events.cleaned()
    if parts := build_parts(events):
        return parts
    found = build_communities(events, options)
    groups = [each for each in found if len(each.members) >= _FEWEST]
    titled = [each for each in groups if each.title]
    if len(titled) < max(_FEWEST, _NAMED * len(groups)) or found.quality[0].coverage < _COVERED:
        return _titled_in(events, _by_keys(events, options), language)
    return _titled_in(events, _named(events, found), language)


def _named(events: EventTable, communities: Communities) -> Communities:
    """The same communities, each with a title.

    What no noun phrase names is titled by its keys, or by its most typical event.
    """
    unnamed = [each for each in communities if not each.title and len(each.members) >= _FEWEST]
    if not unnamed:
        return communities
    incidence, taken = events.incidence(), TakenTitles(each.title for each in communities if each.title)
    titles = dict[str, str]()
    keys = distinctive_keys(events, [each.members for each in unnamed])
    for each, carried in zip(unnamed, keys, strict=True):
        found = [key for key in carried if events.keys.types[key.row] != "title"]
        group = TitledGroup(each.members, found, _language(events, each.members), incidence[each.members])
        titles[each.community_id] = make_title(events, group, taken)
        taken.add(titles[each.community_id])
    titled = (replace(each, title=titles.get(each.community_id, each.title)) for each in communities)
    return replace(communities, communities=tuple(titled))


def _by_keys(events: EventTable, options: ClusterOptions) -> Communities:
    """Groups of the events that share keys, titled by them; what they say is quoted, not summarised."""
    found = build_communities(events, replace(options, method="leiden", levels=1))
    named = name_communities(events, found).communities
    return replace(named, communities=tuple(replace(each, summary=()) for each in named))


def _titled_in(events: EventTable, communities: Communities, language: str) -> Communities:
    """The same communities; those of another language are titled by the names that distinguish them."""
    titled = [each for each in communities if each.title]
    foreign = {each.community_id for each in titled if _is_foreign(events, each, language)}
    if not foreign:
        return communities
    keys = distinctive_keys(events, [each.members for each in titled])
    taken = TakenTitles(each.title for each in titled if each.community_id not in foreign)
    said, titles = SaidNames(events), dict[str, str]()
    for each, found in zip(titled, keys, strict=True):
        if each.community_id in foreign:
            own = [key for key in naming_keys(events, found) if events.keys.types[key.row] != "title"]
            chosen = [key for key in own if key.row in said] or own
            values = [events.keys.values[key.row] for key in chosen]
            titles[each.community_id] = _by_names(values, language) or each.title
            if titles[each.community_id] in taken:
                titles[each.community_id] = taken.numbered(titles[each.community_id])
            taken.add(titles[each.community_id])
    named = (replace(each, title=titles.get(each.community_id, each.title)) for each in communities)
    return replace(communities, communities=tuple(named))


def _is_foreign(events: EventTable, community: Community, language: str) -> bool:
    """Whether a title of names is in another script than the page, or one of words in another language."""
    if JOINT in community.title:
        return any(is_cjk(part) != (language == "zh") for part in community.title.split(JOINT))
    return _language(events, community.members) != language or _title_language(events, community) != language


def _title_language(events: EventTable, community: Community) -> str:
    """The language of most events that say the words of the title."""
    words = [word for word in _WORD.findall(community.title.casefold()) if is_cjk(word) or len(word) > len("and")]
    said = [row for row in community.members.tolist() if any(word in events.contents[row].casefold() for word in words)]
    return _language(events, np.array(said, np.int32) if said else community.members)


def _language(events: EventTable, rows: Rows) -> str:
    documents = events.document[rows].tolist()
    return str(Counter(events.documents.languages[row] for row in documents).most_common(1)[0][0])


def _by_names(values: list[str], language: str) -> str:
    """One or two names in the script of the language, without codes; in another script where there are none."""
    known = list(dict.fromkeys(values))
    plain = [value for value in known if not _DIGIT.search(value)] or known
    ordered = [value for value in plain if is_cjk(value) == (language == "zh")] or plain
    for other in ordered[1:]:
        if (
            fold(other) not in fold(ordered[0])
            and fold(ordered[0]) not in fold(other)
            and fits(f"{ordered[0]} · {other}")
        ):
            return f"{ordered[0]} · {other}"
    return ordered[0] if ordered else ""
