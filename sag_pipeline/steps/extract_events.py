"""Events by a language model: one question a chunk, with the document's summary."""

import re
from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from sag_pipeline.steps.extract_summaries import prompt_language
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt
from sag_retrieval.records import Chunk, Document, Event, make_id
from sag_retrieval.text import normal_name

LONGEST_EVENT = 1_000
_BULLET = re.compile(r"^(?:[-*•·]|\(?\d{1,3}[.)、）])\s+")


class ExtractedEvents(BaseModel):
    """The model's answer for one chunk."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: list[str]


def event_requests(
    document: Document, chunks: Sequence[Chunk], summary: str, *, language: str = "auto"
) -> list[Request[ExtractedEvents]]:
    """What to ask, one request a chunk, in their order; give only `readable` chunks.

    The summary helps and does not count: a new one asks nothing again.

    Source:
        docs/algorithm.md §extraction.28.

    """
    prompt = load_prompt("events", prompt_language(document, language), "sag_pipeline.prompts")
    return [
        Request(
            prompt.fill(title=document.title, summary=summary, text=chunk.text),
            ExtractedEvents,
            "events",
            prompt.system,
            document.document_id,
            identity=f"{prompt.version}\x1f{document.title}\x1f{chunk.text}",
        )
        for chunk in chunks
    ]


def readable(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks that say something."""
    return [chunk for chunk in chunks if any(character.isalnum() for character in chunk.text)]


def events_from_reply(document: Document, chunk: Chunk, answer: ExtractedEvents) -> list[Event]:
    """The events of a chunk, in the order of the answer; empty and repeated ones are left out.

    An event that stands in the chunk word for word has its span.
    """
    events: list[Event] = []
    seen: Counter[str] = Counter()
    for raw in answer.events:
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
