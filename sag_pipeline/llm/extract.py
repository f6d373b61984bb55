"""Extraction by a language model as work on batches: questions out, records in, faults by document."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from sag_pipeline.llm.known_keys import BatchSource, KnownOptions, KnownSource, known_about
from sag_pipeline.runner import StepInput, StepResult, Work
from sag_pipeline.steps.events import event_requests, events_from_reply, given_events, readable
from sag_pipeline.steps.extract_keys import (
    ExtractedKeys,
    KeyOptions,
    KeyQuestion,
    KnownKeys,
    key_questions,
    keys_from_reply,
)
from sag_pipeline.steps.keys import main_keys
from sag_pipeline.steps.summaries import SummaryOptions, summarise, summary_from_reply, summary_request
from sag_pipeline.steps.triples import TripleQuestion, derive_triples, triple_questions, triples_from_reply
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Triple
from sag_retrieval.models.protocols import ChatModel, Reply, Request
from sag_retrieval.prompts import load_prompt


def prompt_versions(step: str) -> str:
    """The versions of a step's prompts, for its fingerprint: a changed prompt redoes that step alone."""
    return " ".join(load_prompt(step, language, "sag_pipeline.llm.prompts").version for language in ("zh", "en"))


@dataclass(frozen=True, slots=True)
class Questions:
    """What a model is asked about one document, perhaps nothing, and the records that its replies make."""

    requests: Sequence[Request[Any]]
    records: Callable[[Sequence[Reply[Any] | ModelError]], Sequence[Any]]
    """From one reply or fault a request, in order."""


def model_work(chat: ChatModel, table: str, ask: Callable[[Sequence[StepInput]], Iterable[Questions]]) -> Work:
    """Work by a model: the questions of a whole batch at once, then the records of each document in turn.

    Args:
        chat: Who is asked.
        table: Whose rows are made; for the reason of a document with unanswered questions.
        ask: The questions of each document of a batch, in order.

    """

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        asked = list(ask(batch))
        replies = iter(chat.ask_all([request for questions in asked for request in questions.requests]))
        for questions in asked:
            got = list(islice(replies, len(questions.requests)))
            faults = [reply for reply in got if isinstance(reply, ModelError)]
            yield StepResult(tuple(questions.records(got)), _reason(table, faults, len(got)))

    return work


def summaries_work(chat: ChatModel, options: SummaryOptions | None = None, language: str = "auto") -> Work:
    """Summaries of documents; a short one needs no model, its own sentences sum it up."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        request = summary_request(document, options, language=language)
        if request is None:
            return _no_questions([summarise(document, options)])
        return Questions([request], lambda got: [summary_from_reply(document, r.value, options) for r in _read(got)])

    return model_work(chat, "summaries", lambda batch: map(ask, batch))


def events_work(chat: ChatModel, language: str = "auto") -> Work:
    """Events of documents: given ones as given, else one question a chunk; all under way at once."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        if document.extraction is not None:
            return _no_questions([e for one in given_events(document, inputs.tables["chunks"]) for e in one.events])
        chunks = readable(inputs.tables["chunks"])
        requests = event_requests(document, chunks, _summary(inputs), language=language) if chunks else ()
        return Questions(requests, partial(_events, document, chunks))

    return model_work(chat, "events", lambda batch: map(ask, batch))


def _events(document: Document, chunks: Sequence[Chunk], got: Sequence[Reply[Any] | ModelError]) -> list[Event]:
    answered = [(chunk, reply) for chunk, reply in zip(chunks, got, strict=True) if isinstance(reply, Reply)]
    return [event for chunk, reply in answered for event in events_from_reply(document, chunk, reply.value)]


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
        sources: Where known keys come from besides, such as `ReleasedKeys`.
        options: Key types and the like.
        known_options: How much is shown.
        language: `zh`, `en`, or `auto`: each document's.

    """

    def ask(batch: Sequence[StepInput]) -> Iterator[Questions]:
        events = [event for inputs in batch if not _is_given(inputs) for event in inputs.tables["events"]]
        known: dict[str, KnownKeys] = {}
        if before is not None:
            found = known_about(events, before.embedder, [*sources, before], known_options)
            known = {event.event_id: one for event, one in zip(events, found, strict=True)}
        for inputs in batch:
            document: Document = inputs.one("documents")
            main = main_keys(document, inputs.tables["chunks"])
            if _is_given(inputs):
                given = [key for one in given_events(document, inputs.tables["chunks"]) for key in one.keys]
                yield _no_questions([*given, *main])
                continue
            questions = _key_questions(inputs, known, options, language)
            requests = [question.request for question in questions]
            yield Questions(requests, partial(_keys, document, questions, options, main))

    asked = model_work(chat, "keys", ask)

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        made: list[EventKey] = []
        for inputs, result in zip(batch, asked(batch), strict=True):
            own = {event.event_id for event in inputs.tables["events"]}
            made += [key for key in result.records if key.event_id in own]
            yield result
        if before is not None:
            before.add([event for inputs in batch for event in inputs.tables["events"]], made)

    return work


def _keys(
    document: Document,
    questions: Sequence[KeyQuestion],
    options: KeyOptions | None,
    main: Sequence[EventKey],
    got: Sequence[Reply[Any] | ModelError],
) -> list[EventKey]:
    """What the replies name, with what rules find where there is none, and the main keys."""
    found: list[EventKey] = []
    for question, reply in zip(questions, got, strict=True):
        answer = reply.value if isinstance(reply, Reply) else ExtractedKeys(events=[])
        found += keys_from_reply(document, question.events, answer, options)
    return [*found, *main]


def triples_work(chat: ChatModel, language: str = "auto") -> Work:
    """Triples of documents: given ones as given (by rules if none are), else one question a chunk."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        events, keys = inputs.tables["events"], inputs.tables["keys"]
        if document.extraction is not None:
            given = [triple for one in given_events(document, inputs.tables["chunks"]) for triple in one.triples]
            return _no_questions(given or derive_triples(document.document_id, events, keys))
        questions = triple_questions(document, events, keys, language=language)
        return Questions([question.request for question in questions], partial(_triples, questions, keys))

    return model_work(chat, "triples", lambda batch: map(ask, batch))


def _triples(
    questions: Sequence[TripleQuestion], keys: Sequence[EventKey], got: Sequence[Reply[Any] | ModelError]
) -> list[Triple]:
    answered = [(question, reply) for question, reply in zip(questions, got, strict=True) if isinstance(reply, Reply)]
    return [triple for question, reply in answered for triple in triples_from_reply(question.events, keys, reply.value)]


def _no_questions(records: Sequence[Any]) -> Questions:
    return Questions((), lambda _: records)


def _read(got: Sequence[Reply[Any] | ModelError]) -> list[Reply[Any]]:
    return [reply for reply in got if isinstance(reply, Reply)]


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


def _is_given(inputs: StepInput) -> bool:
    return inputs.one("documents").extraction is not None


def _summary(inputs: StepInput) -> str:
    """The document's summary; none for a document of one chunk, which says it all itself."""
    rows = inputs.tables.get("summaries", ())
    return rows[0].summary if rows and len(inputs.tables["chunks"]) > 1 else ""


def _reason(step: str, faults: Sequence[ModelError], asked: int) -> str:
    """Why something is missing, or empty."""
    if not faults:
        return ""
    return f"{step}: {len(faults)} of {asked} questions without an answer, the first: {faults[0]}"
