"""Extraction by a language model as work on batches: questions out, records in, faults by document."""

from collections.abc import Iterator, Sequence
from itertools import islice

from sag_pipeline.runner import StepInput, StepResult, Work
from sag_pipeline.steps.events import given_events
from sag_pipeline.steps.extract_events import event_requests, events_from_reply, readable
from sag_pipeline.steps.extract_keys import (
    ExtractedKeys,
    KeyOptions,
    KeyQuestion,
    key_questions,
    keys_from_reply,
)
from sag_pipeline.steps.extract_summaries import summary_from_reply, summary_request
from sag_pipeline.steps.extract_triples import (
    ExtractedTriples,
    TripleQuestion,
    triple_questions,
    triples_from_reply,
)
from sag_pipeline.steps.keys import main_keys
from sag_pipeline.steps.known_keys import BatchSource, KnownKeys, KnownOptions, KnownSource, known_about
from sag_pipeline.steps.summaries import SummaryOptions, summarise
from sag_pipeline.steps.triples import derive_triples
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Document, Event, EventKey, Triple
from sag_retrieval.models.protocols import ChatModel, Reply
from sag_retrieval.models.retry import ReplyT
from sag_retrieval.prompts import load_prompt


def prompt_versions(step: str) -> str:
    """The versions of a step's prompts, for its fingerprint: a changed prompt redoes that step alone."""
    return " ".join(load_prompt(step, language, "sag_pipeline.llm.prompts").version for language in ("zh", "en"))


def summaries_work(chat: ChatModel, options: SummaryOptions | None = None, language: str = "auto") -> Work:
    """Summaries of documents; a short one needs no model, its own sentences sum it up."""

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        asked = [summary_request(inputs.one("documents"), options, language=language) for inputs in batch]
        replies = iter(chat.ask_all([request for request in asked if request is not None]))
        for inputs, request in zip(batch, asked, strict=True):
            document = inputs.one("documents")
            if request is None:
                yield StepResult((summarise(document, options),))
                continue
            reply = next(replies)
            if isinstance(reply, Reply):
                yield StepResult((summary_from_reply(document, reply.value, options),))
            else:
                yield StepResult(reason=_reason("summaries", [reply]))

    return work


def events_work(chat: ChatModel, language: str = "auto") -> Work:
    """Events of documents: given ones as given, else one question a chunk; all under way at once."""

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        chunks = [() if _is_given(inputs) else readable(inputs.tables["chunks"]) for inputs in batch]
        asked = [
            request
            for inputs, own in zip(batch, chunks, strict=True)
            if own
            for request in event_requests(inputs.one("documents"), own, _summary(inputs), language=language)
        ]
        replies = iter(chat.ask_all(asked))
        for inputs, own in zip(batch, chunks, strict=True):
            document = inputs.one("documents")
            if _is_given(inputs):
                given = given_events(document, inputs.tables["chunks"])
                yield StepResult(tuple(event for one in given for event in one.events))
                continue
            events: list[Event] = []
            faults: list[ModelError] = []
            for chunk, reply in zip(own, _take(replies, len(own)), strict=True):
                if isinstance(reply, Reply):
                    events += events_from_reply(document, chunk, reply.value)
                else:
                    faults.append(reply)
            yield StepResult(tuple(events), _reason("events", faults, len(own)))

    return work


def keys_work(
    chat: ChatModel,
    *,
    before: BatchSource | None = None,
    sources: Sequence[KnownSource] = (),
    options: KeyOptions | None = None,
    known_options: KnownOptions | None = None,
    language: str = "auto",
) -> Work:
    """Keys of documents: given ones as given, else one question a chunk with what is known about its events.

    A batch sees the sources and the batches before it, never itself: so concurrency changes nothing.

    Args:
        chat: Who is asked.
        before: Takes up each batch and may hold some; of the sources' embedder. None: nothing known is shown.
        sources: Where known keys come from besides, such as `released.ReleaseSource`.
        options: Key types and the like.
        known_options: How much is shown.
        language: `zh`, `en`, or `auto`: each document's.

    """

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        events = [event for inputs in batch if not _is_given(inputs) for event in inputs.tables["events"]]
        known: dict[str, KnownKeys] = {}
        if before is not None:
            found = known_about(events, before.embedder, [*sources, before], known_options)
            known = {event.event_id: one for event, one in zip(events, found, strict=True)}
        questions = [[] if _is_given(inputs) else _key_questions(inputs, known, options, language) for inputs in batch]
        replies = iter(chat.ask_all([question.request for own in questions for question in own]))
        made: list[EventKey] = []
        for inputs, own in zip(batch, questions, strict=True):
            own_keys, reason = _keys(inputs, own, replies, options)
            made += own_keys
            yield StepResult((*own_keys, *main_keys(inputs.one("documents"), inputs.tables["chunks"])), reason)
        if before is not None:
            before.add([event for inputs in batch for event in inputs.tables["events"]], made)

    return work


def triples_work(chat: ChatModel, language: str = "auto") -> Work:
    """Triples of documents: given ones as given (by rules if none are), else one question a chunk."""

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        questions = [
            []
            if _is_given(inputs)
            else triple_questions(
                inputs.one("documents"), inputs.tables["events"], inputs.tables["keys"], language=language
            )
            for inputs in batch
        ]
        replies = iter(chat.ask_all([question.request for own in questions for question in own]))
        for inputs, own in zip(batch, questions, strict=True):
            yield _triples(inputs, own, replies)

    return work


def _key_questions(
    inputs: StepInput, known: dict[str, KnownKeys], options: KeyOptions | None, language: str
) -> list[KeyQuestion]:
    events = inputs.tables["events"]
    return key_questions(
        inputs.one("documents"),
        events,
        _summary(inputs),
        known=[known[event.event_id] for event in events] if known else None,
        options=options,
        language=language,
    )


def _keys(
    inputs: StepInput,
    questions: Sequence[KeyQuestion],
    replies: Iterator[Reply[ExtractedKeys] | ModelError],
    options: KeyOptions | None,
) -> tuple[list[EventKey], str]:
    document: Document = inputs.one("documents")
    if _is_given(inputs):
        return [key for one in given_events(document, inputs.tables["chunks"]) for key in one.keys], ""
    found: list[EventKey] = []
    faults: list[ModelError] = []
    for question, reply in zip(questions, _take(replies, len(questions)), strict=True):
        if isinstance(reply, Reply):
            found += keys_from_reply(document, question.events, reply.value, options)
        else:
            found += keys_from_reply(document, question.events, ExtractedKeys(events=[]), options)
            faults.append(reply)
    return found, _reason("keys", faults, len(questions))


def _triples(
    inputs: StepInput,
    questions: Sequence[TripleQuestion],
    replies: Iterator[Reply[ExtractedTriples] | ModelError],
) -> StepResult:
    document: Document = inputs.one("documents")
    if _is_given(inputs):
        given = [triple for one in given_events(document, inputs.tables["chunks"]) for triple in one.triples]
        rules = derive_triples(document.document_id, inputs.tables["events"], inputs.tables["keys"])
        return StepResult(tuple(given or rules))
    found: list[Triple] = []
    faults: list[ModelError] = []
    for question, reply in zip(questions, _take(replies, len(questions)), strict=True):
        if isinstance(reply, Reply):
            found += triples_from_reply(question.events, inputs.tables["keys"], reply.value)
        else:
            faults.append(reply)
    return StepResult(tuple(found), _reason("triples", faults, len(questions)))


def _take(replies: Iterator[ReplyT], count: int) -> list[ReplyT]:
    return list(islice(replies, count))


def _is_given(inputs: StepInput) -> bool:
    return inputs.one("documents").extraction is not None


def _summary(inputs: StepInput) -> str:
    """The document's summary; none for a document of one chunk, which says it all itself."""
    rows = inputs.tables.get("summaries", ())
    return rows[0].summary if rows and len(inputs.tables["chunks"]) > 1 else ""


def _reason(step: str, faults: Sequence[ModelError], asked: int = 1) -> str:
    """Why something is missing, or empty."""
    if not faults:
        return ""
    return f"{step}: {len(faults)} of {asked} questions without an answer, the first: {faults[0]}"
