"""Events of a document: those supplied with it, assigned to its chunks, or extracted by a language model."""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log
from typing import Any

from sag_pipeline.extract.keys import make_key, title_key
from sag_pipeline.extract.places import first_places
from sag_pipeline.extract.step_questions import StepQuestion, heading_of, prompt_language
from sag_pipeline.extract.triples import read_triples
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Extraction, Key, make_id
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.models.protocols import AnswerShape, Request, estimate_tokens
from sag_retrieval.prompts import quoted

LONGEST_EVENT = 1_000
_BULLET = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、）])\s+")
_UNTYPED = "entity"
_MOST_ROWS = 10_000
"""Most pairs of a word and a chunk compared for one event: its rarest words are used, as common ones place nothing."""


def make_event(
    document: Document, chunk: Chunk, index: int, content: str, times: int = 0, span: tuple[int, int] | None = None
) -> Event:
    """An event of a chunk; `times` is how often its content came before there, `span` where it stands."""
    return Event(
        event_id=make_id("e", chunk.chunk_id, content, times),
        document_id=document.document_id,
        chunk_id=chunk.chunk_id,
        event_index=index,
        content=content,
        title=document.title,
        start=span[0] if span else None,
        end=span[1] if span else None,
    )


_Given = tuple[Mapping[str, Any], str, tuple[int, int] | None]
"""A supplied event, its content on one line, and where that stands."""


def given_events(document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
    """The supplied events, keys and triples of `document.extraction`, one extraction per chunk, which may be empty.

    An event belongs to the chunk that contains its content word for word, else to the chunk that shares most of its
    words, with rare words weighing more; without a shared word, to the first chunk. Keys without a usable value and
    triples that are not three texts are left out. The first key of every event is the title's key.

    Source: docs/algorithm.md §extraction.4.
    """
    raw_events = json.loads(document.extraction) if document.extraction else []
    if not chunks:
        return []
    contents = [" ".join(str(raw["content"]).split()) for raw in raw_events]
    places = _Places(document, chunks, contents)
    gathered: dict[int, list[_Given]] = defaultdict(list)
    for raw, content in zip(raw_events, contents, strict=True):
        if content:
            row, span = places.of(content)
            gathered[row].append((raw, content, span))
    return [_extraction(document, chunk, gathered[row]) for row, chunk in enumerate(chunks)]


class _Places:
    """Finds the chunk that contains a statement or shares most of its words."""

    def __init__(self, document: Document, chunks: Sequence[Chunk], contents: Sequence[str]) -> None:
        self._starts_of = first_places(contents, document.text)
        self._chunks = chunks
        self._starts = [chunk.start for chunk in chunks]
        self._rows_of: dict[str, set[int]] = defaultdict(set)
        for row, chunk in enumerate(chunks):
            for term in tokens(chunk.indexed_text):
                self._rows_of[term].add(row)

    def of(self, content: str) -> tuple[int, tuple[int, int] | None]:
        """Row of the chunk, and the span in the document if the content occurs there word for word."""
        start = self._starts_of.get(content, -1)
        row = bisect_right(self._starts, start) - 1
        if start >= 0 and row >= 0 and start + len(content) <= self._chunks[row].end:
            return row, (start, start + len(content))
        weight: defaultdict[int, float] = defaultdict(float)
        for term in self._rarest(content):
            rows = self._rows_of[term]
            for own in rows:
                weight[own] += log(1 + len(self._chunks) / len(rows))
        return min(weight, key=lambda own: (-weight[own], own), default=0), None

    def _rarest(self, content: str) -> list[str]:
        """The rarest terms of a statement, as many as have `_MOST_ROWS` occurrences in chunks together."""
        terms = sorted(set(tokens(content)) & self._rows_of.keys(), key=lambda term: (len(self._rows_of[term]), term))
        counts = accumulate(len(self._rows_of[term]) for term in terms)
        kept = [term for term, count in zip(terms, counts, strict=True) if count <= _MOST_ROWS]
        return sorted(kept or terms[:1])


def _extraction(document: Document, chunk: Chunk, given: Sequence[_Given]) -> Extraction:
    events: list[Event] = []
    keys: list[EventKey] = []
    triples = []
    seen: Counter[str] = Counter()
    for raw, content, span in given:
        event = make_event(document, chunk, len(events), content, seen[content], span)
        seen[content] += 1
        named = list(_keys(document, raw.get("keys") or ()))
        own = [key for key, same_as in named if same_as is None]
        events.append(event)
        keys.extend(EventKey(document.document_id, event.event_id, key, same_as) for key, same_as in named)
        triples.extend(read_triples(event, own, raw.get("triples") or ()))
    return Extraction(tuple(events), tuple(keys), tuple(triples))


def _keys(document: Document, raws: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Key, str | None]]:
    """Each key once, and behind them their other names (`same_as`) with the id of the key that each names."""
    title, made = title_key(document), dict[str, Key]()
    others = dict[str, tuple[Key, str]]()
    for raw in raws:
        if not (isinstance(raw, Mapping) and isinstance(raw.get("value"), str | int | float)):
            continue
        kind, unit = str(raw.get("type") or _UNTYPED), raw.get("unit")
        key = make_key(kind, raw["value"], unit if isinstance(unit, str) else None)
        if key:
            made.setdefault(key.key_id, key)
            names = names if isinstance(names := raw.get("same_as"), list) else []
            also = (make_key(kind, name) for name in names if isinstance(name, str))
            others |= {other.key_id: (other, key.key_id) for other in also if other}
    own = ({title.key_id: title} if title else {}) | made
    yield from ((key, None) for key in own.values())
    yield from (other for other_id, other in others.items() if other_id not in own)


class EventsOfPassage(AnswerShape):
    """The events of the passage with that number."""

    passage: int
    events: list[str]


class ExtractedEvents(AnswerShape):
    """The model's answer for the passages of one question, numbered from 1."""

    passages: list[EventsOfPassage]


@dataclass(frozen=True, slots=True)
class EventPrompt(StepQuestion):
    """A passage to ask about."""

    step = "events"

    document_id: str
    source: str
    title: str
    heading: str
    text: str
    language: str

    @property
    def size(self) -> int:
        """Tokens of the passage."""
        return estimate_tokens(self.text)

    def merge(self, parts: Sequence["EventPrompt"]) -> Request[ExtractedEvents]:
        """One question about all passages; consecutive passages of one heading share it."""
        lines: list[str] = []
        for number, part in enumerate(parts, 1):
            if part.heading and (number == 1 or part.heading != parts[number - 2].heading):
                lines.append(part.heading)
            lines.append(f"{number} {quoted(part.text)}")
        said = (text for part in parts for text in (part.title, part.text))
        return self.asked(ExtractedEvents, parts, said, passages="\n".join(lines))

    def split(self, parts: Sequence["EventPrompt"], answer: ExtractedEvents) -> list[ExtractedEvents | None]:
        """The events of each passage; None for a passage that the answer does not name."""
        by_number: dict[int, list[str]] = {}
        for one in answer.passages:
            by_number.setdefault(one.passage, []).extend(one.events)
        return [
            ExtractedEvents(passages=[EventsOfPassage(passage=1, events=by_number[number])])
            if number in by_number
            else None
            for number in range(1, len(parts) + 1)
        ]


def event_requests(
    document: Document, chunks: Sequence[Chunk], summary: str, *, language: str = "auto"
) -> list[Request[ExtractedEvents]]:
    """One request per chunk, in order; pass only `readable` chunks.

    Requests can be asked together (`Request.part`). The summary is not part of a request's identity: a new summary
    asks nothing again. A document of one chunk is asked about without summary.

    Source: docs/algorithm.md §extraction.28.
    """
    heading = heading_of(document, summary if len(chunks) > 1 else "")
    spoken = prompt_language(document, language)
    whose = document.document_id, document.source, document.title
    return [EventPrompt(*whose, heading, chunk.text, spoken).request for chunk in chunks]


def readable(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks with at least one letter or digit."""
    return [chunk for chunk in chunks if any(character.isalnum() for character in chunk.text)]


def events_from_reply(document: Document, chunk: Chunk, answer: ExtractedEvents) -> list[Event]:
    """The events of a chunk, in the order of the answer; empty and repeated ones are left out.

    An event that occurs in the chunk word for word has its span.
    """
    events: list[Event] = []
    seen = {""}
    for raw in (event for one in answer.passages for event in one.events):
        content = _BULLET.sub("", " ".join(raw.split()))[:LONGEST_EVENT]
        name = normal_name(content)
        if name not in seen:
            seen.add(name)
            start = chunk.start + chunk.text.find(content)
            span = (start, start + len(content)) if content in chunk.text else None
            events.append(make_event(document, chunk, len(events), content, span=span))
    return events
