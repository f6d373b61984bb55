"""Triples of events: derived from keys, supplied with the document, or extracted by a language model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sag_pipeline.extract.step_questions import StepQuestion, prompt_language
from sag_retrieval.core.records import TITLE, Document, Event, EventKey, Key, Triple, make_id
from sag_retrieval.language.data import patterns, words_of_all
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.words import fold, is_cjk, normal_name
from sag_retrieval.models.cached_chat import answers_of_parts
from sag_retrieval.models.protocols import AnswerShape, Request, estimate_tokens
from sag_retrieval.prompts import quoted

NameSpan = tuple[int, int, int]
"""First character of a name, the one after its last, and its number; -1 for a date or an amount."""
Link = tuple[int, str, int]
"""Number of the head, relation, number of the tail."""
Properties = dict[str, Any]
"""What a triple says besides: dates, amounts, flags, or what was supplied."""
RELATED: Final = "related_to"
"""Relation of two keys where their event names none."""

SUBJECT_TYPES: Final = words_of_all("PERSON_TYPES") | words_of_all("ORGANISATION_TYPES")
ACTION_TYPES: Final = words_of_all("ACTION_TYPES")
ENTITY: Final = "entity"
"""Type of a head or tail that is no key of its event."""

_PARTS: Final = ("head", "relation", "tail")
_MOST_EVENTS: Final = 20
"""Events that chunks share a question up to; a chunk with more is asked about alone."""
_SAYS = patterns("all")


def read_triples(event: Event, keys: Iterable[Key], raw: Iterable[object]) -> list[Triple]:
    """Read triples of one event from `[head, relation, tail]` lists or objects with these three fields.

    An object may also have `properties`; those of the event's keys are added. Left out: items of another form, with an
    empty part, with one name as head and tail, with a bare amount as head or tail, and repeated ones. A head or tail
    that is a text key of the event refers to that key.

    Source: docs/algorithm.md §think-on-graph.2.
    """
    found: dict[str, Triple] = {}
    own = list(keys)
    known = {normal_name(key.value_string): key.key_id for key in own if key.value_string is not None}
    attributes = properties_of(own)
    for item in raw:
        head, relation, tail = _parts(item)
        link = relation_name(relation)
        if not (link and is_entity(head) and is_entity(tail)) or normal_name(head) == normal_name(tail):
            continue
        ends = [(name, known.get(normal_name(name)) or end_key(name).key_id) for name in (head, tail)]
        given = item.get("properties") if isinstance(item, Mapping) else None
        said = attributes | (dict(given) if isinstance(given, Mapping) else {})
        triple = make_triple(event, ends[0], link, ends[1], said)
        found.setdefault(triple.triple_id, triple)
    return list(found.values())


def make_triple(
    event: Event, head: tuple[str, str], relation: str, tail: tuple[str, str], properties: Properties | None = None
) -> Triple:
    """The triple of an event; `head` and `tail` are (name, key id)."""
    return Triple(
        triple_id=make_id("t", event.event_id, normal_name(head[0]), relation, normal_name(tail[0])),
        document_id=event.document_id,
        chunk_id=event.chunk_id,
        event_id=event.event_id,
        head=head[0],
        head_key_id=head[1],
        relation=relation,
        tail=tail[0],
        tail_key_id=tail[1],
        properties=json.dumps(properties or {}, ensure_ascii=False, sort_keys=True, default=str),
    )


def relation_name(relation: str) -> str:
    """A relation in lower snake case; Chinese without separators.

    Examples:
        >>> relation_name(" Was founded-In "), relation_name("成立 于")
        ('was_founded_in', '成立于')
    """
    folded = fold(relation)
    gap = "" if is_cjk(folded) else "_"
    return gap.join(part for part in _SAYS["not_relation"].split(folded) if part)


def is_entity(name: str) -> bool:
    """Whether a name can be head or tail: not empty, and no bare number, amount or percentage; a year can."""
    bare = name.strip()
    is_amount = _SAYS["amount_alone"].fullmatch(bare) and not _SAYS["year_alone"].fullmatch(bare)
    return bool(normal_name(bare)) and not is_amount


def is_attribute(key_type: str, name: str) -> bool:
    """Whether a name is a date, which says something of an entity and is none."""
    if key_type == DATE:
        return True
    mention = next(dates(name), None) if any(map(str.isdigit, name)) else None
    return mention is not None and (mention.start, mention.end) == (0, len(name)) and mention.key_type == DATE


def properties_of(keys: Iterable[Key]) -> Properties:
    """Dates, amounts and flags of an event by key type, in its order; of a day and its month only the day."""
    found: dict[str, list[object]] = {}
    for key in keys:
        name = key.value_string
        if name is None or is_attribute(key.key_type, name):
            value = f"{key.value_number:.15g} {key.unit}" if key.unit and key.value_number is not None else key.value
            found.setdefault(key.key_type, []).append(value)
    if DATE in found:  # a day brings its month and its year as keys
        days = [str(day) for day in found[DATE]]
        found[DATE] = [day for day in days if not any(other != day and other.startswith(day) for other in days)]
    return dict(found)


def end_key(name: str) -> Key:
    """The key of a head or tail that is no key of its event: an entity, or a date."""
    key_type = DATE if is_attribute(ENTITY, name) else ENTITY
    return Key(make_id("k", key_type, normal_name(name)), key_type, value_string=name.strip())


def _parts(item: object) -> tuple[str, str, str]:
    """Head, relation and tail as written; empty strings for an item of another form."""
    if isinstance(item, Mapping):
        item = [item.get(part) for part in _PARTS]
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != len(_PARTS):
        return ("", "", "")
    head, relation, tail = (part.strip() if isinstance(part, str) else "" for part in item)
    return (head, relation, tail)


class TriplesOfEvent(AnswerShape):
    """The triples of the event with that number, each head, relation, tail."""

    event: int
    triples: list[list[str]]


class ExtractedTriples(AnswerShape):
    """The model's answer for one question."""

    events: list[TriplesOfEvent]


@dataclass(frozen=True, slots=True)
class TripleQuestion(StepQuestion):
    """The events of a chunk with their names, to ask about."""

    step = "triples"

    document_id: str
    source: str
    events: tuple[Event, ...]
    names: tuple[tuple[str, ...], ...]
    """Of each event."""
    language: str

    @property
    def size(self) -> int:
        """Tokens of the events and names."""
        return sum(map(estimate_tokens, self.lines()))

    @property
    def weight(self) -> float:
        """The share of the events of one question that the chunk has."""
        return len(self.events) / _MOST_EVENTS

    def lines(self) -> list[str]:
        """Each event with its names."""
        return [quoted(event.content, *names) for event, names in zip(self.events, self.names, strict=True)]

    def merge(self, parts: Sequence["TripleQuestion"]) -> Request[ExtractedTriples]:
        """One question about the events of all chunks, numbered from 1."""
        lines = [line for part in parts for line in part.lines()]
        numbered = "\n".join(f"{number} {line}" for number, line in enumerate(lines, 1))
        return self.asked(ExtractedTriples, parts, lines, events=numbered)

    def split(self, parts: Sequence["TripleQuestion"], answer: ExtractedTriples) -> list[ExtractedTriples | None]:
        """The triples of each chunk's events, numbered from 1; None for a chunk without any event in the answer."""
        found = answers_of_parts((len(part.events) for part in parts), answer.events)
        return [ExtractedTriples(events=own) if own else None for own in found]


def triple_questions(
    document: Document, events: Sequence[Event], keys: Sequence[EventKey], *, language: str = "auto"
) -> list[TripleQuestion]:
    """One question per chunk about the events of a document; events with fewer than two names are left out.

    Source: docs/algorithm.md §extraction.28.
    """
    spoken = prompt_language(document, language)
    names = names_by_event(keys)
    groups: dict[str, list[Event]] = {}
    for event in events:
        if len(names.get(event.event_id, ())) > 1:
            groups.setdefault(event.chunk_id, []).append(event)
    return [
        TripleQuestion(
            document.document_id,
            document.source,
            tuple(group),
            tuple(tuple(str(key.value_string) for key in names[event.event_id]) for event in group),
            spoken,
        )
        for group in groups.values()
    ]


def triples_from_reply(events: Sequence[Event], keys: Sequence[EventKey], answer: ExtractedTriples) -> list[Triple]:
    """The triples of a question's events (see `read_triples`); numbers without an event are dropped."""
    names = names_by_event(keys, with_title=True)
    return [
        triple
        for one in answer.events
        if 1 <= one.event <= len(events)
        for triple in read_triples(events[one.event - 1], names.get(events[one.event - 1].event_id, ()), one.triples)
    ]


def names_by_event(keys: Sequence[EventKey], *, with_title: bool = False) -> Mapping[str, list[Key]]:
    """The text keys of each event; the title's key only if asked for."""
    found: dict[str, list[Key]] = {}
    for link in keys:
        if link.key.value_string is not None and (with_title or link.key.key_type != TITLE):
            found.setdefault(link.event_id, []).append(link.key)
    return found
