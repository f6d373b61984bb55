"""A chat model that caches every answer, asks short requests together and records what each call cost."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, Self, TypeVar

from sag_retrieval.core.errors import AnswerError, BudgetExceeded, ModelError, ModelUnavailable
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.settings import Settings
from sag_retrieval.models.answer_cache import ANSWERS, AnswerCache, Answered, call_id
from sag_retrieval.models.calls import give_up, in_order, or_raise
from sag_retrieval.models.open import open_chat
from sag_retrieval.models.openai import WINDOW, request_tokens
from sag_retrieval.models.protocols import AnswerT, ChatModel, Part, Reply, Request, Usage
from sag_retrieval.models.rate_limits import ChatOptions


@dataclass(frozen=True, slots=True)
class Call:
    """One row of the table `calls` (`sag_retrieval/release/schema.py`), and how many requests it took."""

    call_id: str
    document_id: str
    step: str
    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    is_cached: bool
    cost: float | None
    requests: int = 1
    """0 for an answer that came with the request of another one."""


def cost_of(calls: Sequence[Call]) -> dict[str, float]:
    """Calls, tokens and money of a step, for its metadata."""
    paid = [call for call in calls if not call.is_cached]
    return {
        "calls": sum(call.requests for call in paid),
        "cached_calls": len(calls) - len(paid),
        "input_tokens": sum(call.input_tokens for call in paid),
        "output_tokens": sum(call.output_tokens for call in paid),
        "cost": round(sum(call.cost or 0.0 for call in paid), 6),
    }


_CONCURRENCY = 16
_LAST_SECONDS = 3.0
"""What running calls get to end when the process is asked to end: Docker waits ten seconds for all of it."""


def split_shares(usage: Usage, weights: Sequence[int]) -> list[Usage]:
    """Divide a usage by weight so that the tokens add up exactly; the first share gets the call."""
    total = max(1, sum(weights))
    found: list[Usage] = []
    given = Usage()
    for place, weight in enumerate(weights):
        is_last = place == len(weights) - 1
        sent = usage.input_tokens - given.input_tokens if is_last else usage.input_tokens * weight // total
        received = usage.output_tokens - given.output_tokens if is_last else usage.output_tokens * weight // total
        own = Usage(usage.calls if place == 0 else 0, 0, sent, received, usage.seconds * weight / total)
        found.append(own)
        given += own
    return found


LOOK_AHEAD = 256
"""Requests that a group waits for more of its kind; answers are returned in order, so no other request waits longer."""
OPEN_GROUPS = 4
"""Groups of one kind and source that a request may join."""
_WHOLE = 1 + 1e-9
"""Weights are shares, whose sum in floating point may be a little more than 1."""

RequestGroup = list[tuple[int, Request[AnswerT]]]
"""Requests asked together, each with its position among all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits(CheckedOptions):
    """How many passages, or groups of events, one call to the language model asks about."""

    parts: Annotated[int, Bounds(1)] = 20
    """Passages, or chunks with events, that one call asks about: more are cheaper, fewer are read more closely."""
    tokens: Annotated[int, Bounds(1)] = 2_500
    """Tokens of the passages or events in one call; a longer passage is asked about alone."""
    mixed_sources: Annotated[bool, Internal()] = False
    """Let documents of different sources share a call: cheaper where many sources have a few short documents each, but
    what a text says to the model is then read next to texts of others."""


class Numbered(Protocol):
    """An answer about an event, as a frozen pydantic model."""

    @property
    def event(self) -> int:
        """Number of the event."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """The same with other values."""


NumberedT = TypeVar("NumberedT", bound=Numbered)


def answers_of_parts(sizes: Iterable[int], answers: Sequence[NumberedT]) -> Iterator[list[NumberedT]]:
    """The answers about each part, of `sizes` events, of a question that numbered all events; numbered from 1 again."""
    first = 1
    for size in sizes:
        own = [one for one in answers if first <= one.event < first + size]
        yield [one.model_copy(update={"event": one.event - first + 1}) for one in own]
        first += size


def batch_parts(
    requests: Iterable[Request[AnswerT]], is_cached: Callable[[Request[AnswerT]], bool], limits: BatchLimits
) -> Iterator[RequestGroup[AnswerT]]:
    """Groups of requests of one kind and source within the limits, each with its position; cached ones stay alone.

    A request joins the first open group that it fits in, so that a long one ends no group which shorter ones can still
    fill. Source: docs/algorithm.md §extraction.25.
    """
    held: dict[tuple[str, str], list[_OpenGroup]] = {}
    for place, request in enumerate(requests):
        part = None if is_cached(request) else request.part
        if part is None:
            yield [(place, request)]
            continue
        groups = held.setdefault((part.kind, "" if limits.mixed_sources else part.source), [])
        if not any(group.takes(place, request, part, limits) for group in groups):
            groups.append(_OpenGroup([(place, request)], part.size, part.weight))
        if len(groups) > OPEN_GROUPS:
            yield groups.pop(0).requests
        for waiting in held.values():
            while waiting and place - waiting[0].requests[0][0] >= LOOK_AHEAD:
                yield waiting.pop(0).requests
    yield from (group.requests for groups in held.values() for group in groups)


@dataclass(slots=True)
class _OpenGroup:
    """A group that further requests may join."""

    requests: RequestGroup[Any]
    size: int
    weight: float

    def takes(self, place: int, request: Request[Any], part: Part, limits: BatchLimits) -> bool:
        size, weight = self.size + part.size, self.weight + part.weight
        if len(self.requests) >= limits.parts or size > limits.tokens or weight > _WHOLE:
            return False
        self.requests.append((place, request))
        self.size, self.weight = size, weight
        return True


class CachedChat:
    """A `ChatModel` that answers from a cache, else asks `inner` and stores the answer before returning it.

    Equal requests that are running at the same time are asked once. Each call runs in its own thread, so that an answer
    is on disk as soon as it arrives. Source: docs/algorithm.md §extraction.25.
    """

    def __init__(self, inner: ChatModel, cache: AnswerCache, *, limits: BatchLimits | None = None) -> None:
        """`limits`: what one call asks; concurrency and prices are those of `inner`, if it has options."""
        options: ChatOptions | None = getattr(inner, "options", None)
        self._limits = limits or BatchLimits()
        self._inner = inner
        self._cache = cache
        self._concurrency = options.concurrency if options else _CONCURRENCY
        self._prices = options.prices if options else None
        self._fingerprint: str = getattr(inner, "fingerprint", inner.model_id)
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Answered]] = {}
        self._calls: list[Call] = []
        self._asks_again: Callable[[Request[Any]], bool] = lambda _: False
        self._renewed: set[str] = set()

    def ask_again(self, asks_again: Callable[[Request[Any]], bool]) -> None:
        """Use no answer of an earlier run to these requests; new answers replace them."""
        self._asks_again = asks_again

    @property
    def model_id(self) -> str:
        """The inner model's."""
        return self._inner.model_id

    @property
    def fingerprint(self) -> str:
        """The inner model's."""
        return self._fingerprint

    def cost_so_far(self) -> dict[str, float]:
        """What the calls since the last `take_calls` took and cost."""
        with self._lock:
            return cost_of(self._calls)

    def take_calls(self) -> list[Call]:
        """Calls since the last time, sorted: rows for the table `calls`."""
        with self._lock:
            taken, self._calls = self._calls, []
        return sorted(taken, key=lambda call: (call.document_id, call.step, call.call_id, call.is_cached))

    def find(self, request: Request[AnswerT]) -> AnswerT | None:
        """The cached answer to a request, or None; the model is not asked."""
        found = self._find(call_id(self._fingerprint, request), request)
        return request.answer.model_validate_json(found.answer) if found else None

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The answer to one request (see `ChatModel`)."""
        key = call_id(self._fingerprint, request)
        found = self._find(key, request)
        if found is not None:
            return self._reply(found, request, Usage(0, 1))
        with self._lock:
            other = self._under_way.get(key)
            mine: Future[Answered] = Future()
            if other is None:
                self._under_way[key] = mine
        if other is not None:
            return self._reply(other.result(), request, Usage(0, 1))
        try:
            answered, usage = self._pay(key, request)
        except BaseException as error:
            self._finish(key)
            mine.set_exception(error)
            raise
        self._finish(key)
        mine.set_result(answered)
        return self._reply(answered, request, usage)

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """Answers in the order of the requests (see `ChatModel`), those without a cached one asked together in groups.

        When the process is asked to end, running calls get three seconds to be finished and their answers stored.
        """
        threads, ended = ThreadPoolExecutor(self._concurrency, thread_name_prefix="sag-cached"), threading.Event()

        def start(group: RequestGroup[AnswerT]) -> Future[dict[int, Reply[AnswerT] | ModelError]]:
            return threads.submit(self._ask_together, group, ended)

        ready: dict[int, Reply[AnswerT] | ModelError] = {}
        place = 0
        groups = batch_parts(requests, self._is_cached, self._limits)
        try:
            for found in in_order(groups, start, WINDOW * self._concurrency):
                ready.update(or_raise(found))
                while place in ready:
                    yield ready.pop(place)
                    place += 1
        except (Exception, GeneratorExit):
            raise
        except BaseException:  # Ctrl-C or SIGTERM, also as Dagster raises them: who sent it waits for the process
            ended.set()
            give_up(_LAST_SECONDS)
            raise
        finally:
            threads.shutdown(cancel_futures=True)

    def _is_cached(self, request: Request[AnswerT]) -> bool:
        return self._find(call_id(self._fingerprint, request), request) is not None

    def _find(self, key: str, request: Request[Any]) -> Answered | None:
        return None if key not in self._renewed and self._asks_again(request) else self._cache.find(key)

    def _keep(self, answered: Sequence[Answered], requests: Sequence[Request[Any]]) -> None:
        self._cache.keep(*answered, is_newer=any(map(self._asks_again, requests)))
        self._renewed.update(each.call_id for each in answered)

    def _ask_together(
        self, group: RequestGroup[AnswerT], ended: threading.Event
    ) -> dict[int, Reply[AnswerT] | ModelError]:
        """The answers to a group from one call; requests that it leaves unanswered are asked one by one."""
        paid = self._pay_together([request for _, request in group]) if len(group) > 1 and not ended.is_set() else {}
        found: dict[int, Reply[AnswerT] | ModelError] = {}
        for n, (place, request) in enumerate(group):
            if n not in paid and ended.is_set():
                break
            found[place] = paid.get(n) or self._ask_safely(request)
        return found

    def _ask_safely(self, request: Request[AnswerT]) -> Reply[AnswerT] | ModelError:
        try:
            return self.ask(request)
        except (ModelUnavailable, BudgetExceeded):
            raise
        except ModelError as error:
            return error

    def _pay_together(self, group: list[Request[AnswerT]]) -> dict[int, Reply[AnswerT]]:
        """Answers by position, stored; none if the joint answer cannot be used."""
        parts = [request.part for request in group]
        assert parts[0] is not None
        merged = parts[0].merge(parts)
        try:
            reply = self._inner.ask(merged)
        except (ModelUnavailable, BudgetExceeded):
            raise
        except ModelError as error:
            self._note(call_id(self._fingerprint, merged), merged, getattr(error, "usage", Usage()))
            return {}
        answers = dict(enumerate(parts[0].split(parts, reply.value)))
        found = {place: answer for place, answer in answers.items() if answer is not None}
        shares = split_shares(reply.usage, [len(group[place].prompt) for place in found])
        kept = [
            self._answered(call_id(self._fingerprint, group[place]), group[place], answer, usage)
            for (place, answer), usage in zip(found.items(), shares, strict=True)
        ]
        self._keep(kept, group)
        for (place, _), usage in zip(found.items(), shares, strict=True):
            self._note(call_id(self._fingerprint, group[place]), group[place], usage)
        return {p: Reply(a, usage) for (p, a), usage in zip(found.items(), shares, strict=True)}

    def _pay(self, key: str, request: Request[AnswerT]) -> tuple[Answered, Usage]:
        kept = self._find(key, request)  # another thread may have stored it since the first look-up
        if kept is not None:
            return kept, Usage(0, 1)
        try:
            reply = self._inner.ask(request)
        except AnswerError as error:
            self._note(key, request, getattr(error, "usage", Usage(1)))
            raise
        answered = self._answered(key, request, reply.value, reply.usage)
        self._keep([answered], [request])
        return answered, reply.usage

    def _answered(self, key: str, request: Request[AnswerT], answer: AnswerT, usage: Usage) -> Answered:
        return Answered(
            key,
            answer.model_dump_json(),
            request.document_id,
            request.step,
            self.model_id,
            usage.input_tokens,
            usage.output_tokens,
            usage.seconds,
            usage.calls,
            self._prices.cost(usage) if self._prices else None,
            request_tokens(request),
        )

    def _finish(self, key: str) -> None:
        with self._lock:
            self._under_way.pop(key, None)

    def _reply(self, answered: Answered, request: Request[AnswerT], usage: Usage) -> Reply[AnswerT]:
        self._note(answered.call_id, request, usage)
        return Reply(request.answer.model_validate_json(answered.answer), usage)

    def _note(self, key: str, request: Request[Any], usage: Usage) -> None:
        is_cached = usage.cached_calls > 0
        cost = self._prices.cost(usage) if self._prices else None
        tokens = (usage.input_tokens, usage.output_tokens)
        call = Call(
            key, request.document_id, request.step, self.model_id, *tokens, usage.seconds, is_cached, cost, usage.calls
        )
        with self._lock:
            self._calls.append(call)


@contextmanager
def open_cached_chat(
    settings: Settings, options: ChatOptions | None = None, limits: BatchLimits | None = None
) -> Iterator[CachedChat | None]:
    """The language model that the settings name, with the cache of the home; None for `offline`."""
    chat = open_chat(settings, options)
    if chat is None:
        yield None
        return
    with AnswerCache(Path(settings.home) / ANSWERS) as cache:
        cache.keep(*getattr(chat, "answers", ()))
        yield CachedChat(chat, cache, limits=limits)
