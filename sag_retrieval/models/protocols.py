"""Interfaces of chat and embedding models: requests, replies, usage, prices, and an estimate of tokens."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array, vstack

from sag_retrieval.core.errors import AnswerError, ModelError, SettingsError
from sag_retrieval.core.types import Floats32

Vectors = npt.NDArray[np.float32] | csr_array
"""Shape (texts, dimension), rows of length 1 (or all zero): dense, or sparse for the hashing embedder."""

InWorkers = Literal["", "sent", "loaded"]
"""How an ingest may embed in several processes, as the attribute `in_workers` of an embedder says: `sent`: it can be
pickled and needs nothing but the texts; `loaded`: a worker loads it by name and holds weights; empty: not at all."""

EmbedderKind = Literal["hashing", "static", "transformer"]
"""What vectors know, as the attribute `kind` of an embedder says: spelling; words without their order; sentences."""

AnswerT = TypeVar("AnswerT", bound=BaseModel)


def joined(pieces: Sequence[Vectors]) -> Vectors:
    """Vectors one below another."""
    sparse = [piece for piece in pieces if isinstance(piece, csr_array)]
    if sparse:
        return csr_array(vstack(sparse, format="csr"))
    return np.concatenate([np.asarray(piece) for piece in pieces])


class AnswerShape(BaseModel):
    """Base of the shapes that answers of a model have: their fields and no others, and they do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of calls; `+` adds two."""

    calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


class Part(Protocol):
    """The content of a request that may be merged with others to send their shared text once."""

    @property
    def kind(self) -> str:
        """Only parts of the same kind are merged."""
        ...

    @property
    def size(self) -> int:
        """Its length in estimated tokens."""
        ...

    @property
    def weight(self) -> float:
        """The share of one request that it takes by the number of its items; those of a request are at most 1."""
        ...

    @property
    def source(self) -> str:
        """The source of its document: parts of several share a request only by option."""
        ...

    def merge(self, parts: Sequence[Any]) -> "Request[Any]":
        """One request for all parts."""
        ...

    def split(self, parts: Sequence[Any], answer: Any) -> list[Any]:  # noqa: ANN401  the answer's own type
        """The answer split by part; None for a part that it omits."""
        ...


@dataclass(frozen=True, slots=True)
class Request(Generic[AnswerT]):
    """One request to a language model and the type of its answer."""

    prompt: str
    answer: type[AnswerT]
    step: str
    """The pipeline step or query stage that asks; costs are recorded per step."""
    system: str = ""
    document_id: str = ""
    max_tokens: int | None = None
    identity: str = ""
    """Cache key of the answer if only a part of the prompt determines it; empty: the prompt itself."""
    part: Part | None = None
    """Its mergeable content; None: it is sent alone."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[AnswerT]):
    """A validated answer and its cost."""

    value: AnswerT
    usage: Usage = field(default_factory=Usage)


class ChatModel(Protocol):
    """A language model that gives structured answers."""

    @property
    def model_id(self) -> str:
        """Name used in fingerprints and costs, such as `openai:gpt-5-mini`."""
        ...

    def ask(self, request: Request[AnswerT]) -> Reply[AnswerT]:
        """The answer to one request.

        Raises:
            ModelError: If there is no usable answer after all repairs and retries.
        """
        ...

    def ask_all(self, requests: Iterable[Request[AnswerT]]) -> Iterator[Reply[AnswerT] | ModelError]:
        """Answers in the order of the requests, sent concurrently; a failed one yields its error.

        Raises:
            ModelUnavailable: If the server cannot be reached; answers received before were yielded.
            BudgetExceeded: If the budget is used up.
        """
        ...


class Embedder(Protocol):
    """A model that turns texts into vectors of length 1."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text would get a different vector."""
        ...

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order; an empty text gets a row of zeros.

        Raises:
            ModelError: If a vector has a wrong dimension, is not finite, or is missing.
        """
        ...


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of questions, by `embed_queries` of an embedder that tells them from passages, else by `embed`."""
    own: Callable[[Sequence[str]], Vectors] = getattr(embedder, "embed_queries", embedder.embed)
    return own(texts)


def kind_of(embedder: Embedder) -> EmbedderKind:
    """The `kind` of an embedder; `transformer` of one that does not say it."""
    kind: EmbedderKind = getattr(embedder, "kind", "transformer")
    return kind


def expect_fingerprint(embedder: Embedder, fingerprint: str) -> None:
    """Tell an embedder that asks a server for its dimension what its fingerprint was, if it can be told."""
    expect = getattr(embedder, "expect", None)
    if expect is not None:
        expect(fingerprint)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, in any currency."""

    input: float
    output: float
    form: ClassVar[str] = "prices as input/output"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Prices written as `input/output`.

        Examples:
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
        """The cost of a usage."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")

WIDE_TOKENS = 0.7
"""Tokens per Chinese, Japanese or Korean character, for vocabularies of 150,000 words and more."""
OTHER_TOKENS = 0.27
"""Tokens per other character: English prose with punctuation; tables and code need more."""


def estimate_tokens(text: str) -> int:
    """Estimated tokens of a text: 0.7 per CJK character, 0.27 per other (docs/algorithm.md §extraction.27).

    Examples:
        >>> estimate_tokens("Four words of English"), estimate_tokens("一共八个汉字而已"), estimate_tokens("")
        (6, 6, 0)
    """
    wide = len(_WIDE.findall(text))
    return -int(-(WIDE_TOKENS * wide + OTHER_TOKENS * (len(text) - wide)) // 1)


def unit_rows(rows: Floats32) -> Floats32:
    """Rows of length 1; a row of zeros stays."""
    if not np.isfinite(rows).all():
        raise AnswerError("a vector holds a number that is not finite; embed the texts again or change the model")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def embed_filled(
    texts: Sequence[str], dimension: int, embed: Callable[[list[str]], Floats32 | Sequence[Floats32]]
) -> Floats32:
    """Rows of length 1 of the texts that are not empty, and rows of zeros of the others: shape (texts, dimension).

    Examples:
        >>> embed_filled(["a", ""], 2, lambda texts: np.full((len(texts), 2), [0, 5], np.float32)).tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    rows = np.zeros((len(texts), dimension), np.float32)
    filled = [place for place, text in enumerate(texts) if text.strip()]
    if filled:
        rows[filled] = unit_rows(np.asarray(embed([texts[place] for place in filled]), np.float32))
    return rows
