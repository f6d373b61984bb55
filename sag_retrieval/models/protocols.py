"""What the house asks of a language model and of an embedding model, whoever serves them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel
from scipy.sparse import csr_array

from sag_retrieval.core.errors import ModelError

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
