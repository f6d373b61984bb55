"""One call to a server that may be busy, broken or gone: waiting, trying again, giving up in order."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sag_retrieval.core.errors import ModelError, ModelUnavailable
from sag_retrieval.models.faults import CallFault, FaultKind, Refused, fault_of
from sag_retrieval.models.rate_limits import ChatOptions, CircuitBreaker, RateLimiter, pause_seconds

ReplyT = TypeVar("ReplyT")


class Caller:
    """Makes the calls of one model; all of them share its slots, pace and breaker."""

    def __init__(self, options: ChatOptions) -> None:
        self._options = options
        self._gate = RateLimiter(options)
        self._breaker = CircuitBreaker(options)
        self._draw = random.Random(0).random  # noqa: S311  jitter

    async def run(self, send: Callable[[], Awaitable[ReplyT]], tokens: int) -> tuple[ReplyT, float]:
        """What `send` returns, and the seconds its last try took; `tokens` is what it is expected to use.

        Raises:
            Refused: If the server refuses the request itself.
            ModelUnavailable: If the server cannot be reached, or lets no request of ours pass.
            ModelError: If every try failed while the server was up.

        """
        fault = CallFault(FaultKind.BROKEN, "not tried")
        for attempt in range(1, self._options.tries + 1):
            got = await self._try(send, tokens)
            if not isinstance(got, CallFault):
                return got
            fault = got
            if attempt < self._options.tries:
                await asyncio.sleep(pause_seconds(attempt, self._options, fault.retry_after, self._draw))
        self._breaker.check()
        raise ModelError(f"no answer after {self._options.tries} tries, the last failed with {fault.message}")

    def correct(self, tokens: int) -> None:
        """Tell the pace that a call used so many tokens more than expected."""
        self._gate.correct(tokens)

    async def _try(self, send: Callable[[], Awaitable[ReplyT]], tokens: int) -> tuple[ReplyT, float] | CallFault:
        import openai  # noqa: PLC0415  slow to load, and only needed by those who call

        async with self._gate:
            await self._gate.wait(tokens)
            self._breaker.check()
            started = time.monotonic()
            try:
                async with asyncio.timeout(self._options.timeout_seconds):
                    got = await send()
            except (openai.OpenAIError, TimeoutError, ValueError) as error:
                return self._judge(fault_of(error))
            self._breaker.succeeded()
            return got, time.monotonic() - started

    def _judge(self, fault: CallFault) -> CallFault:
        if fault.kind is FaultKind.BARRED:
            raise ModelUnavailable(f"{fault.message}; check OPENAI_API_KEY, OPENAI_BASE_URL and the model's name")
        if fault.kind is FaultKind.BUSY:
            self._gate.pause(fault.retry_after or 0.0)
            return fault
        if fault.kind is FaultKind.REFUSED:
            self._breaker.succeeded()
            raise Refused(fault.message)
        self._breaker.failed(fault.message)
        return fault
