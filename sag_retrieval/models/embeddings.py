"""Vectors from an embedding model behind any OpenAI-compatible address."""

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sag_retrieval.core.errors import AnswerError, ModelError
from sag_retrieval.core.types import Floats32
from sag_retrieval.models import calls
from sag_retrieval.models.calls import Caller, Refused
from sag_retrieval.models.openai import close_all, make_client
from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.models.rate_limits import ChatOptions

if TYPE_CHECKING:
    from openai import AsyncOpenAI

BATCH = 128
"""Texts in one request: what small servers take."""


class OpenAIEmbedder:
    """Embeds texts in batches, many under way at once; all threads share its rates and its breaker."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        options: ChatOptions | None = None,
    ) -> None:
        """`dimension` None: as the first answer has it."""
        self._model = model
        self._address = {"base_url": base_url, "api_key": api_key}
        self._options = options or ChatOptions()
        self._dimension = dimension
        self._caller = Caller(self._options)
        self._clients: list[AsyncOpenAI] = []
        weakref.finalize(self, close_all, self._clients)

    @property
    def fingerprint(self) -> str:
        """`openai:`, the model's name and the dimension."""
        return f"openai:{self._model}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Columns of a vector; asks the server once if nobody said it."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Floats32:
        """One row a text, in order (see `Embedder`)."""
        places = [i for i, text in enumerate(texts) if text.strip()]
        batches = [places[i : i + BATCH] for i in range(0, len(places), BATCH)]
        found = calls.in_order(
            batches,
            lambda batch: calls.submit(self._embed([texts[i] for i in batch])),
            self._options.concurrency,
        )
        parts = [_or_raise(part) for part in found]
        rows = np.zeros((len(texts), self.dimension if not parts else parts[0].shape[1]), np.float32)
        for batch, part in zip(batches, parts, strict=True):
            rows[batch] = part
        return rows

    async def _embed(self, texts: list[str]) -> Floats32:
        if not self._clients:
            self._clients.append(make_client(**self._address, options=self._options))
        create = self._clients[0].embeddings.create
        try:
            response, _ = await self._caller.run(
                lambda: create(model=self._model, input=texts, encoding_format="float"),
                sum(map(estimate_tokens, texts)),
            )
        except Refused as error:
            raise ModelError(f"the server refuses to embed {len(texts)} texts: {error}") from None
        if len(response.data) != len(texts):
            raise AnswerError(f"asked for {len(texts)} vectors, got {len(response.data)}")
        ordered = sorted(response.data, key=lambda item: item.index)
        return self._checked([item.embedding for item in ordered])

    def _checked(self, vectors: Sequence[Sequence[float]]) -> Floats32:
        widths = {len(vector) for vector in vectors}
        self._dimension = self._dimension or max(widths)
        if widths != {self._dimension}:
            raise AnswerError(f"vectors have {sorted(widths)} columns, expected {self._dimension}")
        return unit_rows(np.asarray(vectors, np.float32))


def unit_rows(rows: Floats32) -> Floats32:
    """Rows of length 1; a row of zeros stays.

    Raises:
        AnswerError: If a number is not finite.

    """
    if not np.isfinite(rows).all():
        raise AnswerError("a vector holds a number that is not finite; embed the texts again or change the model")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def _or_raise(part: Floats32 | ModelError) -> Floats32:
    if isinstance(part, ModelError):
        raise part
    return part
