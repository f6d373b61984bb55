"""What an extraction would cost before it runs: every question as the run would write it, answers guessed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sag_pipeline.offline.events import offline_events
from sag_pipeline.offline.sections import offline_sections
from sag_pipeline.steps.chunks import ChunkOptions, split_chunks
from sag_pipeline.steps.extract_events import event_requests, events_from_reply, readable
from sag_pipeline.steps.extract_keys import KeyOptions, key_questions
from sag_pipeline.steps.extract_summaries import summary_request
from sag_pipeline.steps.summaries import SummaryOptions, summarise
from sag_retrieval.models.dialect import request_tokens
from sag_retrieval.models.protocols import Answer, Request, Usage
from sag_retrieval.models.tokens import estimate_tokens
from sag_retrieval.records import Chunk, Document, Event

STEPS = ("summaries", "events", "keys")
_LIST_TOKENS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What cannot be known before a run, as measured (docs/algorithm.md §extraction.30)."""

    summary_tokens: int = 70
    known_tokens: int = 110
    """Of the known keys in one question."""
    event_overhead: float = 1.15
    """Tokens of the events of a chunk, to those of its sentences."""
    key_tokens_per_event: int = 70
    key_tokens_per_question: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """The options of the run that is estimated."""

    summary: SummaryOptions = field(default_factory=SummaryOptions)
    chunk: ChunkOptions = field(default_factory=ChunkOptions)
    key: KeyOptions = field(default_factory=KeyOptions)
    language: str = "auto"
    guess: Guess = field(default_factory=Guess)


class Lookup(Protocol):
    """Finds answers that are kept already."""

    def __call__(self, request: Request[Answer]) -> Answer | None:
        """The answer, or None: it would have to be paid."""
        ...


def nothing_kept(request: Request[Answer]) -> Answer | None:  # noqa: ARG001  a Lookup
    """No answer is kept."""
    return None


@dataclass(slots=True)
class Estimate:
    """What the steps would send and receive; `cached_calls` cost nothing."""

    usage: dict[str, Usage] = field(default_factory=lambda: {step: Usage() for step in STEPS})

    def add(self, step: str, sent: int, received: float) -> None:
        """One call."""
        self.usage[step] += Usage(1, 0, sent, round(received))

    def add_cached(self, step: str) -> None:
        """One call that is paid already."""
        self.usage[step] += Usage(0, 1)


def estimate(
    documents: Iterable[Document], kept: Lookup = nothing_kept, options: EstimateOptions | None = None
) -> Estimate:
    """The calls that documents need, with expected tokens; documents with given events need only a summary.

    Every question is written as the run would write it. What only an answer could tell is taken from the
    extractive summary and from sentences in place of events; the length of answers is a guess.

    Source:
        docs/algorithm.md §extraction.30.

    """
    planner = _Planner(kept, options or EstimateOptions())
    for document in documents:
        planner.plan(document)
    return planner.found


@dataclass(slots=True)
class _Planner:
    kept: Lookup
    options: EstimateOptions
    found: Estimate = field(default_factory=Estimate)

    def plan(self, document: Document) -> None:
        """Add the calls of a document."""
        self._plan_summary(document)
        if document.extraction is None:
            chunks = readable(split_chunks(document, offline_sections(document), self.options.chunk))
            summary = summarise(document, self.options.summary).summary
            self._plan_keys(document, self._plan_events(document, chunks, summary), summary)

    def _plan_summary(self, document: Document) -> None:
        request = summary_request(document, self.options.summary, language=self.options.language)
        if request is not None and self.kept(request) is not None:
            self.found.add_cached("summaries")
        elif request is not None:
            self.found.add("summaries", request_tokens(request), self.options.guess.summary_tokens)

    def _plan_events(self, document: Document, chunks: Sequence[Chunk], summary: str) -> dict[Event, bool]:
        """The events, kept or expected, each with whether it is certain."""
        events: dict[Event, bool] = {}
        requests = event_requests(document, chunks, summary, language=self.options.language)
        for chunk, request in zip(chunks, requests, strict=True):
            answer = self.kept(request)
            if answer is not None:
                self.found.add_cached("events")
                events |= dict.fromkeys(events_from_reply(document, chunk, answer), True)
                continue
            expected = [event for own in offline_events(document, [chunk]) for event in own]
            events |= dict.fromkeys(expected, False)
            received = sum(estimate_tokens(event.content) + _LIST_TOKENS for event in expected)
            self.found.add("events", request_tokens(request), received * self.options.guess.event_overhead)
        return events

    def _plan_keys(self, document: Document, events: Mapping[Event, bool], summary: str) -> None:
        guess = self.options.guess
        for question in key_questions(
            document, list(events), summary, options=self.options.key, language=self.options.language
        ):
            is_certain = all(events[event] for event in question.events)
            if is_certain and self.kept(question.request) is not None:
                self.found.add_cached("keys")
                continue
            received = guess.key_tokens_per_question + guess.key_tokens_per_event * len(question.events)
            self.found.add("keys", request_tokens(question.request) + guess.known_tokens, received)
