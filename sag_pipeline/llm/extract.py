"""Extract the rows of tables with a language model: requests per batch, records from replies, errors per document."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from sag_pipeline.llm.prompts import FURTHER
from sag_pipeline.options import IngestOptions
from sag_pipeline.runner import Work
from sag_pipeline.steps.document_dates import with_context_dates
from sag_pipeline.steps.events import event_requests, events_from_reply, given_events, readable
from sag_pipeline.steps.extract_keys import KeyOptions
from sag_pipeline.steps.headers import section_summary_requests, with_summaries
from sag_pipeline.steps.sections import section_requests, sections_from_replies
from sag_pipeline.steps.summaries import SummaryOptions, summarise, summary_from_reply, summary_request
from sag_pipeline.steps.titles import title_request, with_title
from sag_pipeline.steps.triples import TripleQuestion, triple_questions, triples_from_reply
from sag_pipeline.table import StepInput
from sag_pipeline.work import StepResult
from sag_retrieval.core.errors import ModelError
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Section, Summary, Triple
from sag_retrieval.models.cached_chat import CachedChat
from sag_retrieval.models.protocols import ChatModel, Reply, Request
from sag_retrieval.prompts import load_prompt

Replies = Sequence[Reply[Any] | ModelError]
"""One reply or error per request, in the order of the requests."""


def model_of(table: str, chat: CachedChat, language: str, options: KeyOptions | None = None) -> str:
    """What the rows that a model makes for a table depend on, as a part of the fingerprint of its step.

    Options with default values are left out, as is how many known keys are shown: they are no part of a request's
    identity. The schema of keys counts by source (`StepSpec.of_source`).
    """
    found = f"{chat.fingerprint} {language} {prompt_versions(table)}"
    usual = KeyOptions()
    decisive = replace(options or usual, most_known=usual.most_known, known_tokens=usual.known_tokens)
    decisive = replace(decisive, schema=usual.schema)
    return f"{found} {decisive}" if table == "keys" and decisive != usual else found


def prompt_versions(step: str) -> str:
    """The versions of a step's prompts: a changed prompt repeats that step alone."""
    asked = [(each, language) for each in (step, *FURTHER.get(step, ())) for language in ("zh", "en")]
    return " ".join(load_prompt(*each, "sag_pipeline.llm.prompts").version for each in asked)


@dataclass(frozen=True, slots=True)
class Questions:
    """The requests about one document, if any, and what to make of the replies."""

    requests: Sequence[Request[Any]]
    then: Callable[[Replies], "Sequence[Any] | Questions"]
    """Returns the records of the document, or a further round of questions about it."""


def model_work(chat: ChatModel, table: str, ask: Callable[[Sequence[StepInput]], Iterable[Questions]]) -> Work:
    """Work by a model: all requests of a batch at once, then the records of each document in turn.

    Args:
        chat: The model.
        table: The table to be made; named in the reason of a document with unanswered questions.
        ask: Returns the questions about each document of a batch, in order.

    """

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
            yield StepResult(tuple(made), reason_of_replies(table, got))

    return work


def summaries_work(
    chat: ChatModel, options: SummaryOptions | None = None, language: str = "auto", *, titles: bool = False
) -> Work:
    """Summaries of documents, and with `titles` their titles; a short document is summarised by its own sentences."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        asked = summary_request(document, options, language=language)
        both: list[Request[Any] | None] = [asked, title_request(document, language=language) if titles else None]
        return Questions([request for request in both if request], partial(made, document, asked is not None))

    def made(document: Document, is_asked: bool, got: Replies) -> list[Summary]:  # noqa: FBT001  bound by `partial`
        reply = got[0] if is_asked else None
        if isinstance(reply, ModelError):
            return []
        row = summary_from_reply(document, reply.value, options) if reply else summarise(document, options)
        return [with_title(row, got[is_asked:])]

    return model_work(chat, "summaries", lambda batch: map(ask, batch))


def sections_work(chat: ChatModel, options: IngestOptions) -> Work:
    """Sections of documents, then, if headers need them, their summaries; a window without an answer is one section."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        return Questions(section_requests(document, options.section), partial(divide, document))

    def divide(document: Document, got: Replies) -> Sequence[Section] | Questions:
        found = sections_from_replies(document, got, options.section)
        if not options.header.section_summary:
            return found
        return Questions(section_summary_requests(document, found), partial(with_summaries, found))

    return model_work(chat, "sections", lambda batch: map(ask, batch))


def events_work(chat: ChatModel, language: str = "auto") -> Work:
    """Events of documents: supplied ones unchanged, else one question per chunk."""

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        if document.extraction is not None:
            given = [e for one in given_events(document, inputs.tables["chunks"]) for e in one.events]
            return _no_questions(with_context_dates(document, given))
        chunks = readable(inputs.tables["chunks"])
        requests = event_requests(document, chunks, summary_of(inputs), language=language) if chunks else ()
        return Questions(requests, partial(_events, document, chunks))

    return model_work(chat, "events", lambda batch: map(ask, batch))


def _events(document: Document, chunks: Sequence[Chunk], got: Replies) -> list[Event]:
    answered = [(chunk, reply) for chunk, reply in zip(chunks, got, strict=True) if isinstance(reply, Reply)]
    events = [event for chunk, reply in answered for event in events_from_reply(document, chunk, reply.value)]
    return with_context_dates(document, events)


def triples_work(chat: ChatModel, language: str = "auto") -> Work:
    """Triples of documents: supplied ones unchanged (derived if there are none), else one question per chunk."""
    from sag_pipeline.rules.relations import derive_triples  # noqa: PLC0415  it loads the dictionaries of all rules

    def ask(inputs: StepInput) -> Questions:
        document: Document = inputs.one("documents")
        events, keys = inputs.tables["events"], inputs.tables["keys"]
        if document.extraction is not None:
            given = [triple for one in given_events(document, inputs.tables["chunks"]) for triple in one.triples]
            return _no_questions(given or derive_triples(document.document_id, events, keys, document.language))
        questions = triple_questions(document, events, keys, language=language)
        return Questions([question.request for question in questions], partial(_triples, questions, keys))

    return model_work(chat, "triples", lambda batch: map(ask, batch))


def _triples(questions: Sequence[TripleQuestion], keys: Sequence[EventKey], got: Replies) -> list[Triple]:
    answered = [(question, reply) for question, reply in zip(questions, got, strict=True) if isinstance(reply, Reply)]
    return [triple for question, reply in answered for triple in triples_from_reply(question.events, keys, reply.value)]


def _no_questions(records: Sequence[Any]) -> Questions:
    return Questions((), lambda _: records)


def summary_of(inputs: StepInput) -> str:
    """The document's summary; empty for a document of one chunk, whose text is shown whole."""
    rows = inputs.tables.get("summaries", ())
    return rows[0].summary if rows and len(inputs.tables["chunks"]) > 1 else ""


def refused_in_words(step: str, refused: Sequence[str]) -> str:
    """What of a model's answers was refused; empty if nothing."""
    return f"{step}: {len(refused):,} of a model's answers refused, the first: {refused[0]}" if refused else ""


def reason_of_replies(step: str, got: Replies) -> str:
    """Why rows are missing; empty if every question was answered."""
    errors = [reply for reply in got if isinstance(reply, ModelError)]
    return f"{step}: {len(errors)} of {len(got)} questions without an answer, the first: {errors[0]}" if errors else ""
