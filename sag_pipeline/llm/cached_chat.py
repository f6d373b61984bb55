"""A language model that never pays for one answer twice, and writes down what each call cost."""

import json
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel
from sag_retrieval.models.calls import in_order

from sag_pipeline.llm.answer_cache import AnswerCache, Answered
from sag_pipeline.llm.cached_chat import BatchLimits, batch_parts, split_shares
from sag_retrieval.core.errors import AnswerError, BudgetExceeded, ModelError, ModelUnavailable
from sag_retrieval.models.openai import request_tokens
from sag_retrieval.models.protocols import AnswerT, ChatModel, Prices, Reply, Request, Usage
from sag_retrieval.models.rate_limits import ChatOptions

_CONCURRENCY = 16
WINDOW = 32
"""Requests taken ahead of the answers handed out, times the concurrency."""


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
    """0 for an answer that came with another one's request."""


def call_id(fingerprint: str, request: Request[AnswerT]) -> str:
    """The hash of everything an answer depends on: model and its options, prompt, shape, bound.

    Who asks and for which document is left out: the same question is paid once. A request's `identity`
    stands for its prompt: an answer stays good when only the help in the prompt changed.
    """
    asked = request.identity or (request.system, request.prompt)
    parts = (fingerprint, asked, request.max_tokens, _schema(request.answer))
    return blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=256)
def _schema(answer: type[BaseModel]) -> str:
    return json.dumps(answer.model_json_schema())


RequestGroup = list[tuple[int, Request[AnswerT]]]
"""Requests asked together, each with its place among all."""


class CachedChat:
    """A `ChatModel` that answers from a cache, else asks `inner` and keeps the answer before handing it out.

    Requests that are alike and under way at the same time are asked once. Each call runs in a thread of its
    own, so that an answer is on disk as soon as it came, whatever answers before it are still waited for.

    Source:
        docs/algorithm.md §extraction.25.

    """

    def __init__(
        self,
        inner: ChatModel,
        cache: AnswerCache,
        *,
        concurrency: int | None = None,
        prices: Prices | None = None,
        bounds: BatchLimits | None = None,
    ) -> None:
        """`concurrency`, `prices` None: those of `inner`, if it has options; `bounds`: what is asked together."""
        self._bounds = bounds or BatchLimits()
        options: ChatOptions | None = getattr(inner, "options", None)
        self._inner = inner
        self._cache = cache
        self._concurrency = concurrency or (options.concurrency if options else _CONCURRENCY)
        self._prices: Prices | None = prices or (options.prices if options else None)
        self._fingerprint: str = getattr(inner, "fingerprint", inner.model_id)
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Answered]] = {}
        self._calls: list[Call] = []

    @property
    def model_id(self) -> str:
        """The inner model's."""
        return self._inner.model_id

    @property
    def fingerprint(self) -> str:
        """The inner model's."""
        return self._fingerprint

    def take_calls(self) -> list[Call]:
        """Calls since the last time, in the order of their ids: rows for the table `calls`."""
        with self._lock:
            taken, self._calls = self._calls, []
        return sorted(taken, key=lambda call: (call.document_id, call.step, call.call_id, call.is_cached))

    def find(self, request: Request[AnswerT]) -> AnswerT | None:
        """The kept answer to a request, or None: nothing is asked."""
        found = self._cache.find(call_id(self._fingerprint, request))
        return request.answer.model_validate_json(found.answer) if found else None

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The answer to one request (see `ChatModel`)."""
        key = call_id(self._fingerprint, request)
        found = self._cache.find(key)
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
        """Answers in the order of the requests (see `ChatModel`); calls under way are finished and kept.

        Requests that may be asked together are, as far as their answers are not kept; each part is kept by itself.
        """
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="sag-cached") as threads:

            def start(group: RequestGroup[AnswerT]) -> Future[dict[int, Reply[AnswerT] | ModelError]]:
                return threads.submit(self._ask_together, group)

            ready: dict[int, Reply[AnswerT] | ModelError] = {}
            place = 0
            for found in in_order(
                batch_parts(requests, self._is_kept, self._bounds), start, WINDOW * self._concurrency
            ):
                if isinstance(found, ModelError):
                    raise found
                ready.update(found)
                while place in ready:
                    yield ready.pop(place)
                    place += 1

    def _is_kept(self, request: Request[AnswerT]) -> bool:
        return self._cache.find(call_id(self._fingerprint, request)) is not None

    def _ask_together(self, group: RequestGroup[AnswerT]) -> dict[int, Reply[AnswerT] | ModelError]:
        """The answers to a group: by one call if it can be divided, what is missing then by calls of its own."""
        paid = self._pay_together([request for _, request in group]) if len(group) > 1 else {}
        return {place: paid.get(n) or self._ask_safely(request) for n, (place, request) in enumerate(group)}

    def _ask_safely(self, request: Request[AnswerT]) -> Reply[AnswerT] | ModelError:
        try:
            return self.ask(request)
        except (ModelUnavailable, BudgetExceeded):
            raise
        except ModelError as error:
            return error

    def _pay_together(self, group: list[Request[AnswerT]]) -> dict[int, Reply[AnswerT]]:
        """Answers by place, kept; none if the one answer cannot be used."""
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
        self._cache.keep(*kept)
        for (place, _), usage in zip(found.items(), shares, strict=True):
            self._note(call_id(self._fingerprint, group[place]), group[place], usage)
        return {p: Reply(a, usage) for (p, a), usage in zip(found.items(), shares, strict=True)}

    def _pay(self, key: str, request: Request[AnswerT]) -> tuple[Answered, Usage]:
        kept = self._cache.find(key)  # it may have come between the first look and the entry under way
        if kept is not None:
            return kept, Usage(0, 1)
        try:
            reply = self._inner.ask(request)
        except AnswerError as error:
            self._note(key, request, getattr(error, "usage", Usage(1)))
            raise
        answered = self._answered(key, request, reply.value, reply.usage)
        self._cache.keep(answered)
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
        call = Call(
            key,
            request.document_id,
            request.step,
            self.model_id,
            usage.input_tokens,
            usage.output_tokens,
            usage.seconds,
            is_cached,
            cost,
            usage.calls,
        )
        with self._lock:
            self._calls.append(call)
