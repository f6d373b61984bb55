"""Events by a language model: one question a chunk, with the document's summary."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from sag_pipeline.steps.summaries import heading_of, prompt_language
from sag_retrieval.core.records import Chunk, Document, Event, make_id
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt
from sag_retrieval.text.words import normal_name

LONGEST_EVENT = 1_000
_BULLET = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、）])\s+")


class EventsOfPassage(BaseModel):
    """The events of the passage with that number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    passage: int
    events: list[str]


class ExtractedEvents(BaseModel):
    """The model's answer for the passages of one question, numbered from 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    passages: list[EventsOfPassage]


@dataclass(frozen=True, slots=True)
class EventPrompt:
    """A passage to ask about (a `Part`): several share one question."""

    document_id: str
    heading: str
    text: str
    language: str

    @property
    def kind(self) -> str:
        """Prompts differ by language."""
        return f"events {self.language}"

    @property
    def size(self) -> int:
        """Characters of the passage."""
        return len(self.text)

    def merge(self, parts: Sequence["EventPrompt"]) -> Request[ExtractedEvents]:
        """One question about all passages; a heading is written once for passages in a row."""
        prompt = load_prompt("events", self.language, "sag_pipeline.llm.prompts")
        mark = "段落" if prompt.language == "zh" else "passage"
        lines: list[str] = []
        for number, part in enumerate(parts, 1):
            if part.heading and (number == 1 or part.heading != parts[number - 2].heading):
                lines.append(part.heading)
            lines.append(f"[{mark} {number}]\n{part.text}")
        owners = {part.document_id for part in parts}
        identity = "\x1f".join([prompt.version, *(f"{part.title}\x1f{part.text}" for part in parts)])
        return Request(
            prompt.fill(passages="\n\n".join(lines)),
            ExtractedEvents,
            "events",
            prompt.system,
            self.document_id if len(owners) == 1 else "",
            identity=identity,
            part=self if len(parts) == 1 else None,
        )

    @property
    def title(self) -> str:
        """The first line of the heading."""
        return self.heading.split("\n", 1)[0]

    def split(self, parts: Sequence["EventPrompt"], answer: ExtractedEvents) -> list[ExtractedEvents | None]:
        """The events of each passage; None for one that the answer does not name."""
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
    """What to ask, one request a chunk, in their order; give only `readable` chunks.

    Requests may be asked together (`Request.part`). The summary helps and does not count: a new one asks nothing
    again; a document of one chunk needs none.

    Source:
        docs/algorithm.md §extraction.28.

    """
    heading = heading_of(document, summary if len(chunks) > 1 else "")
    spoken = prompt_language(document, language)
    passages = [EventPrompt(document.document_id, heading, chunk.text, spoken) for chunk in chunks]
    return [passage.merge([passage]) for passage in passages]


def readable(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks that say something."""
    return [chunk for chunk in chunks if any(character.isalnum() for character in chunk.text)]


def events_from_reply(document: Document, chunk: Chunk, answer: ExtractedEvents) -> list[Event]:
    """The events of a chunk, in the order of the answer; empty and repeated ones are left out.

    An event that stands in the chunk word for word has its span.
    """
    events: list[Event] = []
    seen: Counter[str] = Counter()
    for raw in (event for one in answer.passages for event in one.events):
        content = _BULLET.sub("", " ".join(raw.split()))[:LONGEST_EVENT]
        name = normal_name(content)
        seen[name] += 1
        if name and seen[name] == 1:
            events.append(_event(document, chunk, len(events), content))
    return events


def _event(document: Document, chunk: Chunk, index: int, content: str) -> Event:
    place = chunk.text.find(content)
    start = chunk.start + place if place >= 0 else None
    return Event(
        event_id=make_id("e", chunk.chunk_id, content, 0),
        document_id=document.document_id,
        chunk_id=chunk.chunk_id,
        event_index=index,
        content=content,
        title=document.title,
        start=start,
        end=start + len(content) if start is not None else None,
    )
