"""Triples by a language model: the relations that the events of a chunk state, in one question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from sag_pipeline.steps.summaries import prompt_language
from sag_pipeline.steps.triples import read_triples
from sag_retrieval.core.records import TITLE, Document, Event, EventKey, Key, Triple
from sag_retrieval.models.protocols import Request
from sag_retrieval.prompts import load_prompt


class TriplesOfEvent(BaseModel):
    """The triples of the event with that number, each head, relation, tail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    event: int
    triples: list[list[str]]


class ExtractedTriples(BaseModel):
    """The model's answer for one question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: list[TriplesOfEvent]


@dataclass(frozen=True, slots=True)
class TripleQuestion:
    """A question, and the events that its numbers stand for, from 1."""

    request: Request[ExtractedTriples]
    events: tuple[Event, ...]


def triple_questions(
    document: Document, events: Sequence[Event], keys: Sequence[EventKey], *, language: str = "auto"
) -> list[TripleQuestion]:
    """What to ask for the events of a document, one question a chunk; an event with one name is left out.

    Source:
        docs/algorithm.md §extraction.28.

    """
    prompt = load_prompt("triples", prompt_language(document, language), "sag_pipeline.llm.prompts")
    names = names_by_event(keys)
    groups: dict[str, list[Event]] = {}
    for event in events:
        if len(names.get(event.event_id, ())) > 1:
            groups.setdefault(event.chunk_id, []).append(event)
    questions = []
    for group in groups.values():
        lines = [
            f"{place}. {event.content} [{', '.join(key.value_string or '' for key in names[event.event_id])}]"
            for place, event in enumerate(group, 1)
        ]
        text = prompt.fill(events="\n".join(lines))
        request = Request(text, ExtractedTriples, "triples", prompt.system, document.document_id)
        questions.append(TripleQuestion(request, tuple(group)))
    return questions


def triples_from_reply(events: Sequence[Event], keys: Sequence[EventKey], answer: ExtractedTriples) -> list[Triple]:
    """Clean triples of a question's events (see `read_triples`); numbers of no event are dropped."""
    names = names_by_event(keys, with_title=True)
    return [
        triple
        for one in answer.events
        if 1 <= one.event <= len(events)
        for triple in read_triples(events[one.event - 1], names.get(events[one.event - 1].event_id, ()), one.triples)
    ]


def names_by_event(keys: Sequence[EventKey], *, with_title: bool = False) -> Mapping[str, list[Key]]:
    """The text keys of each event, the title's only if asked for."""
    found: dict[str, list[Key]] = {}
    for link in keys:
        if link.key.value_string is not None and (with_title or link.key.key_type != TITLE):
            found.setdefault(link.event_id, []).append(link.key)
    return found
