"""Join the keys that a model names with those that rules find surely: dates, amounts, typed names, missing types."""

from collections import defaultdict
from collections.abc import Sequence

from sag_pipeline.extract.keys import make_key
from sag_pipeline.extract.model_keys import (
    ExtractedKey,
    ExtractedKeys,
    KeyOptions,
    KeysOfEvent,
    ReadKeys,
    keys_from_reply,
)
from sag_pipeline.extract.support import may_be_name
from sag_pipeline.extract.triples import ENTITY
from sag_retrieval.core.key_schema import KeyTypes
from sag_retrieval.core.records import Document, Event, EventKey
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.words import fold, is_cjk, normal_name

_UNTYPED = frozenset({"", ENTITY, "none", "other", "unknown"})
"""What models write for a type that they do not know, whatever the schema."""


def joined_keys(
    document: Document, events: Sequence[Event], answer: ExtractedKeys, options: KeyOptions | None = None
) -> ReadKeys:
    """The keys of a question's events by a model and by rules, event by event; of two with one id the model's counts.

    A key whose type is none of the schema's has the type that the rules give that name in the event. One that the
    model left untyped is a date where it reads as one, else an `entity` where it is written as a name: an ordinary
    word without a type is refused, as it ties what has nothing in common. Typed names, dates and amounts that the
    rules find join what the model says, because a phrase of a model may hide the name within; a name that the model
    calls another name of a key (`same_as`) is that key.

    Source: docs/algorithm.md §extraction.28.
    """
    from sag_pipeline.extract.rules.keys import FORECAST, offline_keys  # noqa: PLC0415  it loads the dictionaries of all rules

    options = options or KeyOptions()
    types = options.schema.of_source(document.source)
    ruled = defaultdict[str, list[EventKey]](list)
    for link in offline_keys(document, events, types, options.recogniser):
        ruled[link.event_id].append(link)
    further = list[EventKey]()
    said = list[KeysOfEvent]()
    otherwise = set[tuple[str, str]]()
    for one in answer.events:
        if not 1 <= one.event <= len(events):
            continue
        event = events[one.event - 1]
        known = {normal_name(link.key.value_string or ""): link.key.key_type for link in ruled[event.event_id]}
        otherwise |= {(event.event_id, normal_name(name)) for key in one.keys for name in key.same_as}
        typed = [_typed(key, known, types, event.content, document.language) for key in one.keys]
        is_open = [key.type == ENTITY and ENTITY not in types for key in typed]
        entities = [make_key(ENTITY, str(key.value)) for key, is_name in zip(typed, is_open, strict=True) if is_name]
        further += [EventKey(document.document_id, event.event_id, key) for key in entities if key]
        named = [key for key, is_name in zip(typed, is_open, strict=True) if not is_name]
        said.append(KeysOfEvent(event=one.event, keys=named))
    found, refused = keys_from_reply(document, events, ExtractedKeys(events=said), options)
    for event_id, links in ruled.items():
        further += [
            EventKey(link.document_id, link.event_id, link.key)
            for link in links
            if (link.key.key_type in types or link.key.key_type == FORECAST)
            and (event_id, normal_name(link.key.value_string or "")) not in otherwise
        ]
    return ReadKeys(_by_event(events, [*found, *further]), refused)


def _typed(key: ExtractedKey, known: dict[str, str], types: KeyTypes, text: str, language: str) -> ExtractedKey:
    """The key with a type of the schema where the rules or its value tell one, else as it is or an `entity`."""
    if types.named(key.type) is not None or not isinstance(key.value, str):
        return key
    ruled = known.get(normal_name(key.value))
    if ruled is not None and ruled in types:
        return key.model_copy(update={"type": ruled})
    if fold(key.type) not in _UNTYPED:
        return key
    value = key.value.strip()
    if DATE in types and any(one.end - one.start == len(value) for one in dates(value, language)):
        return key.model_copy(update={"type": DATE})
    is_name = may_be_name(value, text) if is_cjk(value) else value != value.lower()
    return key.model_copy(update={"type": ENTITY if is_name else "none"})


def _by_event(events: Sequence[Event], links: Sequence[EventKey]) -> list[EventKey]:
    """Each key of an event once, the first of equal ones, in the order of the events."""
    once = dict[tuple[str, str], EventKey]()
    for link in links:
        once.setdefault((link.event_id, link.key.key_id), link)
    place = {event.event_id: row for row, event in enumerate(events)}
    return sorted(once.values(), key=lambda link: place[link.event_id])
