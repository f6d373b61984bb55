"""Derive triples without a model: relations are read from the sentence, dates and amounts become properties."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sag_pipeline.extract.rules.keys import TOPIC
from sag_pipeline.extract.rules.sentence_relations import sentence_relations
from sag_pipeline.extract.triples import (
    ACTION_TYPES,
    SUBJECT_TYPES,
    Link,
    NameSpan,
    is_attribute,
    is_entity,
    make_triple,
    properties_of,
    relation_name,
)
from sag_retrieval.core.records import TITLE, Event, EventKey, Key, Triple
from sag_retrieval.language.dates import dates
from sag_retrieval.language.words import fold, is_cjk, normal_name


def derive_triples(
    document_id: str, events: Sequence[Event], keys: Sequence[EventKey], language: str = "en"
) -> list[Triple]:
    """Derive triples of one document from its events and keys.

    A relation is the event's action key, else what the sentence says between two of its names. Names that it links
    by no verb and no noun have no triple. Dates and amounts are properties of the triples.

    Source:
        docs/algorithm.md §think-on-graph.1

    """
    carried: dict[str, list[Key]] = {}
    for link in keys:
        if link.document_id == document_id:
            carried.setdefault(link.event_id, []).append(link.key)
    own = [event for event in events if event.document_id == document_id]
    topic = _topic(own, carried)
    return [triple for event in own for triple in _of_event(event, carried.get(event.event_id, ()), topic, language)]


def _topic(events: Sequence[Event], carried: dict[str, list[Key]]) -> str:
    """Id of the title's key where the document speaks of something by its title; a file's name is no topic."""
    title = next((key for keys in carried.values() for key in keys if key.key_type == TITLE), None)
    if title is None:
        return ""
    name = normal_name(_name(title).partition(" (")[0])
    is_said = (
        any(name in normal_name(event.content) for event in events)
        if is_cjk(name)
        else any(f" {name} " in f" {normal_name(event.content)} " for event in events)
    )
    return title.key_id if name and is_said else ""


def _of_event(event: Event, keys: Sequence[Key], topic: str, language: str) -> Iterable[Triple]:
    named = [key for key in keys if _is_end(key)]
    action = next((relation_name(_name(key)) for key in keys if key.key_type in ACTION_TYPES and _name(key)), "")
    if action and named:
        subject = _subject(event, named)
        links = [(subject, action, number) for number in range(len(named))]
    else:
        links = _read(event.content, named, topic, language)
    properties = properties_of(keys)
    made: dict[str, Triple] = {}
    for head, relation, tail in links:
        if not _are_one(named[head], named[tail]):
            ends = [(_name(named[number]), named[number].key_id) for number in (head, tail)]
            triple = make_triple(event, ends[0], relation_name(relation), ends[1], properties)
            made.setdefault(triple.triple_id, triple)
    return list(made.values())


def _read(content: str, named: Sequence[Key], topic: str, language: str) -> list[Link]:
    spans = places_of([_name(key) for key in named], content)
    about = next((number for number, key in enumerate(named) if key.key_id == topic), None)
    if len({number for _, _, number in spans} | ({about} - {None})) <= 1:
        return []  # a relation has two ends
    spans = sorted([*spans, *_outside(spans, [(date.start, date.end, -1) for date in dates(content, language)])])
    return sentence_relations(content, spans, about) if language == "en" or is_cjk(content) else []


def _outside(names: Sequence[NameSpan], spans: Iterable[NameSpan]) -> list[NameSpan]:
    starts = [start for start, _, _ in names]
    rows = ((bisect_left(starts, span[1]) - 1, span) for span in spans)
    return [span for row, span in rows if row < 0 or names[row][1] <= span[0]]


def places_of(names: Sequence[str], content: str) -> list[NameSpan]:
    """Where the names stand in a sentence, without overlaps: the first one counts, of two the longer."""
    text = content.lower()
    if len(text) != len(content):
        text = content
    found: list[NameSpan] = []
    for number, name in enumerate(names):
        wanted = name.lower()
        place = text.find(wanted)
        while wanted and place >= 0:
            end = place + len(wanted)
            if not (_joins(text, place) or _joins(text, end)):
                found.append((place, end, number))
            place = text.find(wanted, end)
    found.sort(key=lambda span: (span[0], -span[1], span[2]))
    kept: list[NameSpan] = []
    for span in found:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _joins(text: str, place: int) -> bool:
    """Whether a place lies inside a word written with spaces."""
    pair = text[max(0, place - 1) : place + 1]
    return 0 < place < len(text) and pair.isalnum() and not is_cjk(pair)


def _subject(event: Event, named: Sequence[Key]) -> int:
    """The key of a subject type that stands first in the event, else the title, else the first one."""
    text = fold(event.content)

    def rank(number: int) -> tuple[int, int, int]:
        key = named[number]
        place = text.find(fold(_name(key)))
        kind = 0 if key.key_type.casefold() in SUBJECT_TYPES else 1 if key.key_type == TITLE else 2
        return kind, place if place >= 0 else len(text), number

    return min(range(len(named)), key=rank)


def _are_one(one: Key, other: Key) -> bool:
    """Whether two names are one, or one begins with the other: Acme and Acme Inc."""
    names = normal_name(_name(one)), normal_name(_name(other))
    return names[0].startswith(names[1]) or names[1].startswith(names[0])


def _is_end(key: Key) -> bool:
    name = key.value_string
    if name is None or key.key_type in ACTION_TYPES or key.key_type == TOPIC:
        return False
    return is_entity(name) and not is_attribute(key.key_type, name)


def _name(key: Key) -> str:
    return key.value_string or ""
