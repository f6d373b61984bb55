"""Extract keys with a language model: one question about the events of a chunk, with known keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Annotated, NamedTuple

from pydantic import Field, WithJsonSchema, create_model

from sag_pipeline.extract.keys import title_key
from sag_pipeline.extract.name_matching import EXACT_TYPES
from sag_pipeline.extract.step_questions import PROMPTS, StepQuestion, prompt_language
from sag_pipeline.extract.typed_values import ValueRefused, typed_keys
from sag_retrieval.core.key_schema import KeySchema, KeyTypes, unknown_type
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.records import Document, Event, EventKey, Key
from sag_retrieval.core.schema_file import default_schema
from sag_retrieval.models.cached_chat import answers_of_parts
from sag_retrieval.models.protocols import AnswerShape, Request, estimate_tokens
from sag_retrieval.prompts import load_prompt, quoted

MOST_KEYS = 16
"""Most keys of one event; further ones are dropped as noise."""
_MOST_EVENTS = 20
"""Events that one question is about: of more, models leave keys out."""
_MOST_KNOWN = 40
"""Known keys shown in one question, so that one entity keeps one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions(CheckedOptions):
    """How keys are found, and how a language model is asked for them."""

    schema: Annotated[KeySchema, Internal()] = field(default_factory=default_schema)
    """Types of keys that the model chooses from, by source."""
    recogniser: str = "rules"
    """What finds names where no model is asked: `rules`, or the name of one that another package adds."""
    one_event_per_question: bool = False
    """Ask about one event per question instead of the events of a chunk: more expensive and seldom better."""
    known_tokens: Annotated[int, Bounds(0)] = 75
    """Tokens of the known keys in one question; what was found best is shown first."""


class ExtractedKey(AnswerShape):
    """One key of an event."""

    type: str
    value: Annotated[str | float | bool, WithJsonSchema({"type": "string"})]
    same_as: list[str] = Field(default_factory=list)


class KeysOfEvent(AnswerShape):
    """The keys of the event with that number."""

    event: int
    keys: list[ExtractedKey]


class ExtractedKeys(AnswerShape):
    """The model's answer for one question."""

    events: list[KeysOfEvent]


@lru_cache(maxsize=64)
def answer_of(names: tuple[str, ...]) -> type[ExtractedKeys]:
    """The answer in which a type is one of these names; what a model answers otherwise is refused key by key."""
    one_of = {"type": "string", "enum": list(names)}
    key = create_model(
        "ExtractedKey",
        __base__=ExtractedKey,
        __doc__=ExtractedKey.__doc__,
        type=(Annotated[str, WithJsonSchema(one_of)], ...),
    )
    event = create_model("KeysOfEvent", __base__=KeysOfEvent, __doc__=KeysOfEvent.__doc__, keys=(list[key], ...))
    return create_model(
        "ExtractedKeys", __base__=ExtractedKeys, __doc__=ExtractedKeys.__doc__, events=(list[event], ...)
    )


class ReadKeys(NamedTuple):
    """The keys of a question's events, and why others were refused."""

    keys: list[EventKey]
    refused: list[str]


class KnownKey(NamedTuple):
    """A key as shown to the model."""

    key_type: str
    value: str


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """Known keys for one event: those that it seems to spell otherwise, those near it, and the rest."""

    otherwise: tuple[KnownKey, ...] = ()
    direct: tuple[KnownKey, ...] = ()
    from_events: tuple[KnownKey, ...] = ()

    def every(self) -> tuple[KnownKey, ...]:
        """All of them, the best first."""
        return (*self.otherwise, *self.direct, *self.from_events)


@dataclass(frozen=True, slots=True)
class KeyQuestion(StepQuestion):
    """Events of a chunk to ask about, each with the keys that are known about it."""

    step = "keys"

    document_id: str
    source: str
    events: tuple[Event, ...]
    known: tuple[KnownKeys, ...]
    language: str
    options: KeyOptions
    types: KeyTypes

    @property
    def kind(self) -> str:
        """Questions in one language about one list of types share a prompt."""
        return f"keys {self.language} {self.types.digest}"

    @property
    def size(self) -> int:
        """Tokens of the events."""
        return sum(estimate_tokens(event.content) for event in self.events)

    @property
    def weight(self) -> float:
        """The share of the events of one question that it has."""
        return len(self.events) / _MOST_EVENTS

    @property
    def shares(self) -> tuple[str, str]:
        """Questions with equal ones can share a call: asked one after another, they leave fewer calls part empty."""
        return self.source, self.kind

    def merge(self, parts: Sequence["KeyQuestion"]) -> Request[ExtractedKeys]:
        """One question about the events of all, numbered consecutively, with all their known keys."""
        contents = [event.content for part in parts for event in part.events]
        known = _known_lines([one for part in parts for one in part.known], self)
        request = self.asked(
            answer_of(self.types.enum(self.language)),
            parts,
            (self.types.digest, *contents),
            types=self.types.line(self.language) or "—",
            known=known or "—",
            events="\n".join(f"{number} {quoted(content)}" for number, content in enumerate(contents, 1)),
        )
        return replace(request, part=None) if self.options.one_event_per_question else request

    def split(self, parts: Sequence["KeyQuestion"], answer: ExtractedKeys) -> list[ExtractedKeys | None]:
        """The keys of each one's events, numbered from 1; None for one without any event in the answer."""
        found = answers_of_parts((len(part.events) for part in parts), answer.events)
        return [ExtractedKeys(events=own) if own else None for own in found]


def _known_lines(known: Sequence[KnownKeys], question: KeyQuestion) -> str:
    """Known keys of several events, the best of each event first, within the bounds; one line per type.

    Dates, times and numbers are left out: they have one spelling, which the prompt gives.
    """
    language = load_prompt("keys", question.language, PROMPTS).language
    tiers = [one.otherwise for one in known], [one.direct for one in known], [one.from_events for one in known]
    ranked = dict.fromkeys(
        key for tier in tiers for row in zip_longest(*tier) for key in row if key and key.key_type not in EXACT_TYPES
    )
    by_type: dict[str, list[str]] = {}
    left = question.options.known_tokens
    for key in list(ranked)[:_MOST_KNOWN]:
        left -= estimate_tokens(f'"{key.value}" ')
        if left < 0:
            break
        known_type = question.types.named(key.key_type)
        by_type.setdefault(known_type.called(language) if known_type else quoted(key.key_type), []).append(key.value)
    return "\n".join(f"{name}: {quoted(*values)}" for name, values in sorted(by_type.items()))


def key_questions(
    document: Document, events: Sequence[Event], *, options: KeyOptions | None = None, language: str = "auto"
) -> list[KeyQuestion]:
    """The questions about the events of a document, in order: one per chunk, or one per event.

    Questions can share a call (`Request.part`). They show events alone, which are clear by themselves; a new title,
    summary or known key asks nothing again.

    Source: docs/algorithm.md §extraction.28.
    """
    options = options or KeyOptions()
    spoken = prompt_language(document, language)
    types = options.schema.of_source(document.source)
    whose = document.document_id, document.source
    return [
        KeyQuestion(*whose, group, (KnownKeys(),) * len(group), spoken, options, types)
        for group in _groups(events, 1 if options.one_event_per_question else _MOST_EVENTS)
    ]


def keys_from_reply(
    document: Document, events: Sequence[Event], answer: ExtractedKeys, options: KeyOptions | None = None
) -> ReadKeys:
    """The keys of a question's events, event by event: the title's key first, each key once.

    Another name of a key is also a key of the event; its `same_as` is the id of the key it names. Numbers without an
    event are dropped. A key whose type is none of the schema's, or whose value is none of its type, is refused.
    """
    types = (options or KeyOptions()).schema.of_source(document.source)
    said: dict[int, list[ExtractedKey]] = {}
    for one in answer.events:
        said.setdefault(one.event, []).extend(one.keys)
    found, refused = list[EventKey](), list[str]()
    title = title_key(document)
    for number, event in enumerate(events, 1):
        made = {title.key_id: EventKey(document.document_id, event.event_id, title)} if title else {}
        for raw in said.get(number, ())[:MOST_KEYS]:
            try:
                for key, same_as in _keys(raw, types, document.language):
                    made.setdefault(key.key_id, EventKey(document.document_id, event.event_id, key, same_as))
            except ValueRefused as error:
                refused.append(str(error))
        found.extend(made.values())
    return ReadKeys(found, refused)


def _keys(raw: ExtractedKey, types: KeyTypes, language: str) -> Iterator[tuple[Key, str | None]]:
    key_type = types.named(raw.type)
    if key_type is None:
        raise ValueRefused(unknown_type(raw.type, types))
    keys = typed_keys(key_type, raw.value, language)
    yield from ((key, None) for key in keys)
    if len(keys) == 1 and keys[0].value_string is not None and not key_type.values:
        for alias in raw.same_as:
            yield from (
                (key, keys[0].key_id)
                for key in typed_keys(key_type, alias, language)
                if key.key_id != keys[0].key_id and key.value_string is not None
            )


def _groups(events: Sequence[Event], most: int) -> list[tuple[Event, ...]]:
    """The events of each chunk, at most this many together."""
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(event.chunk_id, []).append(event)
    return [tuple(own[start : start + most]) for own in groups.values() for start in range(0, len(own), most)]
