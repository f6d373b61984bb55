"""A chat model behind any OpenAI-compatible address: requests, answers received while they are written, errors."""

import base64
import binascii
import json
import re
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from pydantic import BaseModel

from sag_retrieval.core.errors import AnswerError, ModelError, SettingsError
from sag_retrieval.core.telemetry import span
from sag_retrieval.core.types import Floats32
from sag_retrieval.language.words import language_of
from sag_retrieval.models.calls import Caller, Refused, UnusableAnswer, count_call, in_order, or_raise, submit
from sag_retrieval.models.open import DEFAULT_ADDRESS, ModelServer, model_server
from sag_retrieval.models.protocols import AnswerT, EmbedderKind, Reply, Request, Usage, estimate_tokens, unit_rows
from sag_retrieval.models.rate_limits import Budget, ChatOptions
from sag_retrieval.models.structured import Dialect, WrongShape, read_answer, strict_schema

_LEAST_REPEATED: Final = 1_200
"""Characters at the end of an answer that repeat one passage, from which on it counts as a loop: some 300 tokens."""
_LEAST_TIMES: Final = 5
_SUFFIX: Final = 24
"""Characters whose last occurrence gives the length of the passage."""
_THOUGHTS: Final = ("reasoning_content", "reasoning")


class BrokenOff(ValueError):  # noqa: N818  always caught: the request is sent again
    """The connection, or the server, failed before the answer was whole."""


@dataclass(slots=True)
class Received:
    """What came of an answer."""

    pieces: list[str] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    """As the server counts it; empty where it does not."""
    finish_reason: str = ""
    is_thinking: bool = False
    """The model was seen to think before it answers."""
    repeated: str = ""
    """The passage that the answer repeats at its end; receiving stopped there."""
    cost: Usage = field(default_factory=Usage)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.pieces)

    def take(self, body: dict[str, Any], name: str) -> None:
        """Add an event, or the whole body; `name` is `delta` or `message`."""
        if body.get("error"):
            said = body["error"]
            raise BrokenOff(str(said.get("message") if isinstance(said, dict) else said))
        choice: dict[str, Any] = next(iter(body.get("choices") or ()), {})
        message = choice.get(name) or {}
        self.pieces.append(message.get("content") or message.get("refusal") or "")
        self.usage = body.get("usage") or self.usage
        self.finish_reason = choice.get("finish_reason") or self.finish_reason
        details = self.usage.get("completion_tokens_details") or {}
        self.is_thinking |= any(message.get(one) for one in _THOUGHTS) or bool(details.get("reasoning_tokens"))


async def receive(opened: Any, heard: Callable[[], None]) -> Received:  # noqa: ANN401  a response of the client's own library
    """The answer in an opened response, which is closed afterwards: that also stops a server which still writes.

    An answer that ends before the server says that it is whole is `BrokenOff`.
    """
    found, rest, unchecked, is_whole = Received(), list[bytes](), 0, False
    try:
        async for line in _lines(opened, heard):
            if not line.startswith(b"data:"):
                rest.append(line)
            elif line[5:].strip() == b"[DONE]":
                is_whole = True
                break
            else:
                found.take(json.loads(line[5:]), "delta")
                unchecked += len(found.pieces[-1])
            if unchecked >= _LEAST_REPEATED // 4:
                unchecked, found.repeated = 0, repeated_passage(found.text)
                if found.repeated:
                    return found
    finally:
        await opened.aclose()
    if not found.pieces and not is_whole:
        body = json.loads(b"\n".join(rest))
        found.take(body if isinstance(body, dict) else {}, "message")
    elif not is_whole and not found.finish_reason:
        raise BrokenOff("the answer broke off")
    return found


async def _lines(opened: Any, heard: Callable[[], None]) -> AsyncIterator[bytes]:  # noqa: ANN401
    """Lines of the body; only line feeds end them, as an answer may hold other line breaks of Unicode."""
    began = b""
    pieces = aiter(opened.aiter_bytes())
    while True:
        try:
            piece = await anext(pieces)
        except StopAsyncIteration:
            break
        except Exception as error:  # the client has one library of connections or another, with errors of its own
            raise BrokenOff(f"{type(error).__name__}: {error}") from error
        heard()
        *whole, began = (began + piece).split(b"\n")
        for line in whole:
            yield line
    yield began


def repeated_passage(text: str) -> str:
    """The passage that a text repeats at its end, five times and over 1,200 characters at least; else empty.

    Examples:
        >>> repeated_passage("The bees " + "dance and " * 200)
        'dance and '
        >>> repeated_passage("".join(f"{n} bees, " for n in range(1_000)))
        ''
    """
    ends_at = len(text) - _SUFFIX
    before = text.rfind(text[ends_at:], 0, len(text) - 1) if ends_at > 0 else -1
    if before < 0:
        return ""
    length = ends_at - before
    tail = text[-max(_LEAST_REPEATED, _LEAST_TIMES * length) :]
    is_loop = len(tail) >= max(_LEAST_REPEATED, _LEAST_TIMES * length) and tail[length:] == tail[:-length]
    return tail[-length:] if is_loop else ""


if TYPE_CHECKING:
    from openai import AsyncOpenAI


def request_tokens(request: Request[AnswerT]) -> int:
    """Estimated tokens of a request: system message, prompt and the schema of its answer."""
    return estimate_tokens(request.system) + estimate_tokens(request.prompt) + _schema_tokens(request.answer)


@lru_cache(maxsize=256)
def _schema_tokens(answer: type[BaseModel]) -> int:
    return estimate_tokens(json.dumps(strict_schema(answer), ensure_ascii=False))


LEAST_ANSWER, ANSWER_PER_PROMPT = 1_024, 4
"""Greatest length of an answer that is expected: tokens in all, and tokens for each token of the prompt."""
WINDOW = 32
"""Requests started ahead of the yielded answers, times the concurrency: a slow call does not delay others."""
_EXPECTED_ANSWER_TOKENS = 400
"""Tokens booked for an answer until its real length is known."""
_QUOTED = 4_000
_SHOWN = 60
_PATH = "/chat/completions"  # posted directly: the typed method costs 1.4 ms more per call
_AGAIN = {
    "en": "That answer cannot be used: {fault}. Do the task again, complete and in the shape asked for.",
    "zh": "上面的回答无法使用：{fault}。请按要求的格式，完整地重新回答最初的任务。",
}


class _OfServer:
    """What the models of a server share: the client, made for the first call, and what guards its calls."""

    def __init__(self, model: str, base_url: str | None, api_key: str | None, options: ChatOptions | None) -> None:
        """Without `base_url` and `api_key` those of the settings are used (`sag_retrieval.models.open`)."""
        self.options = options or ChatOptions()
        self._model = model
        self._address = {"base_url": base_url, "api_key": api_key}
        self._caller = Caller(self.options)
        self._clients: list[AsyncOpenAI] = []
        weakref.finalize(self, close_all, self._clients).atexit = False  # the loop ends before

    def _client(self) -> "AsyncOpenAI":
        if not self._clients:
            self._clients.append(make_client(**self._address, options=self.options))
        return self._clients[0]


class OpenAIChat(_OfServer):
    """Requests structured answers from a model; calls of all threads share one client, its limits and its budget.

    The schema is sent as a strict JSON schema, else as JSON mode, else in the prompt; a form that the server refused is
    not tried again. After an answer of the wrong shape the model is asked once more. Answers are received while they
    are written: a slow one is not taken for a lost one. Source: docs/algorithm.md §extraction.21 to §extraction.23.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        options: ChatOptions | None = None,
    ) -> None:
        super().__init__(model, base_url, api_key, options)
        self._budget = Budget(self.options)
        self._dialect = Dialect(mode=self.options.structured)
        self._is_thinking = False

    @property
    def model_id(self) -> str:
        """`openai:` and the model's name."""
        return f"openai:{self._model}"

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same request may get a different answer."""
        effort = self.options.reasoning_effort
        said = "" if effort == "default" else f" reasoning_effort={effort}"
        return f"{self.model_id} temperature={self.options.temperature} seed={self.options.seed}{said}"

    @property
    def spent(self) -> Usage:
        """The cost of all calls so far, including those without a usable answer."""
        return self._budget.spent

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The answer to one request (see `ChatModel`)."""
        return submit(self._answer(request)).result()

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """Answers in the order of the requests (see `ChatModel`)."""
        return in_order(requests, lambda each: submit(self._answer(each)), WINDOW * self.options.concurrency)

    async def _answer(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        labels = {"gen_ai.operation.name": "chat", "gen_ai.request.model": self._model, "step": request.step}
        with span("model", **labels) as watched:
            reply = await self._answered(request)
            watched["gen_ai.usage.input_tokens"] = reply.usage.input_tokens
            watched["gen_ai.usage.output_tokens"] = reply.usage.output_tokens
            return reply

    async def _answered(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.prompt})
        limit = self._longest(request)
        first = await self._complete(messages, request, limit)
        value, fault, is_truncated = _value_of(first, request)
        if value is not None and not is_truncated:
            return Reply(value, first.cost)
        _refuse_loop(first, request, first.cost)
        is_cut = first.finish_reason == "length"
        again = _AGAIN[language_of(request.prompt)].format(fault="it ends early" if is_cut else fault)
        messages += [
            {"role": "assistant", "content": first.text[:_QUOTED]},
            {"role": "user", "content": again},
        ]
        least = 0 if request.max_tokens else self.options.max_answer_tokens or 0
        second = await self._complete(messages, request, limit and max(2 * limit, least))
        usage = first.cost + second.cost
        value, fault, is_truncated = _value_of(second, request)
        if value is None or (is_truncated and not any(dict(value).values())):
            _refuse_loop(second, request, usage)
            raise UnusableAnswer(f"{request.step}: no usable answer in two turns: {fault}", usage)
        return Reply(value, usage)

    def _longest(self, request: Request[AnswerT]) -> int | None:
        """Greatest length of an answer: what the request says, else what its prompt lets expect, with much to spare.

        The thoughts of a model count as its answer, and nothing tells their length: who thinks gets the whole bound.
        """
        bound = self.options.max_answer_tokens
        if request.max_tokens or bound is None or self._is_thinking:
            return request.max_tokens or bound
        return min(bound, LEAST_ANSWER + ANSWER_PER_PROMPT * estimate_tokens(request.prompt))

    async def _complete(self, messages: list[dict[str, str]], request: Request[AnswerT], limit: int | None) -> Received:
        dialect = self._dialect
        while True:
            body = dialect.body(messages, request.answer, self._parameters(), limit)
            try:
                completion = await self._call(body)
            except Refused as error:
                following = dialect.after_refusal(str(error), body)
                if following is None:
                    raise ModelError(f"{request.step}: the server refuses the request: {error}") from None
                dialect = following
            else:
                self._dialect = dialect
                return completion

    async def _call(self, body: dict[str, Any]) -> Received:
        sent = sum(estimate_tokens(message["content"]) for message in body["messages"])
        expected = Usage(1, 0, sent, _EXPECTED_ANSWER_TOKENS)
        self._budget.book(expected)
        used = Usage()
        try:
            received, seconds = await self._caller.run(partial(self._receive, body), sent + _EXPECTED_ANSWER_TOKENS)
            self._is_thinking |= received.is_thinking or "<think>" in received.text
            told, estimated = received.usage, estimate_tokens(received.text)  # for a server that counts nothing
            used = Usage(1, 0, told.get("prompt_tokens", sent), told.get("completion_tokens", estimated), seconds)
            received.cost = used
            count_call(self._model, used)
        finally:
            self._budget.settle(expected, used)
        self._caller.correct(used.input_tokens + used.output_tokens - sent - _EXPECTED_ANSWER_TOKENS)
        return received

    async def _receive(self, body: dict[str, Any], heard: Callable[[], None]) -> Received:
        from openai import AsyncStream  # noqa: PLC0415  slow to load, and only needed for calls

        opened = await self._client().post(
            _PATH, cast_to=object, body={"model": self._model, **body}, stream=True, stream_cls=AsyncStream[object]
        )
        return await receive(opened.response, heard)

    def _parameters(self) -> dict[str, Any]:
        effort = self.options.reasoning_effort
        given = {
            "stream_options": {"include_usage": True},
            "stream": True,
            "temperature": self.options.temperature,
            "seed": self.options.seed,
            "reasoning_effort": None if effort == "default" else effort,
        }
        return {name: value for name, value in given.items() if value is not None}


def _without_admin_key(client: type) -> dict[str, Any]:
    """An empty administration key, for versions of the client that would read one from the environment."""
    return {"admin_api_key": ""} if "admin_api_key" in signature(client).parameters else {}


def make_client(base_url: str | None, api_key: str | None, options: ChatOptions) -> "AsyncOpenAI":
    """A client without retries, which `Caller` makes; an address is never combined with the key of the settings."""
    import openai  # noqa: PLC0415  slow to load, and only needed by those who call

    is_given = base_url is not None or api_key is not None
    server = ModelServer(base_url or DEFAULT_ADDRESS, api_key or "") if is_given else model_server()
    if not server.key:
        raise ModelError(f"no key for {server.address}; a local server takes any key: set OPENAI_API_KEY=none")
    try:
        client = openai.AsyncOpenAI(
            base_url=server.address,
            api_key=server.key,
            organization="",
            project="",
            **_without_admin_key(openai.AsyncOpenAI),
            max_retries=0,
            timeout=openai.Timeout(None, connect=options.timeout_seconds),  # silence is bounded by `Caller`
        )
    except Exception as error:  # the client's libraries raise various errors for an invalid address or proxy
        raise SettingsError(f"no client for {server.address!r}: {error}; check address and proxies") from error
    client.organization, client.project = server.organization or None, server.project or None
    return client


def _value_of(completion: Received, request: Request[AnswerT]) -> tuple[AnswerT | None, str, bool]:
    """The value of an answer, if it has one; what is wrong with it; and whether it ends early."""
    try:
        value, is_truncated = read_answer(completion.text, request.answer)
    except WrongShape as error:
        return None, str(error), completion.finish_reason == "length"
    return value, "it ends early", is_truncated


def _refuse_loop(completion: Received, request: Request[AnswerT], usage: Usage) -> None:
    if completion.repeated:
        passage = " ".join(completion.repeated.split())[:_SHOWN]
        raise UnusableAnswer(f"{request.step}: no usable answer: the model repeats {passage!r} without end", usage)


def close_all(clients: "list[AsyncOpenAI]") -> None:
    """Close the connections of clients that are no longer used."""
    for client in clients:
        submit(client.close())


BATCH = 128
"""Texts per request: what small servers accept."""
BATCH_TOKENS = 32_000
"""Estimated tokens per request: a tenth of the limit of hosted models, and a few seconds of a small server."""

_Encoding = Literal["base64", "float"]


class OpenAIEmbedder(_OfServer):
    """Embeds texts in concurrent batches; all threads share its rate limits and circuit breaker.

    Vectors are asked for as base64, because reading decimal numbers costs more processor time than all the rest. A
    server that ignores this is read as it answers; one that refuses it is asked for decimal numbers from then on.
    """

    kind: ClassVar[EmbedderKind] = "transformer"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        options: ChatOptions | None = None,
        batch: int = BATCH,
    ) -> None:
        super().__init__(model, base_url, api_key, options)
        self._batch = batch
        self._dimension: int | None = None  # taken from the first reply, or as `expect` was told
        self._encoding: _Encoding = "base64"

    @property
    def fingerprint(self) -> str:
        """`openai:`, the model's name and the dimension."""
        return f"openai:{self._model}:{self.dimension}"

    def expect(self, fingerprint: str) -> None:
        """Take the dimension from an earlier fingerprint of this model, so that the server need not be asked."""
        found = re.match(re.escape(f"openai:{self._model}:") + r"(\d+)", fingerprint)
        if found and self._dimension is None:
            self._dimension = int(found[1])

    @property
    def dimension(self) -> int:
        """Columns of a vector; asks the server once if it was not given."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row per text, in order (see `Embedder`)."""
        batches = list(_batches(texts, self._batch))
        found = in_order(
            batches, lambda batch: submit(self._embed([texts[i] for i in batch])), self.options.concurrency
        )
        parts = [or_raise(part) for part in found]
        rows = np.zeros((len(texts), self.dimension if not parts else parts[0].shape[1]), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            rows[batch] = part
        return rows

    async def _embed(self, texts: list[str]) -> Floats32:
        fault = ""
        ways: list[_Encoding] = ["base64", "float"] if self._encoding == "base64" else ["float"]
        for encoding in ways:
            try:
                rows = await self._embed_as(encoding, texts)
            except Refused as error:
                fault = str(error)
            else:
                self._encoding = encoding
                return rows
        raise ModelError(f"the server refuses to embed {len(texts)} texts: {fault}")

    async def _embed_as(self, encoding: _Encoding, texts: list[str]) -> Floats32:
        create = self._client().embeddings.create
        labels = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": self._model}
        with span("model", **labels, texts=len(texts)):
            response, _ = await self._caller.run(
                lambda _: create(model=self._model, input=texts, encoding_format=encoding),
                sum(map(estimate_tokens, texts)),
            )
        count_call(self._model, Usage(1, 0, getattr(response.usage, "prompt_tokens", 0)))
        if len(response.data) != len(texts):
            raise AnswerError(f"asked for {len(texts)} vectors, got {len(response.data)}")
        ordered = sorted(response.data, key=lambda item: item.index)
        return self._checked([_decoded(item.embedding) for item in ordered])

    def _checked(self, vectors: Sequence[Floats32]) -> Floats32:
        widths = {len(vector) for vector in vectors}
        self._dimension = self._dimension or max(widths)
        if widths != {self._dimension}:
            again = f"openai:{self._model}?dimension={max(widths)}"
            raise AnswerError(
                f"vectors have {sorted(widths)} columns, expected {self._dimension}; if the server now has another "
                f"model of this name, embed again with SAG_EMBEDDING_MODEL='{again}'"
            )
        return unit_rows(np.stack(vectors))


def _batches(texts: Sequence[str], most: int) -> Iterator[list[int]]:
    """Places of the texts that are not empty, by request; a text above the limit of tokens is sent alone."""
    batch: list[int] = []
    tokens = 0
    for place, text in enumerate(texts):
        if not text.strip():
            continue
        size = estimate_tokens(text)
        if batch and (len(batch) == most or tokens + size > BATCH_TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += size
    if batch:
        yield batch


def _decoded(vector: str | Sequence[float]) -> Floats32:
    """A vector as the server sent it: base64 of little-endian float32, or numbers."""
    if not isinstance(vector, str):
        return np.asarray(vector, np.float32)
    try:
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4")
    except (binascii.Error, ValueError) as error:
        raise AnswerError(f"a vector in base64 cannot be read: {error}; check the embedding server") from None
