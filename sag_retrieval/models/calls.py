"""Calls to a model server: the event loop they run on, retries with pauses, and errors when the server is gone."""

import asyncio
import atexit
import os
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from sag_retrieval.core.errors import AnswerError, BudgetExceeded, ModelError, ModelUnavailable, SagError
from sag_retrieval.core.telemetry import count
from sag_retrieval.models.protocols import Usage
from sag_retrieval.models.rate_limits import (
    ChatOptions,
    CircuitBreaker,
    RateLimiter,
    pause_seconds,
    retry_after_seconds,
)

RequestT = TypeVar("RequestT")
ResultT = TypeVar("ResultT")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def loop() -> asyncio.AbstractEventLoop:
    """The running event loop of this process; a forked process gets a new one."""
    with _lock:
        if os.getpid() not in _loops:
            _loops.clear()
            made = _loops[os.getpid()] = asyncio.new_event_loop()
            thread = threading.Thread(target=made.run_forever, name="sag-models", daemon=True)
            thread.start()
            atexit.register(_end, made, thread)
        return _loops[os.getpid()]


_SECONDS_TO_END = 2.0
"""How long the thread of the loop, and those that wait for its answers, may take to end with the process."""


def _end(made: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End the loop with the process: a thread that still runs keeps what libraries then report as leaked."""

    async def stop() -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        made.stop()

    if thread.is_alive():
        last = time.monotonic() + _SECONDS_TO_END
        asyncio.run_coroutine_threadsafe(stop(), made)
        thread.join(_SECONDS_TO_END)
        for waited in threading.enumerate():  # who waited for an answer learns here that none comes
            if waited.daemon and waited.name.startswith("sag-ask"):
                waited.join(max(last - time.monotonic(), 0.0))


_running: set[Future[Any]] = set()


def submit(work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
    """Start a coroutine on the loop."""
    future = asyncio.run_coroutine_threadsafe(work, loop())
    _running.add(future)
    future.add_done_callback(_running.discard)
    return future


def give_up(seconds: float) -> None:
    """Let what was started end within a number of seconds, then cancel it: the process is asked to end."""
    _, late = wait([*_running], seconds)
    for future in late:
        future.cancel()


def in_order(
    asked: Iterable[RequestT], start: Callable[[RequestT], Future[ResultT]], window: int
) -> Iterator[ResultT | ModelError]:
    """Results, or errors, in the order of the requests; at most `window` are started and not yet yielded."""
    waiting: deque[Future[ResultT]] = deque()
    try:
        for one in asked:
            waiting.append(start(one))
            if len(waiting) >= window or waiting[0].done():
                result = _result(waiting.popleft())
                yield result
        while waiting:
            result = _result(waiting.popleft())
            yield result
    finally:
        for future in waiting:
            future.cancel()


def _result(future: "Future[ResultT]") -> ResultT | ModelError:
    try:
        return future.result()
    except (ModelUnavailable, BudgetExceeded):
        raise
    except ModelError as error:
        return error


def or_raise(result: ResultT | ModelError) -> ResultT:
    """A result; an error in place of one is raised."""
    if isinstance(result, ModelError):
        raise result
    return result


class FaultKind(Enum):
    """Kinds of failed requests, by how they are handled."""

    BUSY = "the server is overloaded: wait, and delay all other calls"
    BROKEN = "the server or the connection failed: try again"
    SILENT = "the server took the request and says nothing: try once more"
    REFUSED = "the request is invalid: repeating it does not help"
    BARRED = "no request can succeed: wrong key, wrong model, no credit"


@dataclass(frozen=True, slots=True)
class CallFault:
    """A failed attempt: its kind, the message, and how long the server asked to wait."""

    kind: FaultKind
    message: str
    retry_after: float | None = None


class Refused(Exception):  # noqa: N818  always caught: the request is rephrased, or another error is raised
    """The server refused the request in this form."""


class UnusableAnswer(AnswerError):  # noqa: N818  an AnswerError with its cost
    """An answer that could not be parsed, with its cost."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


_LONGEST_QUEUE = 10
_BARRED = {401, 402, 403, 404}
_BROKEN = {408, 409, 425}


def fault_of(error: Exception) -> CallFault:
    """Classify an exception of the `openai` package or a timeout."""
    status = getattr(error, "status_code", None)
    message = f"{status or type(error).__name__}: {_words(error)}"
    if status is None:
        return CallFault(FaultKind.SILENT if type(error) is TimeoutError else FaultKind.BROKEN, message)
    wait = retry_after_seconds(error.response.headers.get("retry-after"))  # type: ignore[attr-defined]
    if status in _BARRED or getattr(error, "code", None) == "insufficient_quota":
        return CallFault(FaultKind.BARRED, message)
    if status == 429 or (status == 503 and wait is not None):  # noqa: PLR2004  HTTP's own numbers
        return CallFault(FaultKind.BUSY, message, wait)
    if status >= 500 or status in _BROKEN:  # noqa: PLR2004
        return CallFault(FaultKind.BROKEN, message, wait)
    return CallFault(FaultKind.REFUSED, message)


def _words(error: Exception) -> str:
    """The message of the server, shortened."""
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    return " ".join(str(said or error or "no answer in time").split())[:300]


def count_call(model: str, used: Usage) -> None:
    """Count the cost of a call, also of one whose answer is of no use."""
    count("model.calls", used.calls, model=model)
    count("model.tokens", used.input_tokens, model=model, direction="input")
    count("model.tokens", used.output_tokens, model=model, direction="output")


ReplyT = TypeVar("ReplyT")
Heard = Callable[[], None]
"""Called whenever something came of an answer."""


class Silence:
    """Ends calls of which nothing is heard for too long, however long their answers take.

    A call that waits for the first word waits in the server's queue as long as others are answered, up to ten times as
    long as a silence may last.
    """

    def __init__(self, seconds: float, began: Callable[[float, float], None]) -> None:
        """`began` receives when a request was sent and after how many seconds its answer began."""
        self._seconds, self._began = seconds, began
        self._queued: dict[asyncio.Timeout, float] = {}

    @asynccontextmanager
    async def bounded(self) -> AsyncIterator[Heard]:
        """Bound the silence of the call within; gives what it calls when something came."""
        clock = asyncio.get_running_loop().time
        sent = clock()

        def heard() -> None:
            if self._queued.pop(own, None):
                self._began(sent, clock() - sent)
            if not own.expired():
                own.reschedule(clock() + self._seconds)
            for other, last in self._queued.items():
                if not other.expired():
                    other.reschedule(min(clock() + self._seconds, last))

        async with asyncio.timeout(self._seconds) as own:
            self._queued[own] = sent + _LONGEST_QUEUE * self._seconds
            try:
                yield heard
            finally:
                self._queued.pop(own, None)


class Caller:
    """Makes the calls of one model; they share its concurrency, rate limits and circuit breaker."""

    def __init__(self, options: ChatOptions) -> None:
        self._options = options
        self._gate = RateLimiter(options)
        self._breaker = CircuitBreaker(options)
        self._silence = Silence(options.timeout_seconds, self._began)
        self._draw = random.Random(0).random  # noqa: S311  jitter

    async def run(self, send: Callable[[Heard], Awaitable[ReplyT]], tokens: int) -> tuple[ReplyT, float]:
        """The result of `send`, and the seconds its last attempt took; `tokens` is the expected use.

        `send` calls what it is given whenever something came of its answer. A server that is silent for too long is
        asked once more; then the answer is given up, and not the server.
        """
        fault = CallFault(FaultKind.BROKEN, "not tried")
        for attempt in range(1, self._options.tries + 1):
            got = await self._try(send, tokens)
            if not isinstance(got, CallFault):
                return got
            if fault.kind is got.kind is FaultKind.SILENT:
                raise UnusableAnswer(
                    f"no answer: the server said nothing for {self._options.timeout_seconds:g} s, twice; raise "
                    "timeout_seconds, or ask for less at a time",
                    Usage(),
                )
            fault = got
            if attempt < self._options.tries:
                await asyncio.sleep(pause_seconds(attempt, self._options, fault.retry_after, self._draw))
        self._breaker.check()
        raise ModelError(f"no answer after {self._options.tries} tries, the last failed with {fault.message}")

    def correct(self, tokens: int) -> None:
        """Correct the rate limit by the tokens that a call used above (or below) the estimate."""
        self._gate.correct(tokens)

    async def _try(self, send: Callable[[Heard], Awaitable[ReplyT]], tokens: int) -> tuple[ReplyT, float] | CallFault:
        import openai  # noqa: PLC0415  slow to load, and only needed for calls

        async with self._gate:
            await self._gate.wait(tokens)
            self._breaker.check()
            started = time.monotonic()
            try:
                async with self._silence.bounded() as heard:
                    got = await send(heard)
                    heard()
            except SagError:  # some are ValueErrors too, and no other try can help
                raise
            except (openai.OpenAIError, TimeoutError, ValueError) as error:
                fault = fault_of(error)
            else:
                self._breaker.succeeded()
                return got, time.monotonic() - started
            return self._judge(fault)  # outside, so that what it raises does not carry the server's words as a context

    def _began(self, sent: float, seconds: float) -> None:
        """Take note of an answer that began, and how many seconds after its request: the server is there."""
        self._breaker.succeeded()
        self._gate.adapt(sent, seconds)

    def _judge(self, fault: CallFault) -> CallFault:
        if fault.kind is FaultKind.BARRED:
            raise ModelUnavailable(f"{fault.message}; check OPENAI_API_KEY, OPENAI_BASE_URL and the model's name")
        if fault.kind is FaultKind.BUSY:
            self._gate.pause(fault.retry_after or 0.0)
            return fault
        if fault.kind is FaultKind.REFUSED:
            self._breaker.succeeded()
            raise Refused(fault.message)
        if fault.kind is FaultKind.SILENT:
            self._gate.narrow()
        self._breaker.failed(fault.message)
        return fault
