"""Keys by a language model: all events of a chunk in one question, with the keys that are known already."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from sag_pipeline.steps.extract_keys import NO_KNOWN, KnownKey, KnownKeys
from sag_pipeline.steps.keys import title_key
from sag_pipeline.steps.summaries import heading_of, prompt_language
from sag_pipeline.steps.typed_values import DEFAULT_TYPES, key_type_of, typed_keys
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import Bounds, check_options
from sag_retrieval.core.records import Document, Event, EventKey, Key
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt

MOST_KEYS = 16
"""Of one event; what a model lists beyond is noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyOptions:
    """How keys are asked for."""

    types: tuple[str, ...] = DEFAULT_TYPES
    """What a key's type may be."""
    is_asked_by_event: bool = False
    """One question an event, as in the seed, instead of one a chunk: dearer, seldom better."""
    most_known: Annotated[int, Bounds(0)] = 40
    """Known keys in one question."""

    def __post_init__(self) -> None:
        """Refuse a list of types that leaves nothing to choose."""
        check_options(self)
        if not self.types:
            raise SettingsError("key types are empty; name at least one, such as topic")


class ExtractedKey(BaseModel):
    """One key of an event."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: str
    value: Annotated[str | float | bool, WithJsonSchema({"type": "string"})]
    same_as: list[str] = Field(default_factory=list)


class KeysOfEvent(BaseModel):
    """The keys of the event with that number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event: int
    keys: list[ExtractedKey]


class ExtractedKeys(BaseModel):
    """The model's answer for one question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: list[KeysOfEvent]


@dataclass(frozen=True, slots=True)
class EventGroup:
    """Events to ask the keys of (a `Part`): several groups share one question."""

    document_id: str
    heading: str
    events: tuple[Event, ...]
    known: tuple[KnownKeys, ...]
    language: str
    options: KeyOptions

    @property
    def kind(self) -> str:
        """Prompts differ by language and types."""
        return f"keys {self.language} {self.options.types}"

    @property
    def size(self) -> int:
        """Characters of the events."""
        return sum(len(event.content) for event in self.events)

    @property
    def title(self) -> str:
        """The first line of the heading."""
        return self.heading.split("\n", 1)[0]

    def merge(self, parts: Sequence["EventGroup"]) -> Request[ExtractedKeys]:
        """One question about the events of all groups, numbered through, with all their known keys."""
        prompt = load_prompt("keys", self.language, "sag_pipeline.llm.prompts")
        lines: list[str] = []
        number = 0
        for place, part in enumerate(parts):
            if part.heading and (place == 0 or part.heading != parts[place - 1].heading):
                lines.append(part.heading)
            for event in part.events:
                number += 1
                lines.append(f"{number}. {event.content}")
        known = [one for part in parts for one in part.known]
        text = prompt.fill(
            types=", ".join(self.options.types),
            known=_known_lines(known, self.options.most_known) or "—",
            events="\n".join(lines),
        )
        contents = [f"{part.title}\x1f{event.content}" for part in parts for event in part.events]
        return Request(
            text,
            ExtractedKeys,
            "keys",
            prompt.system,
            self.document_id if len({part.document_id for part in parts}) == 1 else "",
            identity="\x1f".join((prompt.version, *self.options.types, *contents)),
            part=self if len(parts) == 1 and not self.options.is_asked_by_event else None,
        )

    def split(self, parts: Sequence["EventGroup"], answer: ExtractedKeys) -> list[ExtractedKeys | None]:
        """The keys of each group's events, numbered from 1; None for a group of which the answer names no event."""
        found: list[ExtractedKeys | None] = []
        first = 1
        for part in parts:
            last = first + len(part.events)
            own = [
                KeysOfEvent(event=one.event - first + 1, keys=one.keys)
                for one in answer.events
                if first <= one.event < last
            ]
            found.append(ExtractedKeys(events=own) if own else None)
            first = last
        return found


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """A question, and the events that its numbers stand for, from 1."""

    request: Request[ExtractedKeys]
    events: tuple[Event, ...]


def key_questions(
    document: Document,
    events: Sequence[Event],
    summary: str,
    *,
    known: Sequence[KnownKeys] | None = None,
    options: KeyOptions | None = None,
    language: str = "auto",
) -> list[KeyQuestion]:
    """What to ask for the events of a document, in their order: one question a chunk, or one an event.

    Questions may be asked together (`Request.part`). Summary and known keys help and do not count: when they
    change, nothing is asked again.

    Args:
        document: Whose events they are.
        events: Its events, those of a chunk together.
        summary: Its summary.
        known: What is known about each event, or None: nothing is.
        options: Key types and the like.
        language: `zh`, `en`, or `auto`: the document's.

    Source:
        docs/algorithm.md §extraction.28.

    """
    options = options or KeyOptions()
    spoken = prompt_language(document, language)
    heading = heading_of(document, summary)
    known = known or [NO_KNOWN] * len(events)
    questions = []
    for group in _groups(events, by_event=options.is_asked_by_event):
        asked = tuple(events[row] for row in group)
        part = EventGroup(document.document_id, heading, asked, tuple(known[row] for row in group), spoken, options)
        questions.append(KeyQuestion(part.merge([part]), asked))
    return questions


def keys_from_reply(
    document: Document, events: Sequence[Event], answer: ExtractedKeys, options: KeyOptions | None = None
) -> list[EventKey]:
    """The keys of a question's events, by event: the title's first, each once.

    Another name of a key is a key of the event too, and says by `same_as` of which. Numbers that stand for
    no event are dropped.
    """
    options = options or KeyOptions()
    said: dict[int, list[ExtractedKey]] = {}
    for one in answer.events:
        said.setdefault(one.event, []).extend(one.keys)
    found: list[EventKey] = []
    title = title_key(document)
    for number, event in enumerate(events, 1):
        made = {title.key_id: EventKey(document.document_id, event.event_id, title)} if title else {}
        for raw in said.get(number, ())[:MOST_KEYS]:
            for key, same_as in _keys(raw, options.types):
                made.setdefault(key.key_id, EventKey(document.document_id, event.event_id, key, same_as))
        found.extend(made.values())
    return found


def _keys(raw: ExtractedKey, types: tuple[str, ...]) -> Iterator[tuple[Key, str | None]]:
    key_type = key_type_of(raw.type, types)
    keys = list(typed_keys(key_type, raw.value))
    yield from ((key, None) for key in keys)
    if len(keys) == 1 and keys[0].value_string is not None:
        for alias in raw.same_as:
            yield from (
                (key, keys[0].key_id)
                for key in typed_keys(key_type, alias)
                if key.key_id != keys[0].key_id and key.value_string is not None
            )


def _groups(events: Sequence[Event], *, by_event: bool) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for row, event in enumerate(events):
        groups.setdefault(event.event_id if by_event else event.chunk_id, []).append(row)
    return list(groups.values())


def _known_lines(known: Sequence[KnownKeys], most: int) -> str:
    """Known keys of several events, the nearest of each first, one line a type."""
    ranked: dict[KnownKey, None] = {}
    for tier in ([one.direct for one in known], [one.from_events for one in known]):
        for place in range(max(map(len, tier), default=0)):
            ranked.update({keys[place]: None for keys in tier if place < len(keys)})
    by_type: dict[str, list[str]] = {}
    for key in list(ranked)[:most]:
        by_type.setdefault(key.key_type, []).append(key.value)
    return "\n".join(f"{key_type}: {' | '.join(values)}" for key_type, values in sorted(by_type.items()))
