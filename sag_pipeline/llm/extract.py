"""Extract the rows of tables with a language model: requests per batch, records from replies, errors per document."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from sag_pipeline.extract.document_dates import with_context_dates
from sag_pipeline.extract.events import event_requests, events_from_reply, given_events, readable
from sag_pipeline.extract.headers import section_summary_requests, with_summaries
from sag_pipeline.extract.model_keys import KeyOptions
from sag_pipeline.extract.sections import section_requests, sections_from_replies
from sag_pipeline.extract.summaries import (
    SummaryOptions,
    summarise,
    summary_from_reply,
    summary_request,
    title_from_reply,
    title_request,
)
from sag_pipeline.extract.triples import TripleQuestion, triple_questions, triples_from_reply
from sag_pipeline.llm.checked import (
    Refusals,
    evidence_of,
    evidence_of_events,
    evidence_of_text,
    summary_shown,
    supported_events,
    supported_sections,
    supported_text,
    supported_triples,
)
from sag_pipeline.llm.prompts import FURTHER
from sag_pipeline.options import IngestOptions
from sag_pipeline.step_runner import Work
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.table import StepInput
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Chunk, Document, Event, Section, Summary, Triple
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.protocols import ChatModel, Reply, Request
from sag_retrieval.prompts import load_prompt

Replies = Sequence[Reply[Any] | ModelError]
"""One reply or error per request, in the order of the requests."""


@dataclass(frozen=True, slots=True)
class Questions:
    """The requests about one document, if any, and what to make of the replies."""

    requests: Sequence[Request[Any]]
    then: Callable[[Replies], "Sequence[Any] | Questions"]
    """Returns the records of the document, or a further round of questions about it."""
    refused: Refusals | None = None
    """Where `then` notes what it leaves out of the replies."""


def _model_work(chat: ChatModel, table: str, ask: Callable[[Sequence[StepInput]], Iterable[Questions]]) -> Work:
    """Work by a model: all requests of a batch at once, then the records of each document in turn."""

    def work(batch: Sequence[StepInput]) -> Iterator[StepResult]:
        asked = list(ask(batch))
        replies = iter(chat.ask_all([request for questions in asked for request in questions.requests]))
        for questions in asked:
            got = list(islice(replies, len(questions.requests)))
            made = questions.then(got)
            while isinstance(made, Questions):
                further = list(chat.ask_all(made.requests))
                got += further
                made = made.then(further)
            yield result_of_replies(table, tuple(made), got, questions.refused)

    return work


def result_of_replies(table: str, records: tuple[Any, ...], got: Replies, refused: Refusals | None) -> StepResult:
    """The records; without an answer to some question they are incomplete, what was left out is a warning."""
    warning = refused.reason(table) if refused else ""
    errors = [reply for reply in got if isinstance(reply, ModelError)]
    if not errors:
        return StepResult(records, "", warning)
    missing = f"{table}: {len(errors)} of {len(got)} questions without an answer, the first: {errors[0]}"
    return StepResult(records, "; ".join(filter(None, (missing, warning))), warning)


_JOINED: Final = " joined"
"""Keys that a release before made of the model's answers alone are made again, from the kept answers."""


def model_of(table: str, chat: CachedChat, language: str, options: KeyOptions | None = None) -> str:
    """What the rows that a model makes for a table depend on, as a part of the fingerprint of its step.

    Options with default values are left out, as is how many known keys are shown: they are no part of a request's
    identity. The schema of keys counts by source (`StepSpec.of_source`).
    """
    found = f"{chat.fingerprint} {language} {prompt_versions(table)}{_JOINED if table == 'keys' else ''}"
    usual = KeyOptions()
    decisive = replace(options or usual, known_tokens=usual.known_tokens, schema=usual.schema)
    return f"{found} {decisive}" if table == "keys" and decisive != usual else found


def prompt_versions(step: str) -> str:
    """The versions of a step's prompts: a changed prompt repeats that step alone."""
    asked = [(each, language) for each in (step, *FURTHER.get(step, ())) for language in ("zh", "en")]
    return " ".join(load_prompt(*each, "sag_pipeline.llm.prompts").version for each in asked)


def summaries_work(
    chat: ChatModel, options: SummaryOptions | None = None, language: str = "auto", *, titles: bool = False
) -> Work:
    """Summaries of documents, and with `titles` their titles; a short document is summarised by its own sentences."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        asked = summary_request(document, options, language=language)
        both: list[Request[Any] | None] = [asked, title_request(document, language=language) if titles else None]
        refused = Refusals()
        then = partial(made, document, refused, asked is not None)
        return Questions([request for request in both if request], then, refused)

    def made(document: Document, refused: Refusals, is_asked: bool, got: Replies) -> list[Summary]:  # noqa: FBT001  bound by `partial`
        reply = got[0] if is_asked else None
        if isinstance(reply, ModelError):
            return []
        own = summarise(document, options)
        if not got:
            return [own]
        evidence = evidence_of_text(document)
        row = summary_from_reply(document, reply.value, options) if reply else own
        row = row if supported_text(row.summary, evidence, refused) else own
        said = [title_from_reply(one.value) or "" for one in got[is_asked:] if isinstance(one, Reply)]
        title = next((one for one in said if supported_text(one, evidence, refused)), "")
        return [replace(row, made_title=title or None)]

    return _model_work(chat, "summaries", lambda batch: map(ask, batch))


def sections_work(chat: ChatModel, options: IngestOptions) -> Work:
    """Sections of documents, then, if headers need them, their summaries; a window without an answer is one section."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        refused = Refusals()
        return Questions(section_requests(document, options.section), partial(divide, document, refused), refused)

    def divide(document: Document, refused: Refusals, got: Replies) -> Sequence[Section] | Questions:
        evidence = evidence_of_text(document)
        titled = [
            replace(one, value=supported_sections(one.value, evidence, refused)) if isinstance(one, Reply) else one
            for one in got
        ]
        found = sections_from_replies(document, titled, options.section)
        if not options.header.section_summary:
            return found
        return Questions(section_summary_requests(document, found), partial(summarised, document, found, refused))

    def summarised(document: Document, found: Sequence[Section], refused: Refusals, got: Replies) -> list[Section]:
        evidence = [evidence_of_text(replace(document, text=document.text[one.start : one.end])) for one in found]
        return [
            section if supported_text(section.summary, shown, refused) else own
            for own, shown, section in zip(found, evidence, with_summaries(found, got), strict=True)
        ]

    return _model_work(chat, "sections", lambda batch: map(ask, batch))


def events_work(chat: ChatModel, language: str = "auto") -> Work:
    """Events of documents: supplied ones unchanged, else one question per chunk."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        if document.extraction is not None:
            given = [e for one in given_events(document, inputs.tables["chunks"]) for e in one.events]
            return Questions((), lambda _: with_context_dates(document, given))
        chunks, refused = readable(inputs.tables["chunks"]), Refusals()
        requests = event_requests(document, chunks, summary_shown(inputs), language=language) if chunks else ()
        return Questions(requests, partial(made, inputs, chunks, refused), refused)

    def made(inputs: StepInput, chunks: Sequence[Chunk], refused: Refusals, got: Replies) -> list[Event]:
        document: Document = inputs.one("documents")
        events: list[Event] = []
        for chunk, reply in zip(chunks, got, strict=True):
            said = events_from_reply(document, chunk, reply.value) if isinstance(reply, Reply) else []
            events += supported_events(said, evidence_of(inputs, chunk), refused)
        return with_context_dates(document, events)

    return _model_work(chat, "events", lambda batch: map(ask, batch))


def triples_work(chat: ChatModel, language: str = "auto") -> Work:
    """Triples of documents: supplied ones unchanged (derived if there are none), else one question per chunk."""
    from sag_pipeline.extract.rules.relations import derive_triples  # noqa: PLC0415  it loads the dictionaries of all rules

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        events, keys = inputs.tables["events"], inputs.tables["keys"]
        if document.extraction is not None:
            given = [triple for one in given_events(document, inputs.tables["chunks"]) for triple in one.triples]
            found = given or derive_triples(document.document_id, events, keys, document.language)
            return Questions((), lambda _: found)
        questions, refused = triple_questions(document, events, keys, language=language), Refusals()
        then = partial(made, inputs, questions, refused)
        return Questions([question.request for question in questions], then, refused)

    def made(inputs: StepInput, questions: Sequence[TripleQuestion], refused: Refusals, got: Replies) -> list[Triple]:
        keys = inputs.tables["keys"]
        found: list[Triple] = []
        for question, reply in zip(questions, got, strict=True):
            if isinstance(reply, Reply):
                evidence = evidence_of_events(inputs, question.events)
                checked = supported_triples(question, reply.value, evidence, refused)
                found += triples_from_reply(question.events, keys, checked)
        return found

    return _model_work(chat, "triples", lambda batch: map(ask, batch))
