"""A search method, an embedder, a file reader and a scorer of statements, by the entry points in pyproject.toml."""

from collections.abc import Sequence
from dataclasses import replace
from email import message_from_bytes, policy

import numpy as np
import pyarrow.compute as pc

from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.method import Query, Ranking
from sag_retrieval.search.sag import bm25
from sag_retrieval.statements.scorer import Judged


def bm25_short(index: Index, query: Query) -> Ranking:
    """BM25 divided by the root of the chunk's length: short passages first."""
    found = bm25(index, replace(query, top_k=index.arrays.chunk_count))
    lengths = pc.utf8_length(index.rows["chunks"]["text"].take(found.chunks)).to_numpy()
    scores = found.scores / np.sqrt(lengths)
    order = np.lexsort((found.chunks, -scores))[: query.top_k]
    return Ranking(found.chunks[order], scores[order])


class LetterEmbedder:
    """How often each letter occurs, in `letters:<dimension>` columns: the protocol of an embedder, and no meaning."""

    def __init__(self, model: str) -> None:
        self.dimension = int(model)

    @property
    def fingerprint(self) -> str:
        """Another dimension gives other vectors."""
        return f"letters:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1; zeros for an empty text."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            np.add.at(row, np.array([ord(letter) % self.dimension for letter in text.lower()], np.intp), 1)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def read_mail(payload: bytes) -> tuple[str | None, str]:
    """Subject and plain text of a mail."""
    mail = message_from_bytes(payload, policy=policy.default)
    body = mail.get_body(("plain",))
    if body is None:
        raise ValueError("the mail has no plain text")
    return mail["subject"], body.get_content()


def with_figures(sentences: Sequence[str]) -> list[Judged]:
    """Statements with a figure, the more of them the better."""
    counts = [sum(map(str.isdigit, each)) for each in sentences]
    return [Judged(float(count > 0), min(1.0, count / 10), "" if count else "no figure") for count in counts]
