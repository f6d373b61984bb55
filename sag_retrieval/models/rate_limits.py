"""What holds calls back: rates a minute, pauses between tries, a server that is down, a budget."""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Annotated

from sag_retrieval.core.errors import BudgetExceeded, ModelUnavailable
from sag_retrieval.core.options import Bounds, check_options
from sag_retrieval.models.protocols import Prices, Usage

_SECONDS = re.compile(r"\d+(\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How a model is called. None: no bound.

    Source:
        docs/algorithm.md §extraction.23.

    """

    concurrency: Annotated[int, Bounds(1)] = 16
    """Calls under way at once."""
    timeout_seconds: Annotated[float, Bounds(0, above=True)] = 120.0
    """For one try, from sending to the last byte."""
    tries: Annotated[int, Bounds(1)] = 6
    """For one call: the first and its repeats after refusals, faults of the server and cut connections."""
    first_pause_seconds: Annotated[float, Bounds(0)] = 0.5
    """Before the second try; doubled each time, drawn from the upper half, never under Retry-After."""
    longest_pause_seconds: Annotated[float, Bounds(0)] = 60.0
    """Between two tries, however many failed."""
    requests_per_minute: Annotated[int, Bounds(1)] | None = None
    """What the server allows; calls wait for it."""
    tokens_per_minute: Annotated[int, Bounds(1)] | None = None
    """What the server allows, sent and received; calls wait for it."""
    failures_until_down: Annotated[int, Bounds(1)] = 12
    """Tries that fail one after the other, over all calls, until the server counts as down."""
    patience_seconds: Annotated[float, Bounds(0)] = 10.0
    """How long these failures must last: a server that starts again at once is not down."""
    down_seconds: Annotated[float, Bounds(0)] = 30.0
    """How long a server counts as down before one call may try it again."""
    max_calls: Annotated[int, Bounds(0)] | None = None
    """Budget of a step: calls."""
    max_tokens: Annotated[int, Bounds(0)] | None = None
    """Budget of a step: tokens sent and received."""
    max_cost: Annotated[float, Bounds(0)] | None = None
    """Budget of a step, in the unit of the prices."""
    temperature: Annotated[float, Bounds(0)] | None = 0.0
    """How freely the model words its answers; none: the server decides."""
    seed: int | None = None
    """Of the model's random numbers, where its server takes one."""
    prices: Prices | None = None
    """Money for a million tokens, `input/output`, such as 0.25/2; without it costs are told in tokens alone."""
    max_answer_tokens: Annotated[int, Bounds(1)] | None = 8_192
    """Where a request sets no bound of its own: a model that repeats itself ends here."""

    def __post_init__(self) -> None:
        """Refuse counts and times that would never let a call through."""
        check_options(self)


@dataclass(slots=True)
class TokenBucket:
    """Spreads amounts so that any 60 seconds carry at most `per_minute`; a single larger amount goes alone.

    A second's worth may come at once; the rest follows evenly, as servers count in windows below a minute.
    """

    per_minute: int
    _free_at: float = 0.0

    def wait_seconds(self, amount: float, now: float) -> float:
        """Books an amount and says how long to wait before using it."""
        burst = max(1.0, self.per_minute / 60.0)
        rate = max(self.per_minute - burst, 1.0) / 60.0
        self._free_at = max(self._free_at, now - burst / rate)
        wait = max(0.0, self._free_at + min(amount, burst) / rate - now)
        self._free_at += amount / rate
        return wait

    def correct(self, difference: float) -> None:
        """Books what an amount turned out to be more (or less) than said."""
        self._free_at += difference * 60.0 / max(self.per_minute - self.per_minute / 60.0, 1.0)


@dataclass(slots=True)
class CircuitBreaker:
    """Opens after failures in a row over some time; then one call may try, every `down_seconds`."""

    options: ChatOptions
    clock: Callable[[], float] = time.monotonic
    _failures: int = 0
    _first_at: float = 0.0
    _try_at: float = 0.0
    _fault: str = ""

    def check(self) -> None:
        """Passes, or the error of a server that is down.

        Raises:
            ModelUnavailable: If the server is down and it is not yet time to try it again.

        """
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
        """An answer came."""
        self._failures = 0

    def failed(self, fault: str) -> None:
        """A try came to nothing."""
        now = self.clock()
        if self._failures == 0:
            self._first_at = now
        self._failures += 1
        self._fault = fault
        self._try_at = now + self.options.down_seconds


def pause_seconds(failed_tries: int, options: ChatOptions, asked: float | None, draw: Callable[[], float]) -> float:
    """How long to wait after a failed try: doubling, with jitter, never under what the server asked.

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
    """Lets calls through: so many at once, in pace, and none while the server asked for quiet."""

    options: ChatOptions
    draw: Callable[[], float] = field(default_factory=lambda: random.Random(0).random)  # noqa: S311  jitter
    _slots: asyncio.Semaphore = field(init=False)
    _paces: dict[str, TokenBucket] = field(init=False)
    _quiet_until: float = 0.0

    def __post_init__(self) -> None:
        """Make the slots and paces."""
        options = self.options
        self._slots = asyncio.Semaphore(options.concurrency)
        rates = {"requests": options.requests_per_minute, "tokens": options.tokens_per_minute}
        self._paces = {name: TokenBucket(rate) for name, rate in rates.items() if rate is not None}

    async def __aenter__(self) -> None:
        """Take a slot."""
        await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        self._slots.release()

    async def wait(self, tokens: int) -> None:
        """Wait until one request of so many tokens may go."""
        now = time.monotonic()
        amounts = {"requests": 1, "tokens": tokens}
        waits = [pace.wait_seconds(amounts[name], now) for name, pace in self._paces.items()]
        delay = max([self._quiet_until - now, *waits])
        if delay > 0:
            await asyncio.sleep(delay)

    def pause(self, seconds: float) -> None:
        """Hold every call back for so long: the server said it is asked too much."""
        self._quiet_until = max(self._quiet_until, time.monotonic() + seconds)

    def correct(self, tokens: int) -> None:
        """Tell the pace that a call used so many tokens more than said."""
        if "tokens" in self._paces:
            self._paces["tokens"].correct(tokens)


@dataclass(slots=True)
class Budget:
    """Counts what calls cost, including those under way, and refuses the one that would pass a bound."""

    options: ChatOptions
    spent: Usage = field(default_factory=Usage)
    _booked: Usage = field(default_factory=Usage)
    _is_spent: bool = False

    def book(self, expected: Usage) -> None:
        """Sets an expected cost aside.

        Raises:
            BudgetExceeded: If the bound would be passed.

        """
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
        """Replaces an expected cost by the real one."""
        self._booked = Usage(
            self._booked.calls - expected.calls,
            0,
            self._booked.input_tokens - expected.input_tokens,
            self._booked.output_tokens - expected.output_tokens,
        )
        self.spent += real
