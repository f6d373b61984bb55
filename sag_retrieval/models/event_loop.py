"""One event loop in a thread, so that synchronous code can have many calls under way."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from sag_retrieval.core.errors import BudgetExceeded, ModelError, ModelUnavailable

RequestT = TypeVar("RequestT")
ResultT = TypeVar("ResultT")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def loop() -> asyncio.AbstractEventLoop:
    """The running loop of this process; a forked process gets its own."""
    with _lock:
        if os.getpid() not in _loops:
            _loops.clear()
            made = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=made.run_forever, name="sag-models", daemon=True).start()
        return _loops[os.getpid()]


def submit(work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
    """Starts work on the loop."""
    return asyncio.run_coroutine_threadsafe(work, loop())


def in_order(
    asked: Iterable[RequestT], start: Callable[[RequestT], Future[ResultT]], window: int
) -> Iterator[ResultT | ModelError]:
    """Results in the order of what was asked, at most `window` started and not yet handed out.

    A failure takes the place of its result.

    Raises:
        ModelUnavailable: If the server is gone.
        BudgetExceeded: If the budget is used up.

    """
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
