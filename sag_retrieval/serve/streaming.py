"""An answer as it comes: steps, sentences and citations as events, and an end to the work when nobody listens."""

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from typing import Any, Final

import anyio.to_thread

from sag_retrieval.ask.session import Progress
from sag_retrieval.serve import doors
from sag_retrieval.serve.access import AccessKey, Service

_SENTENCE: Final = re.compile(r".*?(?:(?:\s?\[\d+\])+\s*|$)", re.DOTALL)
"""A stretch of an answer that ends with its marks."""


class _Listener:
    """Where a thread puts what happens, for as long as somebody listens."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.events = asyncio.Queue[Progress | doors.AskAnswer | Exception]()
        self.gone = threading.Event()

    def check(self) -> None:
        """End the work where nobody listens."""
        if self.gone.is_set():
            raise _Gone

    def put(self, event: Progress | doors.AskAnswer | Exception) -> None:
        """Hand an event on."""
        self.check()
        self._loop.call_soon_threadsafe(self.events.put_nowait, event)


class _Gone(Exception):  # noqa: N818  nobody listens any more
    """Ends a question at its next step: asking catches errors of models alone."""


AnswerEvent = Progress | doors.AskAnswer
Coming = AsyncGenerator[AnswerEvent, None]


async def answered(service: Service, key: AccessKey | None, asked: doors.AskRequest) -> Coming:
    """The steps of a question as they happen, and the answer last.

    Closing the iterator, as the server does when its client has gone, ends the work at its next step.

    Raises:
        SagError: As `doors.ask`; before anything else if the request is wrong.
    """
    heard = _Listener(asyncio.get_running_loop())

    def work() -> None:
        with suppress(_Gone):
            try:
                heard.check()
                with service.use(key, is_heavy=asked.is_heavy) as release:
                    heard.put(doors.ask(release, asked, heard.put))
            except Exception as error:  # noqa: BLE001  raised again where it is awaited
                heard.put(error)

    working = asyncio.ensure_future(anyio.to_thread.run_sync(work))
    try:
        while True:
            event = await heard.events.get()
            if isinstance(event, Exception):
                raise event
            yield event
            if isinstance(event, doors.AskAnswer):
                return
    finally:
        heard.gone.set()
        working.add_done_callback(lambda done: done.cancelled() or done.exception())


def sentences(answer: doors.AskAnswer) -> Iterator[tuple[str, list[int]]]:
    """The stretches of an answer in order, each with the marks at its end; joined they are the answer."""
    markers = {each.marker for each in answer.citations}
    for text in _SENTENCE.findall(answer.answer):
        if text:
            found = [int(part.partition("]")[0]) for part in text.split("[")[1:] if part.partition("]")[0].isdecimal()]
            yield text, [marker for marker in found if marker in markers]


def told_step(event: Progress) -> dict[str, Any]:
    """A step for a client: its kind and one line."""
    return {"kind": event.kind, "text": str(event)}
