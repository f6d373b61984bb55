"""Estimate the calls and tokens of an extraction: every question as the run would ask it, with guessed answers."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

from sag_pipeline.extract.chunks import chunks_of
from sag_pipeline.extract.events import event_requests, events_from_reply, readable
from sag_pipeline.extract.headers import section_summary_requests
from sag_pipeline.extract.keys import make_key
from sag_pipeline.extract.model_keys import key_questions
from sag_pipeline.extract.questions import prompt_language
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import offline_keys
from sag_pipeline.extract.rules.sections import offline_sections
from sag_pipeline.extract.sections import section_requests, sections_from_replies
from sag_pipeline.extract.summaries import (
    summarise,
    summary_from_reply,
    summary_request,
    title_from_reply,
    title_request,
)
from sag_pipeline.extract.triples import ENTITY, names_by_event, triple_questions
from sag_pipeline.llm.joined_keys import joined_keys
from sag_pipeline.llm.key_waves import waves
from sag_pipeline.llm.revised_pairs import PAIRS_PER_EVENT
from sag_pipeline.options import RunOptions
from sag_retrieval.core.records import Chunk, Document, Event, EventKey, Section, Summary
from sag_retrieval.models.cached_chat import batch_parts
from sag_retrieval.models.openai import request_tokens
from sag_retrieval.models.protocols import AnswerT, Reply, Request, Usage, estimate_tokens

_LIST_TOKENS = 3
_BATCH = 128  # documents, as in a run


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """Quantities that are unknown before a run, as measured (docs/algorithm.md §extraction.30)."""

    summary_tokens: int = 70
    title_tokens: int = 25
    known_tokens: int = 80
    """Tokens of the known keys in one question."""
    event_overhead: float = 1.15
    """Tokens of the events of a chunk, relative to those of its sentences."""
    key_tokens_per_event: int = 70
    key_tokens_per_question: int = 12
    tokens_per_section: int = 20
    section_summary_tokens: int = 40
    triple_tokens_per_event: int = 30
    triple_tokens_per_question: int = 12
    pairs_per_call: int = 40
    pair_tokens: int = 46
    pair_question_tokens: int = 200
    revised_per_call: int = 20
    revised_tokens: int = 80
    revised_question_tokens: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """Options of an estimate: those of the run, the language of its prompts, and guesses."""

    run: RunOptions = field(default_factory=RunOptions)
    language: str = "auto"
    """The setting SAG_LANGUAGE."""
    known_events: int = 0
    """Events that are known before the run."""
    guess: Guess = field(default_factory=Guess)

    def steps(self) -> tuple[str, ...]:
        """The steps of the run that ask a model."""
        sections = ("sections",) if self.run.sections_by_model else ()
        summaries = ("section_summaries",) if sections and self.run.header.section_summary else ()
        triples = ("triples",) if self.run.triples_by_model else ()
        titles = ("titles",) if self.run.header.title_by_model else ()
        pairs = ("pairs",) if self.run.align.by_model else ()
        revisions = ("revisions",) if self.run.revisions_by_model else ()
        return ("summaries", *titles, *sections, *summaries, "events", "keys", *pairs, *revisions, *triples)


class Lookup(Protocol):
    """Finds cached answers."""

    def __call__(self, request: Request[AnswerT]) -> AnswerT | None:
        """The cached answer; None: the run would ask for it."""
        ...


@dataclass(slots=True)
class Estimate:
    """Tokens that the steps would send and receive; `cached_calls` counts questions with cached answers."""

    usage: dict[str, Usage] = field(default_factory=dict)


def estimate(
    documents: Iterable[Document], cached: Lookup = lambda _: None, options: EstimateOptions | None = None
) -> Estimate:
    """Estimate the calls for documents, with their tokens; supplied events need no questions about events or keys.

    Every question is written as the run would write it. In place of unknown answers it uses the extractive summary,
    sections by rules, sentences as events and names as keys; the length of answers is guessed.

    Args:
        documents: In the order of the run, which processes 128 of them together.
        cached: Finds cached answers.
        options: Options of the run, and guesses.

    Source: docs/algorithm.md §extraction.30.
    """
    options = options or EstimateOptions()
    found = Estimate({step: Usage() for step in options.steps()})
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
    if options.run.align.by_model:
        found.usage["pairs"] = _usage_of_pairs(asked_events, options.run.align.pairs_per_event, options.guess)
    if options.run.revisions_by_model:
        of_revisions = replace(
            options.guess,
            pairs_per_call=options.guess.revised_per_call,
            pair_tokens=options.guess.revised_tokens,
            pair_question_tokens=options.guess.revised_question_tokens,
        )
        found.usage["revisions"] = _usage_of_pairs(asked_events, PAIRS_PER_EVENT, of_revisions)
    return found


def _usage_of_pairs(events: Counter[str], pairs_per_event: float, guess: Guess) -> Usage:
    """At most, as many names may be farther from each other; pairs of one language of `events` share calls."""
    pairs = round(events.total() * pairs_per_event)
    shares = [pairs * count / events.total() for count in events.values() if pairs]
    spoken = [share for share in shares if round(share)] or shares[:1]  # of a language with less there is mostly none
    calls = sum(math.ceil(share / guess.pairs_per_call) for share in spoken)
    return Usage(calls, 0, calls * guess.pair_question_tokens + pairs * guess.pair_tokens, calls * guess.pair_tokens)


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
    paid: defaultdict[str, list[tuple[Request[Any], float]]] = field(default_factory=lambda: defaultdict(list))
    cached_counts: Counter[str] = field(default_factory=Counter)
    keys: list["_KeysAsked"] = field(default_factory=list)
    """The questions about keys, paid or not."""
    asked_events: Counter[str] = field(default_factory=Counter)
    """Events of paid questions about keys, by the language of the prompt."""

    def plan(self, document: Document) -> None:
        """Add the questions about a document."""
        run = self.options.run.steps
        summary = self._plan_summary(document)
        sections = self._plan_sections(document) if self.options.run.sections_by_model else None
        if document.extraction is not None:
            return
        chunks = chunks_of(
            document, sections or offline_sections(document, run.section), summary, run.chunk, run.header
        )
        shown = summary.summary if len(chunks) > 1 else ""
        events = self._plan_events(document, readable(chunks), shown)
        keys = self._plan_keys(document, events)
        if self.options.run.triples_by_model:
            self._plan_triples(document, list(events), keys)

    def add_to(self, found: Estimate, asked_before: set[str]) -> None:
        """Add the calls: questions asked together are one call, and a repeated question is asked once."""
        for step, asked in self.paid.items():
            fresh = [one for one in asked if _identity(one[0]) not in asked_before]
            found.usage[step] += Usage(0, len(asked) - len(fresh))
            for wave in self._waves(asked) if step == "keys" else [fresh]:
                self._add_calls(found, step, [one for one in wave if _identity(one[0]) not in asked_before])
        for step, count in self.cached_counts.items():
            found.usage[step] += Usage(0, count)
        asked_before |= {_identity(request) for asked in self.paid.values() for request, _ in asked}

    def _waves(self, asked: Sequence[tuple[Request[Any], float]]) -> Iterator[Sequence[tuple[Request[Any], float]]]:
        """The paid questions about keys, wave by wave."""
        run, keys = self.options.run, sorted(self.keys, key=lambda one: one.shares)
        for wave in waves([one.events for one in keys], self.known, run.chat.concurrency):
            yield [asked[one.paid] for one in keys[wave] if one.paid is not None]

    def _add_calls(self, found: Estimate, step: str, fresh: Sequence[tuple[Request[Any], float]]) -> None:
        alone: set[str] = set()
        for group in batch_parts((request for request, _ in fresh), lambda _: False, self.options.run.batch):
            expected = sum(fresh[place][1] for place, _ in group)
            same = _identity(group[0][1])
            if len(group) == 1 and same in alone:
                found.usage[step] += Usage(0, 1)
                continue
            if len(group) == 1:
                alone.add(same)
            found.usage[step] += self._usage_of(step, [request for _, request in group], expected)

    def _usage_of(self, step: str, group: Sequence[Request[Any]], expected: float) -> Usage:
        part = group[0].part
        merged = group[0] if part is None else part.merge([request.part for request in group])
        known = self.options.guess.known_tokens if step == "keys" else 0
        return Usage(1, 0, request_tokens(merged) + known, round(expected))

    def _take(self, request: Request[AnswerT], received: float) -> AnswerT | None:
        answer = self.cached(request)
        if answer is None:
            self.paid[request.step].append((request, received))
        else:
            self.cached_counts[request.step] += 1
        return answer

    def _plan_summary(self, document: Document) -> Summary:
        """The summary, cached or expected, with the title, if it is asked for and cached."""
        options = self.options.run.summary
        asked = summary_request(document, options, language=self.options.language)
        answer = self._take(asked, self.options.guess.summary_tokens) if asked is not None else None
        found = summary_from_reply(document, answer, options) if answer else summarise(document, options)
        return replace(found, made_title=self._plan_title(document))

    def _plan_title(self, document: Document) -> str | None:
        is_wanted = self.options.run.header.title_by_model
        asked = title_request(document, language=self.options.language) if is_wanted else None
        answer = self._take(asked, self.options.guess.title_tokens) if asked is not None else None
        return title_from_reply(answer) if answer else None

    def _plan_sections(self, document: Document) -> list[Section]:
        """The sections, cached or by rules."""
        options, guess = self.options.run, self.options.guess
        expected = offline_sections(document, options.section)
        requests = section_requests(document, options.section)
        received = guess.tokens_per_section * len(expected) / max(1, len(requests))
        answers = [self._take(request, received) for request in requests]
        replies = [Reply(answer) for answer in answers if answer is not None]
        if len(replies) == len(requests):
            expected = sections_from_replies(document, replies, options.section)
        if options.header.section_summary:
            for request in section_summary_requests(document, expected):
                self._take(request, guess.section_summary_tokens)
        return expected

    def _plan_events(self, document: Document, chunks: Sequence[Chunk], summary: str) -> dict[Event, bool]:
        """The events, cached or expected; True for a cached one."""
        events: dict[Event, bool] = {}
        requests = event_requests(document, chunks, summary, language=self.options.language)
        for chunk, request in zip(chunks, requests, strict=True):
            expected = [event for own in offline_events(document, [chunk]) for event in own]
            received = sum(estimate_tokens(event.content) + _LIST_TOKENS for event in expected)
            answer = self._take(request, received * self.options.guess.event_overhead)
            if answer is None:
                events |= dict.fromkeys(expected, False)
            else:
                events |= dict.fromkeys(events_from_reply(document, chunk, answer), True)
        return events

    def _plan_keys(self, document: Document, events: Mapping[Event, bool]) -> list[EventKey]:
        """The keys, cached or by rules."""
        guess, options = self.options.guess, self.options.run.key
        keys: list[EventKey] = []
        for question in key_questions(document, list(events), options=options, language=self.options.language):
            received = guess.key_tokens_per_question + guess.key_tokens_per_event * len(question.events)
            is_certain = all(events[event] for event in question.events)
            answer = self._take(question.request, received) if is_certain else None
            if not is_certain:
                self.paid["keys"].append((question.request, received))
            paid = len(self.paid["keys"]) - 1 if answer is None else None
            self.keys.append(_KeysAsked(question.shares, len(question.events), paid))
            if paid is not None:
                self.asked_events[prompt_language(document, self.options.language)] += len(question.events)
            if answer is None:
                keys += _guessed_keys(document, question.events)
            else:
                keys += joined_keys(document, question.events, answer, options).keys
        return keys

    def _plan_triples(self, document: Document, events: Sequence[Event], keys: Sequence[EventKey]) -> None:
        guess = self.options.guess
        for question in triple_questions(document, events, keys, language=self.options.language):
            received = guess.triple_tokens_per_question + guess.triple_tokens_per_event * len(question.events)
            self._take(question.request, received)


def _guessed_keys(document: Document, events: Sequence[Event]) -> list[EventKey]:
    """Keys by rules; an event in which they find one name has the document's title as the second of a model."""
    found = offline_keys(document, (), events)
    alone = [event for event in events if len(names_by_event(found).get(event.event_id, ())) == 1]
    title = make_key(ENTITY, document.title)
    return found + [EventKey(document.document_id, event.event_id, title) for event in alone if title]


def _identity(request: Request[Any]) -> str:
    """The identity of a request within one run and model."""
    return "\x1f".join((request.step, request.identity or f"{request.system}\x1f{request.prompt}"))
