"""Name communities: by what distinguishes their events, by names that are known already, or by a model."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Final

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventTable, Keys, Rows, Spread
from sag_retrieval.clusters.groups import CitedSentence, Communities, Community
from sag_retrieval.core.errors import ModelError
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold
from sag_retrieval.models.protocols import AnswerShape, ChatModel, Request, Usage
from sag_retrieval.prompts import load_prompt
from sag_retrieval.topics.titler import DistinctiveName, TakenTitles, Titler, TopicContents, by_terms, fits, shorten

_NOT_A_NAME = frozenset(
    ["date", "time", "day", "month", "year", "number", "quantity", "amount", "money", "percentage", "percent"]
)
_NO_SHOWN_NAME: Final = frozenset({"title", "section", "heading"})
"""Types of keys that name a text, not something that a text speaks of."""
_folded: Final = lru_cache(maxsize=65_536)(fold)  # values and types of frequent keys are compared again and again
_OF_A_DOCUMENT = "title"
"""Type of the keys that are titles of documents: they name a community only where nothing else does."""
_NO_NAME = patterns("all")["no_title"]
"""No letters, a name of a file or column, or what begins with a date."""
_NUMBER_ALONE = patterns("all")["number_alone"]
_UNTYPED: Final = "entity"
_REPEATED: Final = 2
"""Events of a topic that carry a name of it: one is chance."""
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

    Source: docs/algorithm.md §reports.5.
    """
    incidence = events.incidence()
    member = np.concatenate([np.zeros(0, np.int32), *groups])
    starts = np.cumsum([0, *map(len, groups)])
    chosen = csr_array((np.ones(len(member)), member, starts), shape=(len(groups), len(events)))
    counts = csr_array(chosen @ incidence)
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
    """Whether a key is a name: a text, neither a date nor a quantity, without a type also no date or number in it."""
    kind, value = _folded(keys.types[row]), keys.values[row]
    is_figure = _NO_NAME.match(value) or (kind == _UNTYPED and _NUMBER_ALONE.search(value))
    return keys.can_name(row) and kind not in _NOT_A_NAME and not is_figure


def contents_of(events: EventTable, group: TitledGroup, terms: Sequence[str] = ()) -> TopicContents:
    """What a titler is given of a group."""
    names = [key for key in naming_keys(events, group.keys) if key.count >= _REPEATED]
    return TopicContents(
        language=group.language,
        terms=terms,
        names=[DistinctiveName(events.keys.values[key.row], key.score, key.rivals) for key in names],
        documents=list(_document_title(events, group, is_whole=bool(names or terms))),
        sentences=[events.contents[row] for row in group.members[:_SENTENCES].tolist()],
    )


def _document_title(events: EventTable, group: TitledGroup, *, is_whole: bool) -> Iterator[str]:
    """Title of the one document that the group is about and, where it must be the whole of it, is about little else."""
    inside, covered = _WHOLE_DOCUMENT
    for key in group.keys:
        is_title = _folded(events.keys.types[key.row]) == _OF_A_DOCUMENT and names_something(events.keys, key.row)
        if (
            is_title
            and key.count >= inside * len(group.members)
            and (not is_whole or key.count >= covered * key.everywhere)
        ):
            yield events.keys.values[key.row]


def is_shown_name(keys: Keys, row: int) -> bool:
    """Whether pages list a key as a name: a person, place, thing or subject; one word in small letters is none."""
    kind, value = _folded(keys.types[row]), keys.values[row]
    is_word = kind in {"entity", "topic"} and value.isascii() and value == value.lower() and " " not in value
    return kind not in _NO_SHOWN_NAME and not is_word and names_something(keys, row)


def _about(events: EventTable, group: TitledGroup) -> CitedSentence | None:
    named = naming_keys(events, group.keys)[:3]
    if not named:
        return None
    counted = sorted(named, key=lambda key: (-key.count, key.row))
    size, zh = len(group.members), group.language == "zh"
    parts = [events.keys.values[key.row] + (f"（{key.count} 个）" if zh else f" ({key.count})") for key in counted]
    if zh:
        text = f"{size} 个事件中反复出现的有：{'、'.join(parts)}。"
    else:
        text = f"Recurring in its {size} events: {', '.join(parts)}."
    member = np.repeat(np.arange(size), np.diff(group.carried.indptr))
    typical = [int(group.members[member[group.carried.indices == key.row].min()]) for key in counted]
    return CitedSentence(text, tuple(dict.fromkeys(events.event_ids[row] for row in typical)))


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


TitleAndSummary = tuple[str, tuple[CitedSentence, ...]]
KnownNames = Mapping[str, TitleAndSummary]
"""Title and summary by community id; ids depend on members, so known names remain valid."""

SHOWN_EVENTS = 30
"""Events of a community that a model is shown, the most typical."""
MOST_ASKED = 200
"""Communities that are described by the model, the largest; the others are named offline."""


class DescribedSentence(AnswerShape):
    """One sentence of a description and the numbers of the events that state it."""

    text: str = Field(description="one short sentence")
    events: list[int] = Field(description="numbers of the listed events that state it")


class Described(AnswerShape):
    """The model's title and summary of one community."""

    title: str = Field(description="what the events have in common, at most 6 words or 12 Chinese characters")
    summary: list[DescribedSentence] = Field(description="2 to 4 sentences")


@dataclass(frozen=True, slots=True)
class NamedCommunities:
    """The communities with titles and summaries, what the model cost, and how often it failed."""

    communities: Communities
    usage: Usage = field(default_factory=Usage)
    failures: int = 0


def name_communities(
    events: EventTable,
    communities: Communities,
    chat: ChatModel | None = None,
    known: KnownNames | None = None,
    taken_by_level: Mapping[int, Sequence[str]] = MappingProxyType({}),
    titler: Titler = by_terms,
) -> NamedCommunities:
    """Give every community a summary and a title that no other of its level has.

    What is known by id is kept; sections of a document keep their title; topics grouped by words have no summary by
    rule. With a model the largest `MOST_ASKED` of the others are asked for; a failed answer, a title that is taken or
    too long, and sentences that no event states are replaced by those of the rules. A model that does not answer, or
    has no budget left, raises. `taken_by_level` are titles of further communities.

    Source: docs/algorithm.md §reports.5.
    """
    groups = _groups(events, communities)
    known = known or {}
    unknown = [
        (each, group)
        for each, group in zip(communities, groups, strict=True)
        if each.community_id not in known and len(each.members) > 1
    ]
    described, usage, failures = _ask(events, unknown[:MOST_ASKED], chat, known)
    taken = [TakenTitles(taken_by_level.get(level, ())) for level in range(communities.levels)]
    for each in communities:
        if each.community_id in known:
            taken[each.level].add(known[each.community_id][0])
    named, clean_events = [], events.cleaned()
    for each, group in zip(communities, groups, strict=True):
        title, summary = known.get(each.community_id) or described.get(each.community_id) or ("", ())
        if each.community_id not in known and (not title or title in taken[each.level]):
            title = _title(titler(contents_of(clean_events, group, each.terms)), each.title, taken[each.level])
        taken[each.level].add(title)
        if not summary and not each.title and not each.terms:
            summary = tuple(filter(None, (_about(clean_events, group), _newest(clean_events, group))))
        told = " ".join([title, *(sentence.text for sentence in summary)])
        named.append(replace(each, title=title, summary=summary, keys=_named_in(told, clean_events.keys, group)))
    return NamedCommunities(replace(communities, communities=tuple(named)), usage, failures)


def _title(proposed: Iterable[str], own: str, taken: TakenTitles) -> str:
    """The group's own title, else the first proposed one that is not taken; at last a number."""
    first = ""
    for title in chain([own] if own else [], proposed):
        first = first or title
        if title and title not in taken:
            return title
    return taken.numbered(first)


def _named_in(told: str, keys: Keys, group: TitledGroup) -> tuple[str, ...]:
    """Ids of the distinctive keys of a group that a text names, whole or shortened."""
    values = ((key.row, keys.values[key.row]) for key in group.keys) if keys.ids else ()
    return tuple(keys.ids[row] for row, value in values if value in told or shorten(value) in told)


def known_names(communities: Communities) -> KnownNames:
    """Titles and summaries to keep when communities are built again."""
    return {each.community_id: (each.title, each.summary) for each in communities if each.title}


def _groups(events: EventTable, communities: Communities) -> list[TitledGroup]:
    documents, languages, incidence = events.document, events.documents.languages, events.incidence()
    found: list[TitledGroup] = []
    for level in range(communities.levels):  # keys are compared with those of groups of the same level
        members = [each.members for each in communities.at(level)]
        for rows, keys in zip(members, distinctive_keys(events, members), strict=True):
            language = Counter(languages[row] for row in documents[rows].tolist()).most_common(1)[0][0]
            found.append(TitledGroup(rows, keys, language, incidence[rows]))
    return found


def _ask(
    events: EventTable, asked: Sequence[tuple[Community, TitledGroup]], chat: ChatModel | None, known: KnownNames
) -> tuple[dict[str, TitleAndSummary], Usage, int]:
    described: dict[str, TitleAndSummary] = {}
    usage, failures = Usage(), 0
    if chat is None:
        return described, usage, failures
    taken = [title for title, _ in known.values()][:50]
    requests = (_request(events, group, taken) for _, group in asked)
    for (each, group), reply in zip(asked, chat.ask_all(requests), strict=True):
        if isinstance(reply, ModelError):
            failures += 1
            continue
        usage += reply.usage
        title, summary = clean(reply.value.title), tuple(_checked(events, group, reply.value))
        failures += not summary
        described[each.community_id] = (title if fits(title) else "", summary)
    return described, usage, failures


def _request(events: EventTable, group: TitledGroup, taken: Sequence[str]) -> Request[Described]:
    prompt = load_prompt("community", group.language)
    lines = []
    for number, row in enumerate(group.members[:SHOWN_EVENTS].tolist(), 1):
        line = {"n": number, "date": events.dates[row], "text": events.contents[row]}
        lines.append(json.dumps({k: v for k, v in line.items() if v}, ensure_ascii=False))
    keys = [f"{events.keys.values[key.row]} ({key.count})" for key in group.keys]
    filled = prompt.fill(
        keys=json.dumps(keys, ensure_ascii=False),
        taken=json.dumps(list(taken), ensure_ascii=False),
        events="\n".join(lines),
    )
    return Request(prompt=filled, answer=Described, step="communities", system=prompt.system)


def _checked(events: EventTable, group: TitledGroup, described: Described) -> Iterator[CitedSentence]:
    shown = min(len(group.members), SHOWN_EVENTS)
    for sentence in described.summary[:4]:
        rows = [int(group.members[n - 1]) for n in dict.fromkeys(sentence.events) if 1 <= n <= shown]
        if rows and clean(sentence.text):
            yield CitedSentence(clean(sentence.text), tuple(events.event_ids[row] for row in rows))
