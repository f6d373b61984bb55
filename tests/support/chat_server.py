"""A scripted OpenAI-compatible server on 127.0.0.1 for tests and benchmarks.

    with ChatServer(lambda request: Answer({"events": ["…"]})) as server:
        chat = OpenAIChat("scripted", base_url=server.base_url, api_key="none")

The script gets the JSON body of each chat request and says what comes back; it runs in the server's thread.
`request["_n"]` is the number of the call, from 0. A text, a dict or a list is taken for an `Answer` with it.
A request with `stream` is answered by server-sent events.
"""

import asyncio
import base64
import json
import re
import struct
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

from aiohttp import web

Request = dict[str, Any]
TOKEN = 4
"""Characters of a token of a slow server."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply of the server."""

    content: Any = ""
    """The message: a text as it is, anything else as JSON."""
    delay: float = 0.0
    """Seconds before the reply."""
    together: int = 1
    """The reply waits until so many calls have been under way at the same time; five minutes at most."""
    status: int = 200
    """From 400: an error with `content` as its message."""
    retry_after: float | None = None
    is_cut: bool = False
    """The connection breaks in the middle of the reply."""
    is_silent: bool = False
    """Nothing more is said in the middle of the reply, and the connection stays open."""
    finish_reason: str = "stop"
    has_usage: bool = True
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else json.dumps(self.content, ensure_ascii=False)


Script = Callable[[Request], Answer | str | dict[str, Any] | list[Any]]


@dataclass(frozen=True, slots=True)
class Call:
    """What the server saw of one chat call, and what it sent back."""

    request: Request
    status: int
    started: float
    ended: float
    input_tokens: int
    output_tokens: int
    is_finished: bool
    """Whether the whole reply went out."""

    @property
    def prompt(self) -> str:
        return prompt_of(self.request)


def rate_limited(retry_after: float | None = 1.0) -> Answer:
    """A 429, with Retry-After unless None."""
    return Answer("slow down", status=429, retry_after=retry_after)


def broken() -> Answer:
    """A 500."""
    return Answer("out of order", status=500)


def cut(answer: Answer) -> Answer:
    """The connection breaks in the middle of the reply."""
    return replace(answer, is_cut=True)


def silent(answer: Answer = Answer()) -> Answer:
    """The server takes the request, begins to answer, and falls silent."""
    return replace(answer, is_silent=True)


def looping(answer: Answer, times: int = 4_000) -> Answer:
    """The answer's last fifth again and again, as small models do, until the limit of tokens if there is one."""
    text = answer.text.rstrip("]}")
    return replace(answer, content=text + text[-max(1, len(text) // 5) :] * times)


def late(answer: Answer, seconds: float) -> Answer:
    """The same reply, later."""
    return replace(answer, delay=seconds)


def fenced(answer: Answer) -> Answer:
    """JSON in a Markdown fence, with prose around it."""
    return replace(answer, content=f"Sure, here it is:\n```json\n{answer.text}\n```\nAnything else?")


def with_trailing_commas(answer: Answer) -> Answer:
    """A comma before every closing bracket."""

    def add(piece: re.Match[str]) -> str:
        return piece[0] if piece[1] is not None else f",{piece[0]}"

    return replace(answer, content=re.sub(r'"([^"]*)"|(?<=["\]}\w])[\]}]', add, answer.text))


def truncated(answer: Answer, share: float = 0.6) -> Answer:
    """The reply ends early because the limit of tokens was reached."""
    return replace(answer, content=answer.text[: int(len(answer.text) * share)], finish_reason="length")


def full_width(answer: Answer) -> Answer:
    """JSON with Chinese punctuation in place of its own."""
    table = str.maketrans("{}[]:,", "｛｝［］：，")

    def widen(piece: re.Match[str]) -> str:
        return piece[0].translate(table) if piece[1] is None else f"“{piece[1]}”"

    return replace(answer, content=re.sub(r'"([^"]*)"|[^"]+', widen, answer.text))


def wrong_shape(answer: Answer) -> Answer:
    """Sound JSON of another shape."""
    return replace(answer, content={"thoughts": answer.text[:20], "done": True})


def over_long(answer: Answer, times: int = 2_000) -> Answer:
    """The reply after a very long preamble."""
    thoughts = "".join(f"Let me think about point {n}. " for n in range(times))
    return replace(answer, content=thoughts + answer.text)


def prompt_of(request: Request) -> str:
    """The last message of a chat request."""
    return str(request["messages"][-1]["content"])


def first_prompt_of(request: Request) -> str:
    """The first user message: the task, also when it is asked again."""
    return next(str(m["content"]) for m in request["messages"] if m["role"] == "user")


def mode_of(request: Request) -> str:
    """`json_schema`, `json_object` or `text`: how the answer's shape was asked for."""
    return str(request.get("response_format", {"type": "text"})["type"])


def schema_of(request: Request) -> str:
    """Name of the JSON schema asked for, or empty."""
    return str(request.get("response_format", {}).get("json_schema", {}).get("name", ""))


def count_tokens(text: str) -> int:
    """Tokens as this server bills them: pieces of 7 letters or 3 digits, 0.7 a Chinese character."""
    total = 0.0
    for piece in re.findall(r"[\u3040-\u9fff]+|[^\W\d_\u3040-\u9fff]+|\d+|[^\w\s]|\n+", text):
        if "\u3040" <= piece[0] <= "\u9fff":
            total += 0.7 * len(piece)
        elif piece[0].isdigit():
            total += -(-len(piece) // 3)
        elif piece[0].isalpha():
            total += -(-len(piece) // 7)
        else:
            total += 1
    return round(total)


def vector_of(text: str, dimension: int = 64) -> list[float]:
    """A vector from character pairs: alike texts get alike vectors, in every process."""
    row = [0.0] * dimension
    padded = f" {text.lower()} "
    for i in range(len(padded) - 1):
        digest = zlib.crc32(padded[i : i + 2].encode())
        row[digest % dimension] += 1.0 if digest & 0x10000 else -1.0
    length = sum(x * x for x in row) ** 0.5 or 1.0
    return [x / length for x in row]


class ChatServer:
    """Serves `/v1/chat/completions`, `/v1/embeddings` and `/v1/models` from a thread of its own."""

    def __init__(
        self,
        script: Script = lambda _: "",
        *,
        delay: float = 0.0,
        refuses: frozenset[str] | set[str] = frozenset(),
        dimension: int = 64,
        port: int = 0,
        ignores: frozenset[str] | set[str] = frozenset(),
    ) -> None:
        """Start nothing yet.

        `refuses` holds modes (`json_schema`, `base64`, …) or parameters (`temperature`, …) answered with a 400.
        What it `ignores`, of `base64` and `stream`, it answers as if it had not been asked for.
        `Answer.together` holds an answer back until as many calls are under way at the same time.
        """
        self.script = script
        self.delay = delay
        self.refuses = frozenset(refuses)
        self.dimension = dimension
        self.ignores = frozenset(ignores)
        self.port = port
        self.seconds_a_token = 0.0
        self._slots = asyncio.Semaphore(1_000)
        self.calls: list[Call] = []
        self.embedded: list[list[str]] = []
        self.running = 0
        self.peak = 0
        self._seen = 0
        self._arrivals = asyncio.Condition()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def finished(self) -> list[Call]:
        """Calls whose answer went out whole and without an error."""
        return [call for call in self.calls if call.is_finished and call.status == 200]

    @property
    def input_tokens(self) -> int:
        return sum(call.input_tokens for call in self.calls)

    @property
    def output_tokens(self) -> int:
        return sum(call.output_tokens for call in self.calls)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve, name="chat-server", daemon=True)
        self._thread.start()
        if not self._ready.wait(300):
            raise RuntimeError("the scripted server did not start within 300 s")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(300)

    def _serve(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embed)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        loop.run_until_complete(site.start())
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        self._ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = await http.json()
        request["_n"], self._seen = self._seen, self._seen + 1
        started = time.monotonic()
        self.running += 1
        self.peak = max(self.peak, self.running)
        answer, is_finished = Answer("abandoned", status=499), False
        try:
            answer = self._refusal(request) or _as_answer(self.script(request))
            await asyncio.sleep(self.delay + answer.delay)
            await self._gathered(answer.together)
            async with self._slots:
                answer = self._within_limit(request, answer)
                response = await self._reply(http, request, answer)
            is_finished = not answer.is_cut
            return response
        finally:
            self.running -= 1
            has_cost = answer.status < 400
            self.calls.append(
                Call(
                    request,
                    answer.status,
                    started,
                    time.monotonic(),
                    _sent_tokens(request) if has_cost else 0,
                    count_tokens(answer.text) if has_cost else 0,
                    is_finished,
                )
            )

    async def _gathered(self, count: int) -> None:
        async with self._arrivals:
            self._arrivals.notify_all()
            await asyncio.wait_for(self._arrivals.wait_for(lambda: self.peak >= count), 300)

    def _refusal(self, request: Request) -> Answer | None:
        refused = mode_of(request) if mode_of(request) in self.refuses else None
        refused = refused or next((name for name in self.refuses if name in request), None)
        return Answer(f"unsupported: {refused}", status=400) if refused else None

    def _within_limit(self, request: Request, answer: Answer) -> Answer:
        """The answer of a slow server ends at the limit of the request: those of others are what their script says."""
        limit = request.get("max_tokens", request.get("max_completion_tokens"))
        if not self.seconds_a_token or limit is None or len(answer.text) <= TOKEN * limit:
            return answer
        return replace(answer, content=answer.text[: TOKEN * limit], finish_reason="length")

    async def _stream(self, http: web.Request, request: Request, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(headers={**answer.headers, "Content-Type": "text/event-stream"})
        await response.prepare(http)
        assert http.transport is not None
        step = TOKEN if self.seconds_a_token else 64
        pieces = [answer.text[at : at + step] for at in range(0, len(answer.text), step)]
        for piece in pieces[: len(pieces) // 2] if answer.is_cut or answer.is_silent else pieces:
            await asyncio.sleep(self.seconds_a_token)
            await response.write(_event(request, [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]))
        if answer.is_silent:
            await asyncio.sleep(300)
        if answer.is_cut:
            http.transport.close()
            return response
        last = [{"index": 0, "delta": {}, "finish_reason": answer.finish_reason}]
        await response.write(_event(request, last))
        if answer.has_usage and request.get("stream_options", {}).get("include_usage"):
            await response.write(_event(request, [], _usage(request, answer)))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _reply(self, http: web.Request, request: Request, answer: Answer) -> web.StreamResponse:
        headers = dict(answer.headers)
        if answer.retry_after is not None:
            headers["Retry-After"] = str(answer.retry_after)
        if answer.status >= 400:
            body = {"error": {"message": answer.text, "type": "scripted", "code": None, "param": None}}
            return web.json_response(body, status=answer.status, headers=headers)
        if request.get("stream") and "stream" not in self.ignores:
            return await self._stream(http, request, answer)
        await asyncio.sleep(300 if answer.is_silent else self.seconds_a_token * len(answer.text) / TOKEN)
        payload = json.dumps(_completion(request, answer), ensure_ascii=False).encode()
        if not answer.is_cut:
            return web.Response(body=payload, headers=headers, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(payload))})
        await response.prepare(http)
        await response.write(payload[: len(payload) // 2])
        assert http.transport is not None
        http.transport.close()
        return response

    async def _embed(self, http: web.Request) -> web.Response:
        request = await http.json()
        encoding = request.get("encoding_format", "float")
        if encoding in self.refuses:
            error = {"message": f"unsupported: {encoding}", "type": "scripted", "code": None, "param": None}
            return web.json_response({"error": error}, status=400)
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        self.embedded.append(texts)
        encode = _in_base64 if encoding == "base64" and "base64" not in self.ignores else list
        data = [
            {"object": "embedding", "index": i, "embedding": encode(vector_of(text, self.dimension))}
            for i, text in enumerate(texts)
        ]
        used = sum(map(count_tokens, texts))
        return web.json_response(
            {
                "object": "list",
                "data": data,
                "model": request["model"],
                "usage": {"prompt_tokens": used, "total_tokens": used},
            }
        )


class SlowServer(ChatServer):
    """One small machine: so many answers are written at a time, a token at a time; other requests wait without a word.

    A token has four characters there.
    """

    def __init__(self, script: Script, *, tokens_per_second: float = 40, slots: int = 2, **more: Any) -> None:
        super().__init__(script, **more)
        self.seconds_a_token = 1 / tokens_per_second
        self._slots = asyncio.Semaphore(slots)


def _in_base64(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _as_answer(given: Answer | str | dict[str, Any] | list[Any]) -> Answer:
    return given if isinstance(given, Answer) else Answer(given)


def _sent_tokens(request: Request) -> int:
    schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
    sent = sum(count_tokens(m["content"]) for m in request["messages"])
    return sent + (count_tokens(json.dumps(schema, ensure_ascii=False)) if schema else 0)


def _usage(request: Request, answer: Answer) -> dict[str, int]:
    sent, received = _sent_tokens(request), count_tokens(answer.text)
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def _event(request: Request, choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
    body = {"id": f"chatcmpl-{request['_n']}", "object": "chat.completion.chunk", "choices": choices, "usage": usage}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


def _completion(request: Request, answer: Answer) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request['_n']}",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text},
                "finish_reason": answer.finish_reason,
            }
        ],
    } | ({"usage": _usage(request, answer)} if answer.has_usage else {})
