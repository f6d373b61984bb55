"""Extract keys with a language model: one question about the events of a chunk, with known keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, NamedTuple

from pydantic import Field, WithJsonSchema, create_model

from sag_pipeline.extract.keys import title_key
from sag_pipeline.extract.shown_keys import NO_KNOWN, KnownKeys, known_lines
from sag_pipeline.extract.summaries import prompt_language
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions(CheckedOptions):
    """How keys are found, and how a language model is asked for them."""

    schema: Annotated[KeySchema, Internal()] = field(default_factory=default_schema)
    """Types of keys that the model chooses from, by source."""
    recogniser: str = "rules"
    """What finds names where no model is asked: `rules`, or the name of one that another package adds."""
    one_event_per_question: bool = False
    """Ask about one event per question instead of the events of a chunk: more expensive and seldom better."""
    most_events: Annotated[int, Bounds(1), Internal()] = 20
    """Events that one question is about: of more, models leave keys out."""
    most_known: Annotated[int, Bounds(0), Internal()] = 40
    """Known keys shown in one question, so that one entity keeps one name."""
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


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events to ask about (a `Part`): several groups can share one question."""

    document_id: str
    source: str
    events: tuple[Event, ...]
    known: tuple[KnownKeys, ...]
    language: str
    options: KeyOptions
    types: KeyTypes

    @property
    def kind(self) -> str:
        """Groups of one kind share a prompt: one kind per language and list of types."""
        return f"keys {self.language} {self.types.digest}"

    @property
    def size(self) -> int:
        """Tokens of the events."""
        return sum(estimate_tokens(event.content) for event in self.events)

    @property
    def weight(self) -> float:
        """The share of the events of one question that the group has."""
        return len(self.events) / self.options.most_events

    def merge(self, parts: Sequence["EventGroup"]) -> Request[ExtractedKeys]:
        """One question about the events of all groups, numbered consecutively, with all their known keys."""
        prompt = load_prompt("keys", self.language, "sag_pipeline.llm.prompts")
        contents = [event.content for part in parts for event in part.events]
        lines = [f"{number} {quoted(content)}" for number, content in enumerate(contents, 1)]
        known = known_lines(
            [one for part in parts for one in part.known],
            self.types,
            prompt.language,
            most=self.options.most_known,
            tokens=self.options.known_tokens,
        )
        text = prompt.fill(types=self.types.line(self.language) or "—", known=known or "—", events="\n".join(lines))
        return Request(
            text,
            answer_of(self.types.enum(self.language)),
            "keys",
            prompt.system,
            self.document_id if len({part.document_id for part in parts}) == 1 else "",
            identity="\x1f".join((prompt.version, self.types.digest, *contents)),
            part=self if len(parts) == 1 and not self.options.one_event_per_question else None,
        )

    def split(self, parts: Sequence["EventGroup"], answer: ExtractedKeys) -> list[ExtractedKeys | None]:
        """The keys of each group's events, numbered from 1; None for a group without any event in the answer."""
        found = answers_of_parts((len(part.events) for part in parts), answer.events)
        return [ExtractedKeys(events=own) if own else None for own in found]


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """A question about a group of events, which it numbers from 1."""

    group: EventGroup

    @property
    def events(self) -> tuple[Event, ...]:
        """The events."""
        return self.group.events

    @property
    def request(self) -> Request[ExtractedKeys]:
        """The question as a request, alone."""
        return self.group.merge([self.group])

    @property
    def shares(self) -> tuple[str, str]:
        """Questions with equal ones can share a call: asked one after another, they leave fewer calls part empty."""
        return self.group.source, self.group.kind

    def shown(self, known: Sequence[KnownKeys]) -> "KeyQuestion":
        """The same question with known keys for each event."""
        return KeyQuestion(replace(self.group, known=tuple(known)))


def key_questions(
    document: Document,
    events: Sequence[Event],
    *,
    options: KeyOptions | None = None,
    language: str = "auto",
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
        KeyQuestion(EventGroup(*whose, group, (NO_KNOWN,) * len(group), spoken, options, types))
        for group in _groups(events, 1 if options.one_event_per_question else options.most_events)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions(CheckedOptions):
    """How many known keys are found for an event, and how many events are asked about before theirs are known."""

    direct_keys: Annotated[int, Bounds(0), Internal()] = 10
    """Known keys with the nearest vectors that are found for an event."""
    named_keys: Annotated[int, Bounds(0), Internal()] = 8
    """Known keys that are found for an event by its words and initials."""
    similar_events: Annotated[int, Bounds(0), Internal()] = 3
    """Nearest events whose keys are found for an event."""
    title: Annotated[bool, Internal()] = True
    """Whether the title of a document is shown where an event seems to spell it otherwise."""
    stored_types: Annotated[bool, Internal()] = True
    """Whether the model may also choose types that keys of the current release have and the default schema lacks: of
    supplied events, of an earlier schema. A schema of the home's own is the whole list."""
    least_similarity: Annotated[float, Bounds(0, 1), Internal()] = 0.5
    """Least cosine of a known key or event: a model tends to choose a shown name, even a dissimilar one."""
    first_wave: Annotated[int, Bounds(0), Internal()] = 0
    """Events of the first wave; 0: as many as calls run at once. Each further wave has as many as are known already."""
    longest_wave: Annotated[int, Bounds(1), Internal()] = 1_000
    """Most events of a wave: all are asked about before the keys of any of them are known."""

    def waves(self, sizes: Sequence[int], known: int, concurrency: int) -> Iterator[slice]:
        """Questions with these numbers of events, cut into waves: a wave has at least as many events as are known.

        Args:
            sizes: Events of each question.
            known: Events that are known before.
            concurrency: Calls that run at once.

        Examples:
            >>> [part.stop - part.start for part in KnownOptions().waves([1] * 40, 0, 4)]
            [4, 4, 8, 16, 8]
        """
        start = 0
        while start < len(sizes):
            wanted, end = min(max(known, self.first_wave or concurrency), self.longest_wave), start
            while end < len(sizes) and wanted > 0:
                wanted -= sizes[end]
                known += sizes[end]
                end += 1
            yield slice(start, end)
            start = end
