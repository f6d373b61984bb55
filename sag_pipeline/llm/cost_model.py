"""Estimate the calls and tokens of an extraction: every question as the run would ask it, with guessed answers."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, NamedTuple

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.events import event_requests, events_from_reply, readable
from sag_pipeline.extract.headers import section_summary_requests
from sag_pipeline.extract.keys import make_key
from sag_pipeline.extract.model_keys import key_questions
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.extract.sections import section_requests, sections_from_replies
from sag_pipeline.extract.step_questions import prompt_language
from sag_pipeline.extract.summaries import (
    summarise,
    summary_from_reply,
    summary_request,
    title_from_reply,
    title_request,
)
from sag_pipeline.extract.triples import ENTITY, names_by_event, triple_questions
from sag_pipeline.llm.key_waves import joined_keys, waves
from sag_pipeline.llm.revised_pairs import PAIRS_PER_EVENT
from sag_pipeline.options import RunOptions
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Section, Summary
from sag_retrieval.models.cached_chat import batch_parts
from sag_retrieval.models.openai import request_tokens
from sag_retrieval.models.protocols import Reply, Request, Usage, estimate_tokens

_BATCH: Final = 128
"""Documents that are processed together, as in a run."""
# What is unknown before a run, as measured (docs/algorithm.md §extraction.30); tokens.
_SUMMARY, _TITLE, _SECTION, _SECTION_SUMMARY = 70, 25, 20, 40
_KNOWN_KEYS = 80
"""Of the known keys in one question."""
_EVENT_OVERHEAD, _EVENT = 1.15, 3
"""Of the events of a chunk, relative to those of its sentences; and besides of each."""
_KEYS_OF_EVENT, _TRIPLES_OF_EVENT, _QUESTION = 70, 30, 12


class _Pairs(NamedTuple):
    """Questions about pairs."""

    per_call: int
    tokens: int
    """Of a pair, and of the answer of a call."""
    question: int


_NAMES, _REVISIONS = _Pairs(40, 46, 200), _Pairs(20, 80, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """Options of an estimate: those of the run, and the language of its prompts."""

    run: RunOptions = field(default_factory=RunOptions)
    language: str = "auto"
    """The setting SAG_LANGUAGE."""
    known_events: int = 0
    """Events that are known before the run."""

    def steps(self) -> Iterator[str]:
        """The steps of the run that ask a model."""
        run = self.run
        wanted = {
            "summaries": True,
            "titles": run.header.title_by_model,
            "sections": run.sections_by_model,
            "section_summaries": run.sections_by_model and run.header.section_summary,
            "events": True,
            "keys": True,
            "pairs": run.align.by_model,
            "revisions": run.revisions_by_model,
            "triples": run.triples_by_model,
        }
        yield from (step for step, is_wanted in wanted.items() if is_wanted)


Lookup = Callable[[Request[Any]], Any]
"""Finds the cached answer of a request; None: the run would ask for it."""
Estimate = dict[str, Usage]
"""Tokens that each step would send and receive; `cached_calls` counts questions with cached answers."""
_Paid = tuple[Request[Any], float]
"""A question, and the expected tokens of its answer."""


def estimate(
    documents: Iterable[Document], cached: Lookup = lambda _: None, options: EstimateOptions | None = None
) -> Estimate:
    """Estimate the calls for documents, with their tokens; supplied events need no questions about events or keys.

    Every question is written as the run would write it. In place of unknown answers it uses the extractive summary,
    sections by rules, sentences as events and names as keys; the length of answers is guessed.

    Source: docs/algorithm.md §extraction.30.
    """
    options = options or EstimateOptions()
    found = {step: Usage() for step in options.steps()}
    asked_before: set[str] = set()
    known, asked_events = options.known_events, Counter[str]()
    rest = iter(documents)
    while batch := list(islice(rest, _BATCH)):
        planner = _Planner(cached, options, known)
        for document in batch:
            planner.plan(document)
        planner.add_to(found, asked_before)
        known += sum(one.events for one in planner.keys)
        asked_events += planner.asked_events
    if "pairs" in found:
        found["pairs"] = _usage_of_pairs(asked_events, options.run.align.pairs_per_event, _NAMES)
    if "revisions" in found:
        found["revisions"] = _usage_of_pairs(asked_events, PAIRS_PER_EVENT, _REVISIONS)
    return found


def _usage_of_pairs(events: Counter[str], pairs_per_event: float, guess: _Pairs) -> Usage:
    """At most, as many names may be farther from each other; pairs of one language of `events` share calls."""
    pairs = round(events.total() * pairs_per_event)
    shares = [pairs * count / events.total() for count in events.values() if pairs]
    spoken = [share for share in shares if round(share)] or shares[:1]  # of a language with less there is mostly none
    calls = sum(math.ceil(share / guess.per_call) for share in spoken)
    return Usage(calls, 0, calls * guess.question + pairs * guess.tokens, calls * guess.tokens)


class _KeysAsked(NamedTuple):
    """A question about keys."""

    shares: tuple[str, str]
    events: int
    paid: int | None
    """Its place among the paid questions; None for a kept answer."""


@dataclass(slots=True)
class _Planner:
    """The questions about a batch of documents: cached ones as a count, others with the expected tokens of answers."""

    cached: Lookup
    options: EstimateOptions
    known: int
    """Events that are known before the batch."""
    paid: defaultdict[str, list[_Paid]] = field(default_factory=lambda: defaultdict(list))
    cached_counts: Counter[str] = field(default_factory=Counter)
    keys: list[_KeysAsked] = field(default_factory=list)
    """The questions about keys, paid or not."""
    asked_events: Counter[str] = field(default_factory=Counter)
    """Events of paid questions about keys, by the language of the prompt."""

    def plan(self, document: Document) -> None:
        """Add the questions about a document."""
        run = self.options.run
        summary = self._plan_summary(document)
        sections = self._plan_sections(document)
        if document.extraction is not None:
            return
        chunks = split_chunks(document, sections, run.chunk, summary, run.header)
        events = self._plan_events(document, readable(chunks), summary.summary if len(chunks) > 1 else "")
        keys = self._plan_keys(document, events)
        if run.triples_by_model:
            for question in triple_questions(document, list(events), keys, language=self.options.language):
                self._take(question.request, _QUESTION + _TRIPLES_OF_EVENT * len(question.events))

    def add_to(self, found: Estimate, asked_before: set[str]) -> None:
        """Add the calls: questions asked together are one call, and a repeated question is asked once."""
        for step, asked in self.paid.items():
            found[step] += Usage(0, sum(_identity(request) in asked_before for request, _ in asked))
            for wave in self._waves(asked) if step == "keys" else [asked]:
                self._add_calls(found, step, [one for one in wave if _identity(one[0]) not in asked_before])
        for step, count in self.cached_counts.items():
            found[step] += Usage(0, count)
        asked_before |= {_identity(request) for asked in self.paid.values() for request, _ in asked}

    def _waves(self, asked: Sequence[_Paid]) -> Iterator[Sequence[_Paid]]:
        """The paid questions about keys, wave by wave."""
        keys = sorted(self.keys, key=lambda one: one.shares)
        for wave in waves([one.events for one in keys], self.known, self.options.run.chat.concurrency):
            yield [asked[one.paid] for one in keys[wave] if one.paid is not None]

    def _add_calls(self, found: Estimate, step: str, fresh: Sequence[_Paid]) -> None:
        alone: set[str] = set()
        for group in batch_parts((request for request, _ in fresh), lambda _: False, self.options.run.batch):
            requests = [request for _, request in group]
            same, part = _identity(requests[0]), requests[0].part
            if len(group) == 1 and same in alone:
                found[step] += Usage(0, 1)
                continue
            if len(group) == 1:
                alone.add(same)
            merged = requests[0] if part is None else part.merge([request.part for request in requests])
            sent = request_tokens(merged) + (_KNOWN_KEYS if step == "keys" else 0)
            found[step] += Usage(1, 0, sent, round(sum(fresh[place][1] for place, _ in group)))

    def _take(self, request: Request[Any], received: float) -> Any:  # noqa: ANN401  the answer of its request
        answer = self.cached(request)
        if answer is None:
            self.paid[request.step].append((request, received))
        else:
            self.cached_counts[request.step] += 1
        return answer

    def _plan_summary(self, document: Document) -> Summary:
        """The summary, cached or expected, with the title, if it is asked for and cached."""
        options, language = self.options.run.summary, self.options.language
        asked = summary_request(document, options, language=language)
        answer = self._take(asked, _SUMMARY) if asked is not None else None
        found = summary_from_reply(document, answer, options) if answer else summarise(document, options)
        asked_title = title_request(document, language=language) if self.options.run.header.title_by_model else None
        title = self._take(asked_title, _TITLE) if asked_title is not None else None
        return replace(found, made_title=title_from_reply(title) if title else None)

    def _plan_sections(self, document: Document) -> list[Section]:
        """The sections, cached or by rules."""
        options = self.options.run
        expected = offline_sections(document, options.section)
        if not options.sections_by_model:
            return expected
        requests = section_requests(document, options.section)
        received = _SECTION * len(expected) / max(1, len(requests))
        answers = [self._take(request, received) for request in requests]
        replies = [Reply(answer) for answer in answers if answer is not None]
        if len(replies) == len(requests):
            expected = sections_from_replies(document, replies, options.section)
        if options.header.section_summary:
            for request in section_summary_requests(document, expected):
                self._take(request, _SECTION_SUMMARY)
        return expected

    def _plan_events(self, document: Document, chunks: Sequence[Chunk], summary: str) -> dict[Event, bool]:
        """The events, cached or expected; True for a cached one."""
        events: dict[Event, bool] = {}
        requests = event_requests(document, chunks, summary, language=self.options.language)
        for chunk, request in zip(chunks, requests, strict=True):
            expected = [event for own in offline_events(document, [chunk]) for event in own]
            received = sum(estimate_tokens(event.content) + _EVENT for event in expected)
            answer = self._take(request, received * _EVENT_OVERHEAD)
            if answer is None:
                events |= dict.fromkeys(expected, False)
            else:
                events |= dict.fromkeys(events_from_reply(document, chunk, answer), True)
        return events

    def _plan_keys(self, document: Document, events: Mapping[Event, bool]) -> list[EventKey]:
        """The keys, cached or by rules."""
        options, language = self.options.run.key, self.options.language
        keys: list[EventKey] = []
        for question in key_questions(document, list(events), options=options, language=language):
            received = _QUESTION + _KEYS_OF_EVENT * len(question.events)
            is_certain = all(events[event] for event in question.events)
            answer = self._take(question.request, received) if is_certain else None
            if not is_certain:
                self.paid["keys"].append((question.request, received))
            paid = len(self.paid["keys"]) - 1 if answer is None else None
            self.keys.append(_KeysAsked(question.shares, len(question.events), paid))
            if answer is None:
                self.asked_events[prompt_language(document, language)] += len(question.events)
                keys += _guessed_keys(document, question.events)
            else:
                keys += joined_keys(document, question.events, answer, options).keys
        return keys


def _guessed_keys(document: Document, events: Sequence[Event]) -> list[EventKey]:
    """Keys by rules; an event in which they find one name has the document's title as the second of a model."""
    found = offline_keys(document, events)
    alone = [event for event in events if len(names_by_event(found).get(event.event_id, ())) == 1]
    title = make_key(ENTITY, document.title)
    return found + [EventKey(document.document_id, event.event_id, title) for event in alone if title]


def _identity(request: Request[Any]) -> str:
    """The identity of a request within one run and model."""
    return "\x1f".join((request.step, request.identity or f"{request.system}\x1f{request.prompt}"))
