"""What a name of an embedder says besides the model: prefixes, dimension and length, and the prefixes of families."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
from scipy.sparse import issparse

from sag_retrieval.core.errors import SettingsError, nearest
from sag_retrieval.core.settings import AUTO, HASHING, Settings
from sag_retrieval.models.protocols import (
    Embedder,
    EmbedderKind,
    InWorkers,
    Vectors,
    embed_queries,
    expect_fingerprint,
    kind_of,
    unit_rows,
)


@dataclass(frozen=True, slots=True)
class Adjustments:
    """What follows the model in a name, after `?`; everything but `batch` is part of the identity of vectors."""

    query_prefix: str = ""
    """Put before each question."""
    passage_prefix: str = ""
    """Put before each text that is found."""
    dimension: int | None = None
    """First columns that are kept, for models that were trained so (Matryoshka); None: all."""
    tokens: int | None = None
    """Where a text is cut; None: at the limit of the model."""
    batch: int | None = None
    """Texts read at once; None: as the embedder chooses. It changes speed and memory alone."""

    @property
    def sizes(self) -> dict[str, int]:
        """What the embedder itself has to know."""
        return {name: value for name in ("tokens", "batch") if (value := getattr(self, name)) is not None}

    @property
    def identity(self) -> str:
        """A hash of what changes vectors; empty if nothing does."""
        told = {name: value for name, value in asdict(self).items() if value and name != "batch"}
        return blake2b(repr(sorted(told.items())).encode(), digest_size=4).hexdigest() if told else ""


def split_name(name: str) -> tuple[str, Adjustments]:
    """The model and its adjustments.

    Examples:
        >>> model, adjusted = split_name("openai:nomic-embed-text?query_prefix=search_query:%20&dimension=256")
        >>> model, adjusted.query_prefix, adjusted.dimension
        ('openai:nomic-embed-text', 'search_query: ', 256)
    """
    model, _, rest = name.partition("?")
    known = [field.name for field in fields(Adjustments)]
    told: dict[str, str | int] = {}
    for key, value in parse_qsl(rest.replace("+", "%2B"), keep_blank_values=True):
        if key not in known:
            raise SettingsError(f"{name!r}: {key!r} is none of {', '.join(known)}{nearest(key, known)}")
        if key.endswith("prefix"):
            told[key] = value
        elif value.isdecimal() and int(value) > 0:
            told[key] = int(value)
        else:
            raise SettingsError(f"{name!r}: {key} must be a whole number of at least 1, got {value!r}")
    return model, Adjustments(**told)  # type: ignore[arg-type]  # prefixes are texts, the others numbers


_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
FAMILIES: Final = (
    (r"e5-[\w-]*instruct", f"{_INSTRUCT} ", ""),
    (r"\be5-(small|base|large)", "query: ", "passage: "),
    (r"nomic-embed-text", "search_query: ", "search_document: "),
    (r"bge-(small|base|large)-zh", "为这个句子生成表示以用于检索相关文章：", ""),
    (r"bge-(small|base|large)-en|mxbai-embed-large", _SEARCH, ""),
    (r"snowflake-arctic-embed\S*v2", "query: ", ""),
    (r"snowflake-arctic-embed", _SEARCH, ""),
    (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (r"qwen3-embedding", _INSTRUCT, ""),
)
"""Patterns of names, the prefix of questions and that of passages, as the makers' model cards tell them; the first
that is found counts. Static vectors and models that are not named here have none."""


def embedder_name(settings: Settings) -> str:
    """The name of the embedder that settings ask for, with everything that makes up its vectors.

    A manifest keeps this name, so that a reader puts the same prefix before questions whatever its own settings say.

    Examples:
        >>> from sag_retrieval.core.settings import load_settings
        >>> embedder_name(load_settings(embedding_model="openai:multilingual-e5-small"))
        'openai:multilingual-e5-small?query_prefix=query%3A%20&passage_prefix=passage%3A%20'
        >>> embedder_name(load_settings(embedding_model="openai:text-embedding-3-small"))
        'openai:text-embedding-3-small'
    """
    name = settings.embedding_model
    if name == HASHING:
        return name
    model, adjusted = split_name(name)
    query, passage = settings.embedding_query_prefix, settings.embedding_passage_prefix
    own = _family(model)
    prefixes = (own[0] if query == AUTO else query), (own[1] if passage == AUTO else passage)
    told = asdict(adjusted)
    if "query_prefix=" not in name:
        told["query_prefix"] = prefixes[0]
    if "passage_prefix=" not in name:
        told["passage_prefix"] = prefixes[1]
    told = {key: value for key, value in told.items() if value}
    return f"{model}?{urlencode(told, quote_via=quote)}" if told else model


def _family(model: str) -> tuple[str, str]:
    if model.startswith("model2vec:"):
        return "", ""
    found = (each[1:] for each in FAMILIES if re.search(each[0], model, re.IGNORECASE))
    return next(found, ("", ""))


@dataclass(frozen=True)
class AdjustedEmbedder:
    """An embedder with prefixes before its texts, or with its first columns alone."""

    embedder: Embedder
    adjusted: Adjustments

    @property
    def kind(self) -> EmbedderKind:
        """That of the embedder itself."""
        return kind_of(self.embedder)

    @property
    def in_workers(self) -> InWorkers:
        """As the embedder itself."""
        return getattr(self.embedder, "in_workers", "")

    @cached_property
    def fingerprint(self) -> str:
        """That of the embedder itself, and a hash of what is changed."""
        return f"{self.embedder.fingerprint}-{self.adjusted.identity}"

    @cached_property
    def dimension(self) -> int:
        """Columns of a vector."""
        wanted, found = self.adjusted.dimension, self.embedder.dimension
        if wanted is not None and wanted > found:
            raise SettingsError(f"dimension={wanted} is more than the {found} of {self.embedder.fingerprint}")
        return wanted or found

    def expect(self, fingerprint: str) -> None:
        """Pass on an earlier fingerprint to an embedder that would ask a server for its dimension."""
        expect_fingerprint(self.embedder, fingerprint)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in order (see `Embedder`)."""
        return self._cut(self.embedder.embed(_after(self.adjusted.passage_prefix, texts)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for questions."""
        return self._cut(embed_queries(self.embedder, _after(self.adjusted.query_prefix, texts)))

    def _cut(self, rows: Vectors) -> Vectors:
        if issparse(rows) or self.adjusted.dimension is None:
            return rows
        return unit_rows(np.asarray(rows)[:, : self.dimension])


def _after(prefix: str, texts: Sequence[str]) -> list[str]:
    """Texts after a prefix; an empty one stays empty."""
    return [prefix + text if text.strip() else text for text in texts]
