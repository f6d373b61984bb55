"""Limits on model calls: rates per minute, pauses between attempts, a circuit breaker, a budget."""

import asyncio
import math
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Annotated, Literal

from sag_retrieval.core.errors import BudgetExceeded, ModelUnavailable
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.models.protocols import Prices, Usage

_SECONDS = re.compile(r"\d+(\.\d+)?")


StructuredMode = Literal["json_schema", "json_object", "text"]
ReasoningEffort = Literal["default", "none", "minimal", "low", "medium", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(CheckedOptions):
    """Options of model calls. None: no limit. Source: docs/algorithm.md §extraction.23."""

    concurrency: Annotated[int, Bounds(1)] = 16
    """Concurrent calls, at most: fewer while the server lets requests wait."""
    timeout_seconds: Annotated[float, Bounds(0, above=True)] = 120.0
    """Longest silence of the server, before an answer or within it; the whole of an answer may take longer."""
    tries: Annotated[int, Bounds(1)] = 6
    """Attempts per call: the first, and repeats after rate limiting, server errors and lost connections."""
    first_pause_seconds: Annotated[float, Bounds(0), Internal()] = 0.5
    """Before the second attempt; doubled each time, with jitter, never below Retry-After."""
    longest_pause_seconds: Annotated[float, Bounds(0), Internal()] = 60.0
    """Longest pause between two attempts."""
    requests_per_minute: Annotated[int, Bounds(1)] | None = None
    """Requests that the server allows per minute; calls wait."""
    tokens_per_minute: Annotated[int, Bounds(1)] | None = None
    """Tokens, sent and received, that the server allows per minute; calls wait."""
    failures_until_down: Annotated[int, Bounds(1)] = 12
    """Consecutive failed attempts, over all calls, until the server counts as down."""
    patience_seconds: Annotated[float, Bounds(0)] = 10.0
    """How long these failures must last: a server that restarts quickly is not down."""
    down_seconds: Annotated[float, Bounds(0), Internal()] = 30.0
    """How long a server counts as down before one call tries it again."""
    max_calls: Annotated[int, Bounds(0)] | None = None
    """Budget of a step: calls."""
    max_tokens: Annotated[int, Bounds(0)] | None = None
    """Budget of a step: tokens sent and received."""
    max_cost: Annotated[float, Bounds(0)] | None = None
    """Budget of a step, in the unit of the prices."""
    temperature: Annotated[float, Bounds(0)] | None = 0.0
    """Sampling temperature; none: the server decides."""
    seed: Annotated[int | None, Internal()] = None
    """Seed of the model's sampling, if the server supports it."""
    reasoning_effort: ReasoningEffort = "default"
    """How long a reasoning model thinks before it answers: less is cheaper; default: nothing is said of it."""
    structured: StructuredMode = "json_schema"
    """How the shape of an answer is asked for first; a server that refuses it is asked the next way."""
    prices: Prices | None = None
    """Prices per million tokens as `input/output`, such as 0.25/2; none: costs are given in tokens alone."""
    max_answer_tokens: Annotated[int, Bounds(1)] | None = 8_192
    """Longest answer if a request sets none; a short request gets less, as its answer will be short."""


@dataclass(slots=True)
class TokenBucket:
    """Spreads amounts so that any 60 seconds have at most `per_minute`; a single larger amount passes alone.

    A second's share may pass at once and the rest is spread evenly, as servers count in windows below a minute.
    """

    per_minute: int
    _free_at: float = 0.0

    def wait_seconds(self, amount: float, now: float) -> float:
        """Book an amount; returns how long to wait before using it."""
        burst = max(1.0, self.per_minute / 60.0)
        rate = max(self.per_minute - burst, 1.0) / 60.0
        self._free_at = max(self._free_at, now - burst / rate)
        wait = max(0.0, self._free_at + min(amount, burst) / rate - now)
        self._free_at += amount / rate
        return wait

    def correct(self, difference: float) -> None:
        """Book the difference between the real amount and the booked one."""
        self._free_at += difference * 60.0 / max(self.per_minute - self.per_minute / 60.0, 1.0)


@dataclass(slots=True)
class CircuitBreaker:
    """Opens after consecutive failures over some time; then one call may try per `down_seconds`."""

    options: ChatOptions
    clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _first_at: float = 0.0
    _try_at: float = 0.0
    _fault: str = ""

    def check(self) -> None:
        """Raise if the server is down."""
        now = self.clock()
        if self._failures < self.options.failures_until_down:
            return
        if now - self._first_at < self.options.patience_seconds:
            return
        if now < self._try_at:
            raise ModelUnavailable(
                f"{self._failures} tries failed in a row, the last with {self._fault}; start the server "
                "or wait, then run the same command again: what was answered is kept"
            )
        self._try_at = now + self.options.down_seconds

    def succeeded(self) -> None:
        """Record an answer."""
        self._failures = 0

    def failed(self, fault: str) -> None:
        """Record a failed attempt."""
        now = self.clock()
        if self._failures == 0:
            self._first_at = now
        self._failures += 1
        self._fault = fault
        self._try_at = now + self.options.down_seconds


def pause_seconds(failed_tries: int, options: ChatOptions, asked: float | None, draw: Callable[[], float]) -> float:
    """How long to wait after a failed attempt: doubling, with jitter, never below what the server asked for.

    `min(longest, first · 2^(n-1)) · u`, u uniform in [0.5, 1), plus the server's Retry-After.
    """
    longest = min(options.longest_pause_seconds, options.first_pause_seconds * 2.0 ** (failed_tries - 1))
    return (asked or 0.0) + longest * (0.5 + 0.5 * draw())


def retry_after_seconds(header: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Seconds a Retry-After header asks for, as a number or a date; None if it cannot be read."""
    if not header:
        return None
    if _SECONDS.fullmatch(header.strip()):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now())
    except ValueError:
        return None


@dataclass(slots=True)
class RateLimiter:
    """Limits concurrency and rates of calls, and holds all calls while the server asks for a pause."""

    options: ChatOptions
    draw: Callable[[], float] = field(default_factory=lambda: random.Random(0).random)  # noqa: S311  jitter
    _paces: dict[str, TokenBucket] = field(init=False)
    _quiet_until: float = 0.0
    _limit: float = field(init=False)
    _under_way: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _narrowed_at: float = 0.0
    _least_seconds: float = math.inf

    def __post_init__(self) -> None:
        options = self.options
        self._limit = options.concurrency
        rates = {"requests": options.requests_per_minute, "tokens": options.tokens_per_minute}
        self._paces = {name: TokenBucket(rate) for name, rate in rates.items() if rate is not None}

    async def __aenter__(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < int(self._limit))
            self._under_way += 1

    async def __aexit__(self, *_: object) -> None:
        self._under_way -= 1
        async with self._changed:
            self._changed.notify(max(0, int(self._limit) - self._under_way))

    def adapt(self, sent: float, seconds: float) -> None:
        """Adapt the concurrency to how long a request waited for the first word of its answer.

        Who waits a quarter of `timeout_seconds`, and four times as long as the fastest, waits in a queue: half as many
        calls are made at a time. Each answer that begins sooner allows a little more again.
        """
        self._least_seconds = min(self._least_seconds, seconds)
        if seconds > max(self.options.timeout_seconds / 4, 4 * self._least_seconds):
            self.narrow(sent)
        else:
            self._limit = min(self.options.concurrency, self._limit + 1 / self._limit)

    def narrow(self, sent: float = math.inf) -> None:
        """Make half as many calls at a time, unless that was done after this request was sent."""
        if sent >= self._narrowed_at:
            self._limit, self._narrowed_at = max(1.0, self._limit / 2), time.monotonic()

    async def wait(self, tokens: int) -> None:
        """Wait until one request with this number of tokens may be sent."""
        now = time.monotonic()
        amounts = {"requests": 1, "tokens": tokens}
        waits = [pace.wait_seconds(amounts[name], now) for name, pace in self._paces.items()]
        delay = max([self._quiet_until - now, *waits])
        if delay > 0:
            await asyncio.sleep(delay)

    def pause(self, seconds: float) -> None:
        """Hold every call for this time: the server is overloaded."""
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)

    def correct(self, tokens: int) -> None:
        """Correct the rate limit by the tokens that a call used above (or below) the estimate."""
        if "tokens" in self._paces:
            self._paces["tokens"].correct(tokens)


@dataclass(slots=True)
class Budget:
    """Adds up the cost of calls, including calls in progress, and refuses a call that would exceed a limit."""

    options: ChatOptions
    spent: Usage = field(default_factory=Usage)
    _booked: Usage = field(default_factory=Usage)
    _is_spent: bool = False

    def book(self, expected: Usage) -> None:
        """Reserve an expected cost."""
        after = self.spent + self._booked + expected
        options = self.options
        bounds = (
            ("calls", after.calls, options.max_calls),
            ("tokens", after.input_tokens + after.output_tokens, options.max_tokens),
            ("money", options.prices.cost(after) if options.prices else 0.0, options.max_cost),
        )
        for name, value, bound in bounds:
            if self._is_spent or (bound is not None and value > bound):
                self._is_spent = True
                raise BudgetExceeded(
                    f"the next call would bring {name} to {value:g}, the budget is {bound:g}; "
                    "raise it and run the same command again: what was answered is kept"
                )
        self._booked += expected

    def settle(self, expected: Usage, real: Usage) -> None:
        """Replace an expected cost by the real one."""
        self._booked = Usage(
            self._booked.calls - expected.calls,
            0,
            self._booked.input_tokens - expected.input_tokens,
            self._booked.output_tokens - expected.output_tokens,
        )
        self.spent += real
