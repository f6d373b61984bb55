"""Interfaces of chat and embedding models: requests, replies, usage, prices, and an estimate of tokens."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel
from scipy.sparse import csr_array

from sag_retrieval.core.errors import ModelError, SettingsError

Vectors = npt.NDArray[np.float32] | csr_array
"""Shape (texts, dimension), rows of length 1 (or all zero): dense, or sparse for the hashing embedder."""

AnswerT = TypeVar("AnswerT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls cost; sums by `+`."""

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        """Sum of two usages."""
        return Usage(
            self.calls + other.calls,
            self.cached_calls + other.cached_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
        )


class Part(Protocol):
    """What a request is made of, where several may be asked as one to save what they share."""

    @property
    def kind(self) -> str:
        """Only parts of one kind are asked together."""
        ...

    @property
    def size(self) -> int:
        """Its characters."""
        ...

    def merge(self, parts: Sequence[Any]) -> "Request[Any]":
        """One request for all parts."""
        ...

    def split(self, parts: Sequence[Any], answer: Any) -> list[Any]:  # noqa: ANN401  the answer's own type
        """The answer as each part's own; None for a part that it leaves out."""
        ...


@dataclass(frozen=True, slots=True)
class Request(Generic[AnswerT]):
    """One question to a language model and the shape its answer must have."""

    prompt: str
    answer: type[AnswerT]
    step: str
    """Who asks: a pipeline step or a query stage; the unit of the cost ledger."""
    system: str = ""
    document_id: str = ""
    max_tokens: int | None = None
    identity: str = ""
    """What an answer is kept under, where a part of the prompt only helps; empty: the prompt itself."""
    part: Part | None = None
    """How it may be asked together with others; None: alone."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[AnswerT]):
    """A validated answer and what it cost."""

    value: AnswerT
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A language model that answers in a given shape."""

    @property
    def model_id(self) -> str:
        """Name that enters fingerprints and the ledger, such as `openai:gpt-5-mini`."""
        ...

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The answer to one request.

        Raises:
            ModelError: If no usable answer came after all repairs and retries.

        """
        ...

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """Answers in the order of the requests, many under way at once; a failed one is its error, not raised.

        Raises:
            ModelUnavailable: If the server is gone; what was answered until then has been yielded.
            BudgetExceeded: If the budget is used up.

        """
        ...


class Embedder(Protocol):
    """A model that turns texts into vectors of length 1."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get another vector."""
        ...

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order; an empty text gets a row of zeros.

        Raises:
            ModelError: If a vector has another dimension, is not finite, or is missing.

        """
        ...


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens, in any one currency."""

    input: float
    output: float
    form: ClassVar[str] = "prices as input/output"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Prices written as `input/output`.

        Raises:
            SettingsError: If it is not two numbers of at least 0.

        Example:
            >>> Prices.parse("0.25/2")
            Prices(input=0.25, output=2.0)

        """
        try:
            given, received = map(float, text.split("/"))
        except ValueError:
            given = received = -1.0
        if not (0 <= given < math.inf and 0 <= received < math.inf):
            raise SettingsError(f"prices {text!r} are not `input/output` for a million tokens, such as 0.25/2")
        return cls(given, received)

    def __str__(self) -> str:
        return f"{self.input:g}/{self.output:g}"

    def cost(self, usage: Usage) -> float:
        """Money for a usage."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")

WIDE_TOKENS = 0.7
"""Tokens a Chinese, Japanese or Korean character, near the vocabularies of 150,000 and more words."""
OTHER_TOKENS = 0.27
"""Tokens a character of anything else: English prose, with its punctuation; tables and code take more."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a text is: 0.7 a CJK character, 0.27 any other (docs/algorithm.md §extraction.27).

    Example:
        >>> estimate_tokens("Four words of English"), estimate_tokens("一共八个汉字而已"), estimate_tokens("")
        (6, 6, 0)

    """
    wide = len(_WIDE.findall(text))
    return -int(-(WIDE_TOKENS * wide + OTHER_TOKENS * (len(text) - wide)) // 1)
