"""Dense embedding models of an OpenAI-compatible server."""

import base64
import binascii
import re
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from sag_retrieval.core.errors import AnswerError, ModelError
from sag_retrieval.core.telemetry import span
from sag_retrieval.core.types import Floats32
from sag_retrieval.models.calls import Caller, Refused, count_call, in_order, submit
from sag_retrieval.models.dense_rows import unit_rows
from sag_retrieval.models.openai import close_all, make_client
from sag_retrieval.models.protocols import EmbedderKind, Usage, estimate_tokens
from sag_retrieval.models.rate_limits import ChatOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BATCH = 128
"""Texts per request: what small servers accept."""
BATCH_TOKENS = 32_000
"""Estimated tokens per request: a tenth of the limit of hosted models, and a few seconds of a small server."""

_Encoding = Literal["base64", "float"]


class OpenAIEmbedder:
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
        dimension: int | None = None,
        options: ChatOptions | None = None,
        batch: int = BATCH,
    ) -> None:
        """`dimension` None: taken from the first reply, or as `expect` was told."""
        self._model = model
        self._batch = batch
        self._address = {"base_url": base_url, "api_key": api_key}
        self._options = options or ChatOptions()
        self._dimension = dimension
        self._encoding: _Encoding = "base64"
        self._caller = Caller(self._options)
        self._clients: list[AsyncOpenAI] = []
        weakref.finalize(self, close_all, self._clients).atexit = False  # the loop ends before

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
            batches,
            lambda batch: submit(self._embed([texts[i] for i in batch])),
            self._options.concurrency,
        )
        parts = [_or_raise(part) for part in found]
        rows = np.zeros((len(texts), self.dimension if not parts else parts[0].shape[1]), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            rows[batch] = part
        return rows

    async def _embed(self, texts: list[str]) -> Floats32:
        encoding = self._encoding
        try:
            return await self._embed_as(encoding, texts)
        except Refused as error:
            if encoding == "float":
                raise ModelError(f"the server refuses to embed {len(texts)} texts: {error}") from None
        try:
            rows = await self._embed_as("float", texts)
        except Refused as error:
            raise ModelError(f"the server refuses to embed {len(texts)} texts: {error}") from None
        self._encoding = "float"
        return rows

    async def _embed_as(self, encoding: _Encoding, texts: list[str]) -> Floats32:
        if not self._clients:
            self._clients.append(make_client(**self._address, options=self._options))
        create = self._clients[0].embeddings.create
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


def _or_raise(part: Floats32 | ModelError) -> Floats32:
    if isinstance(part, ModelError):
        raise part
    return part
