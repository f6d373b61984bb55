"""OpenAI's interface: chat clients that know nothing of sag ask it as a model, and its citations survive in them.

Each answer has its marks in the text, a list of sources with links below it, and a structured field `citations`.
"""

import asyncio
import html
import json
import re
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import Any, Final, get_args
from urllib.parse import quote
from uuid import uuid4

import anyio.to_thread
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict

from sag_retrieval.ask.options import Mode
from sag_retrieval.ask.session import Progress
from sag_retrieval.core.errors import SagError
from sag_retrieval.language.words import is_cjk
from sag_retrieval.serve import doors
from sag_retrieval.serve.access import AccessKey, Service, error_body, key_of

_SENTENCE: Final = re.compile(r".*?(?:(?:\s?\[\d+\])+\s*|$)", re.DOTALL)
"""A stretch of an answer that ends with its marks."""


class _Listener:
    """Where a thread puts what happens, for as long as somebody listens."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.events = asyncio.Queue[Progress | doors.AskAnswer | Exception]()
        self.gone = threading.Event()

    def check(self) -> None:
        if self.gone.is_set():
            raise _Gone

    def put(self, event: Progress | doors.AskAnswer | Exception) -> None:
        self.check()
        self._loop.call_soon_threadsafe(self.events.put_nowait, event)


class _Gone(Exception):  # noqa: N818  nobody listens any more
    """Ends a question at its next step: asking catches errors of models alone."""


AnswerEvent = Progress | doors.AskAnswer
Coming = AsyncGenerator[AnswerEvent, None]


async def answered(service: Service, key: AccessKey | None, asked: doors.AskRequest) -> Coming:
    """The steps of a question as they happen, and the answer last.

    Closing the iterator, as the server does when its client has gone, ends the work at its next step.
    """
    heard = _Listener(asyncio.get_running_loop())

    def work() -> None:
        with suppress(_Gone):
            try:
                heard.check()
                with service.use(key, is_heavy=asked.is_heavy, is_search=True) as release:
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


MODELS: Final[dict[str, Mode]] = {f"sag-{mode}": mode for mode in get_args(Mode)}
"""Model → mode of asking."""


class StreamOptions(BaseModel):
    """What a stream ends with."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request of a chat client; what it says of sampling is left out, as nothing is sampled.

    `where`, `sql` and `as_of` restrict the answer; clients send them as `extra_body`.
    """

    model_config = ConfigDict(extra="ignore")

    model: str
    messages: list[doors.ChatTurn]
    stream: bool = False
    stream_options: StreamOptions | None = None
    where: doors.WhereField = None
    sql: doors.SqlField = None
    as_of: str | None = None


def router(service: Service) -> APIRouter:
    """The routes `/v1/models` and `/v1/chat/completions`."""
    routes = APIRouter(prefix="/v1", tags=["OpenAI"])

    @routes.get("/models")
    async def models() -> dict[str, Any]:
        """A model for each mode of asking."""
        return {"object": "list", "data": [_model(name) for name in MODELS]}

    @routes.get("/models/{name}")
    async def model(name: str) -> Response:
        """One of them."""
        return JSONResponse(_model(name)) if name in MODELS else _unknown(name)

    @routes.post("/chat/completions")
    async def complete(request: Request, asked: ChatRequest) -> Response:
        """The next turn of a conversation, with citations."""
        if asked.model not in MODELS:
            return _unknown(asked.model)
        wanted = doors.AskRequest(
            messages=[_without_sources(each) for each in asked.messages],
            mode=MODELS[asked.model],
            where=asked.where,
            sql=asked.sql,
            as_of=asked.as_of,
        )
        told = _Completion(service, asked, str(request.base_url))
        coming = answered(service, key_of(request), wanted)
        first = await anext(coming)
        if asked.stream:
            return StreamingResponse(told.chunks(first, coming), media_type="text/event-stream")
        while not isinstance(first, doors.AskAnswer):
            first = await anext(coming)
        return JSONResponse(told.whole(first))

    return routes


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "sag"}


def _unknown(name: str) -> Response:
    reason = f"no model {name[:100]!r}; there are {', '.join(MODELS)}".encode("utf-8", "backslashreplace").decode()
    return JSONResponse(error_body(404, reason, "model_not_found"), 404)


def link_to(base: str, place: doors.CitedPlace) -> str:
    """The page, opened at the cited characters."""
    return f"{base}#doc={quote(place.document_id, safe='')}&start={place.start}&end={place.end}"


def sources(answer: doors.AskAnswer, base: str) -> str:
    """A list of the cited places in Markdown, which titles and names of files cannot leave."""
    if not answer.citations:
        return ""
    lines = [
        f"- [{each.marker}] [{_plain(each.title or each.document_id)}]({link_to(base, each)}) "
        f"{_plain(each.place) or f'{each.start}–{each.end}'}"
        for each in answer.citations
    ]
    return _SOURCES["zh" if is_cjk(answer.question) else "en"] + "\n".join(lines)


_SOURCES: Final = {"en": "\n\nSources:\n\n", "zh": "\n\n来源：\n\n"}


def _without_sources(said: doors.ChatTurn) -> doors.ChatTurn:
    """A turn without our list of sources, whose titles a next question would else seem to refer to."""
    text = said.text
    for lead in _SOURCES.values():
        text = text.partition(f"{lead}- [")[0] if said.role == "assistant" else text
    return doors.ChatTurn(role=said.role, content=text)


def _plain(text: str) -> str:
    """A text without meaning in Markdown and HTML, on one line."""
    for mark in "\\`*_[]()#|~":
        text = text.replace(mark, f"\\{mark}")
    return html.escape(" ".join(text.split()), quote=False)


class _Completion:
    """One answer in OpenAI's form, whole or in pieces."""

    def __init__(self, service: Service, asked: ChatRequest, base: str) -> None:
        self._service, self._asked, self._base = service, asked, base
        self._same = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": asked.model}

    def whole(self, answer: doors.AskAnswer) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer.answer + sources(answer, self._base), "refusal": None}
        choice = {
            "index": 0,
            "message": message | {"citations": self._citations(answer)},
            "logprobs": None,
            "finish_reason": "stop",
        }
        return {**self._same, "object": "chat.completion", "choices": [choice], "usage": _usage(answer)}

    async def chunks(self, first: AnswerEvent, coming: Coming) -> AsyncIterator[str]:
        """Steps as reasoning, then the answer sentence by sentence, its sources, and the structured citations."""
        try:
            yield self._chunk({"role": "assistant", "content": ""})
            event = first
            while not isinstance(event, doors.AskAnswer):
                yield self._chunk({"reasoning_content": f"{event}\n"})
                event = await anext(coming)
            for text, _ in sentences(event):
                yield self._chunk({"content": text})
            if told := sources(event, self._base):
                yield self._chunk({"content": told})
            yield self._chunk({"citations": self._citations(event)}, "stop")
            if self._asked.stream_options and self._asked.stream_options.include_usage:
                yield _line({**self._same, "object": _CHUNK, "choices": [], "usage": _usage(event)})
        except SagError as error:
            yield _line(error_body(*doors.told_error(error, self._service.homes)))
        finally:
            await coming.aclose()
        yield "data: [DONE]\n\n"

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _line({**self._same, "object": _CHUNK, "choices": [choice]})

    def _citations(self, answer: doors.AskAnswer) -> list[dict[str, Any]]:
        return [each.model_dump() | {"url": link_to(self._base, each)} for each in answer.citations]


_CHUNK: Final = "chat.completion.chunk"


def _usage(answer: doors.AskAnswer) -> dict[str, int]:
    given, got = answer.input_tokens, answer.output_tokens
    return {"prompt_tokens": given, "completion_tokens": got, "total_tokens": given + got}


def _line(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
