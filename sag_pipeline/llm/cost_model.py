"""What an extraction would cost before it runs: every question as the run would write it, answers guessed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from sag_pipeline.llm.batching import BatchLimits, batch_parts
from sag_pipeline.rules.events import offline_events
from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.steps.chunks import ChunkOptions, split_chunks
from sag_pipeline.steps.extract_events import event_requests, events_from_reply, readable
from sag_pipeline.steps.extract_keys import KeyOptions, key_questions
from sag_pipeline.steps.extract_summaries import summary_request
from sag_pipeline.steps.summaries import SummaryOptions, summarise
from sag_retrieval.core.records import Chunk, Document, Event
from sag_retrieval.models.dialect import request_tokens
from sag_retrieval.models.prices import estimate_tokens
from sag_retrieval.models.protocols import AnswerT, Request, Usage

STEPS = ("summaries", "events", "keys")
_LIST_TOKENS = 3
_BATCH = 128  # documents, as in a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What cannot be known before a run, as measured (docs/algorithm.md §extraction.30)."""

    summary_tokens: int = 70
    known_tokens: int = 160
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
    bounds: BatchLimits = field(default_factory=BatchLimits)
    language: str = "auto"
    guess: Guess = field(default_factory=Guess)


class Lookup(Protocol):
    """Finds answers that are kept already."""

    def __call__(self, request: Request[AnswerT]) -> AnswerT | None:
        """The answer, or None: it would have to be paid."""
        ...


def nothing_kept(request: Request[AnswerT]) -> AnswerT | None:  # noqa: ARG001  a Lookup
    """No answer is kept."""
    return None


@dataclass(slots=True)
class Estimate:
    """What the steps would send and receive; `cached_calls` counts questions whose answers are kept."""

    usage: dict[str, Usage] = field(default_factory=lambda: {step: Usage() for step in STEPS})


def estimate(
    documents: Iterable[Document], kept: Lookup = nothing_kept, options: EstimateOptions | None = None
) -> Estimate:
    """The calls that documents need, with expected tokens; documents with given events need only a summary.

    Every question is written as the run would write it. What only an answer could tell is taken from the
    extractive summary and from sentences in place of events; the length of answers is a guess.

    Source:
        docs/algorithm.md §extraction.30.

    """
    options = options or EstimateOptions()
    found = Estimate()
    rest = iter(documents)
    while batch := list(islice(rest, _BATCH)):
        planner = _Planner(kept, options)
        for document in batch:
            planner.plan(document)
        planner.add_to(found)
    return found


@dataclass(slots=True)
class _Planner:
    """The questions of a batch of documents: kept ones counted, the others with the tokens expected back."""

    kept: Lookup
    options: EstimateOptions
    paid: dict[str, list[tuple[Request[Any], float]]] = field(default_factory=lambda: {step: [] for step in STEPS})
    kept_counts: Counter[str] = field(default_factory=Counter)

    def plan(self, document: Document) -> None:
        """Take up the questions about a document."""
        summary_asked = summary_request(document, self.options.summary, language=self.options.language)
        if summary_asked is not None:
            self._take("summaries", summary_asked, self.options.guess.summary_tokens)
        if document.extraction is None:
            chunks = readable(split_chunks(document, offline_sections(document), self.options.chunk))
            summary = summarise(document, self.options.summary).summary if len(chunks) > 1 else ""
            self._plan_keys(document, self._plan_events(document, chunks, summary), summary)

    def add_to(self, found: Estimate) -> None:
        """Add the calls, those that are asked together as one."""
        for step, asked in self.paid.items():
            found.usage[step] += Usage(0, self.kept_counts[step])
            for group in batch_parts((request for request, _ in asked), lambda _: False, self.options.bounds):
                parts = [request.part for _, request in group]
                merged = parts[0].merge(parts) if parts[0] is not None else group[0][1]
                known = self.options.guess.known_tokens if step == "keys" else 0
                expected = sum(asked[place][1] for place, _ in group)
                found.usage[step] += Usage(1, 0, request_tokens(merged) + known, round(expected))

    def _take(self, step: str, request: Request[AnswerT], received: float) -> AnswerT | None:
        answer = self.kept(request)
        if answer is None:
            self.paid[step].append((request, received))
        else:
            self.kept_counts[step] += 1
        return answer

    def _plan_events(self, document: Document, chunks: Sequence[Chunk], summary: str) -> dict[Event, bool]:
        """The events, kept or expected, each with whether it is certain."""
        events: dict[Event, bool] = {}
        requests = event_requests(document, chunks, summary, language=self.options.language)
        for chunk, request in zip(chunks, requests, strict=True):
            expected = [event for own in offline_events(document, [chunk]) for event in own]
            received = sum(estimate_tokens(event.content) + _LIST_TOKENS for event in expected)
            answer = self._take("events", request, received * self.options.guess.event_overhead)
            if answer is None:
                events |= dict.fromkeys(expected, False)
            else:
                events |= dict.fromkeys(events_from_reply(document, chunk, answer), True)
        return events

    def _plan_keys(self, document: Document, events: Mapping[Event, bool], summary: str) -> None:
        guess = self.options.guess
        for question in key_questions(
            document, list(events), summary, options=self.options.key, language=self.options.language
        ):
            received = guess.key_tokens_per_question + guess.key_tokens_per_event * len(question.events)
            if all(events[event] for event in question.events):
                self._take("keys", question.request, received)
            else:
                self.paid["keys"].append((question.request, received))
