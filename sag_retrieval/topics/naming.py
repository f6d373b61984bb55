"""Name communities: keep known titles and summaries, ask a model for others, or make them by rule."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.clusters.events import EventTable, Keys
from sag_retrieval.clusters.groups import CitedSentence, Communities, Community
from sag_retrieval.core.errors import ModelError
from sag_retrieval.language.cleaning import clean
from sag_retrieval.models.protocols import ChatModel, Request, Usage
from sag_retrieval.prompts import load_prompt
from sag_retrieval.topics.distinctive import TitledGroup, contents_of, distinctive_keys, make_summary
from sag_retrieval.topics.titler import TakenTitles, Titler, by_terms, fits, shorten

KnownNames = Mapping[str, tuple[str, tuple[CitedSentence, ...]]]
"""Title and summary by community id; ids depend on members, so known names remain valid."""

SHOWN_EVENTS = 30
"""Events of a community that a model is shown, the most typical."""
MOST_ASKED = 200
"""Communities that are described by the model, the largest; the others are named offline."""


class DescribedSentence(BaseModel):
    """One sentence of a description and the numbers of the events that state it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(description="one short sentence")
    events: list[int] = Field(description="numbers of the listed events that state it")


class Described(BaseModel):
    """The model's title and summary of one community."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
    too long, and sentences that no event states are replaced by those of the rules.

    Args:
        events: The events of the communities; their `spread` says what is rare where they are part of more.
        communities: What is named.
        chat: The model that is asked; None: rules name all.
        known: Titles and summaries that stay, by id.
        taken_by_level: Titles of further communities of a level.
        titler: Gives the others their titles.

    Raises:
        ModelUnavailable: If the model's server does not answer.
        BudgetExceeded: If the budget is used up.

    Source:
        docs/algorithm.md §reports.5.

    """
    groups = _groups(events, communities)
    known = known or {}
    unknown = [
        (each, group)
        for each, group in zip(communities, groups, strict=True)
        if each.community_id not in known and len(each.members) > 1
    ]
    described, usage, failures = _ask(events, unknown[:MOST_ASKED], chat, known)
    taken = [
        TakenTitles(
            chain(
                (known[each.community_id][0] for each in communities.at(level) if each.community_id in known),
                taken_by_level.get(level, ()),
            )
        )
        for level in range(communities.levels)
    ]
    named, clean_events = [], events.cleaned()
    for each, group in zip(communities, groups, strict=True):
        title, summary = known.get(each.community_id) or described.get(each.community_id) or ("", ())
        if each.community_id not in known and (not title or title in taken[each.level]):
            title = _title(titler(contents_of(clean_events, group, each.terms)), each.title, taken[each.level])
        taken[each.level].add(title)
        if not summary and not each.title and not each.terms:
            summary = make_summary(clean_events, group)
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
) -> tuple[dict[str, tuple[str, tuple[CitedSentence, ...]]], Usage, int]:
    described: dict[str, tuple[str, tuple[CitedSentence, ...]]] = {}
    usage, failures = Usage(), 0
    if chat is None or not asked:
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
