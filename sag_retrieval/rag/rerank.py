"""Rerank documents by shared keys, a language model or a cross-encoder, or join them into segments."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from sag_retrieval.core.errors import ModelError, SettingsError
from sag_retrieval.core.options import Bounds, Inline, Internal, Presets
from sag_retrieval.language.words import language_of
from sag_retrieval.models.local import Relevance, open_cross_encoder
from sag_retrieval.models.protocols import AnswerShape, ChatModel, Request
from sag_retrieval.prompts import load_prompt, numbered, shown_numbers
from sag_retrieval.rag.stages import TO_RERANK, DocumentStage, Item, RAGData, items_of, metadata_of, query_of, titles_of
from sag_retrieval.release.mapped_arrays import CsrLists, group
from sag_retrieval.search.lookup import DocumentResult
from sag_retrieval.search.segments import (
    PRESETS,
    RankedChunk,
    Segment,
    SegmentOptions,
    extract_segments,
    segment_documents,
    segment_options,
)
from sag_retrieval.search.weights import power

DAMPING = 0.5
"""Probability that a walk from item over key to item continues instead of restarting."""
_TOLERANCE = 1e-15
_RESTART_FLOOR = 0.1


class Choice(AnswerShape):
    """The model's answer: numbers of the chosen passages, best first."""

    numbers: list[int] = Field(description="numbers of the chosen passages, the most useful first")


@dataclass(frozen=True, kw_only=True)
class Reranker(DocumentStage):
    """Fills `reranking_*` from `refining_docs`, else `retrieval_docs`; `top_k` cuts the new order."""

    stage = "reranking"

    top_k: Annotated[int, Bounds(1)] | None = None
    """Documents to keep of the new order; None: all."""

    def _items(self, data: RAGData) -> Iterable[Item]:
        items = items_of(data, TO_RERANK, self.stage)
        return self.rerank(query_of(data, self), items)[: self.top_k] if items else []

    @abstractmethod
    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:
        """The items in their new order, with `score` and `previous_rank`."""


@dataclass(frozen=True, kw_only=True)
class PageRankReranker(Reranker):
    """Raises items that share keys with good items (docs/algorithm.md §rag.2); keys are read from the metadata."""

    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:  # noqa: ARG002  the order is in the keys
        """Items by PageRank."""
        return reordered(items, by_pagerank(items))


@dataclass(frozen=True, kw_only=True)
class ModelReranker(Reranker):
    """A language model chooses up to `keep` of the first `shown` items in one call; the rest follow.

    The field `mode` of each item is `model`, or `heuristic` if there is no model or it gave no usable answer.
    """

    chat: Annotated[ChatModel | None, Internal()] = field(default=None, repr=False)
    keep: Annotated[int, Bounds(1)] = 5
    """Documents that the model chooses."""
    shown: Annotated[int, Bounds(1), Internal()] = 100
    """Documents shown to the model."""
    longest: Annotated[int, Bounds(1), Internal()] = 600
    """Characters shown of a document."""

    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:
        """Items with the chosen ones first; scores decrease evenly from 1."""
        chosen = self._chosen(query, items[: self.shown])
        mode = "model" if chosen else "heuristic"
        order = list(dict.fromkeys([*chosen, *range(len(items))]))
        scored = [(at, 1 - place / len(order)) for place, at in enumerate(order)]
        return [item | {"mode": mode} for item in reordered(items, scored)]

    def _chosen(self, query: str, items: Sequence[Item]) -> list[int]:
        if self.chat is None:
            return []
        prompt = load_prompt("rerank", language_of(query))
        passages = numbered([item["text"] for item in items], titles_of(items), longest=self.longest)
        filled = prompt.fill(passages=passages, question=query, keep=self.keep)
        try:
            reply = self.chat.ask(Request(filled, Choice, "rerank", prompt.system))
        except ModelError:
            return []
        return [n - 1 for n in shown_numbers(reply.value.numbers, len(items))[: self.keep]]


@dataclass(frozen=True, kw_only=True)
class CrossEncoderReranker(Reranker):
    """Orders items by a cross-encoder: a model by name or folder, or a function."""

    model: str | Relevance = ""
    """Cross-encoder: `fastembed:<name or folder>`, or another name or folder, of sentence-transformers."""

    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:
        """Items by relevance; ties keep their order."""
        if not self.model:
            raise SettingsError(
                "a cross-encoder needs `model`: a name, a folder or a function of (question, text) pairs"
            )
        score = open_cross_encoder(self.model) if isinstance(self.model, str) else self.model
        scores = [float(value) for value in score([(query, item["text"]) for item in items])]
        return reordered(items, sorted(enumerate(scores), key=lambda pair: (-pair[1], pair[0])))


def by_pagerank(items: Sequence[Item]) -> list[tuple[int, float]]:
    """Positions of the items and their PageRank over shared keys, with sum 1, best first; ties keep their order.

    Walks go from item to key to item and start at items in proportion to their score, scaled so that the lowest has
    a tenth of the highest; walks at an item without keys restart. Source: docs/algorithm.md §rag.2.
    """
    if not items:
        return []
    scores = np.array([float(item.get("score", 0.0)) for item in items])
    spread = np.ptp(scores)
    restart = _RESTART_FLOOR + (scores - scores.min()) / spread if spread else np.ones(len(scores))
    item_keys, key_items = _links(items)
    no_keys = np.zeros(0, np.int32), np.zeros(0)
    starts = np.arange(len(items), dtype=np.int32), restart / restart.sum()
    _, rank = power(key_items, item_keys, no_keys, starts, sqrt(DAMPING), _TOLERANCE)
    rank = rank / rank.sum()
    return [(int(at), float(rank[at])) for at in np.argsort(-rank, kind="stable")]


def reordered(items: Sequence[Item], order: Sequence[tuple[int, float]]) -> list[Item]:
    """Items in a new order with their new score, and their rank before, from 1."""
    return [items[at] | {"score": score, "previous_rank": at + 1} for at, score in order]


def _links(items: Sequence[Item]) -> tuple[CsrLists, CsrLists]:
    pairs = [(at, key) for at, item in enumerate(items) for key in sorted(set(_keys(item)))]
    number = {key: n for n, key in enumerate(dict.fromkeys(key for _, key in pairs))}
    rows = np.array([at for at, _ in pairs], dtype=np.int32)
    columns = np.array([number[key] for _, key in pairs], dtype=np.int32)
    return group(rows, columns, len(items))[0], group(columns, rows, len(number))[0]


def _keys(item: Item) -> list[str]:
    keys: list[Any] = metadata_of(item).get("keys") or []
    return [f"{key.get('type', '')}\x1f{key.get('value', '')}" if isinstance(key, dict) else str(key) for key in keys]


@dataclass(frozen=True, kw_only=True)
class SegmentReranker(Reranker):
    """Joins items into segments (docs/algorithm.md §segments); `source` returns the document of an id.

    An item needs `document_id` and `start` in its metadata, as the retriever writes them; others are dropped.
    """

    source: Annotated[Callable[[str], DocumentResult], Internal()] = field(repr=False)
    options: Annotated[SegmentOptions, Presets(PRESETS), Inline()] = field(default_factory=SegmentOptions)
    """A preset; options of its own may be given besides."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", segment_options(self.options))
        super().__post_init__()

    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:  # noqa: ARG002  scores hold the query
        """Segments in the order they were chosen."""
        placed = [item for item in items if _place(item) is not None]
        named = [(str(item["metadata"]["document_id"]), 0, float(item["score"])) for item in placed]
        sources = {document: self.source(document) for document in segment_documents([named], self.options)}
        hits = [_hit(item, sources) for item in placed if item["metadata"]["document_id"] in sources]
        spans = {document: source.spans for document, source in sources.items()}
        sections = {document: source.sections for document, source in sources.items()}
        segments = extract_segments([hits], spans, self.options, sections if all(sections.values()) else None)
        return [_item(segment, sources[segment.document_id], placed) for segment in segments]


def _place(item: Item) -> tuple[str, int] | None:
    metadata = metadata_of(item)
    if "document_id" not in metadata or "start" not in metadata:
        return None
    return str(metadata["document_id"]), int(metadata["start"])


def _hit(item: Item, sources: Mapping[str, DocumentResult]) -> RankedChunk:
    document, start = str(item["metadata"]["document_id"]), int(item["metadata"]["start"])
    starts = [span[0] for span in sources[document].spans]
    return document, max(bisect_right(starts, start) - 1, 0), float(item["score"])


def _item(segment: Segment, source: DocumentResult, items: Sequence[Item]) -> Item:
    inside = [
        at
        for at, item in enumerate(items, start=1)
        if (place := _place(item)) and place[0] == segment.document_id and segment.start <= place[1] < segment.end
    ]
    title = items[inside[0] - 1]["metadata"].get("title", "") if inside else ""
    span = {name: getattr(segment, name) for name in ("chunk_start", "chunk_end", "start", "end")}
    metadata = {"document_id": segment.document_id, "title": title} | span
    return {
        "text": source.text[segment.start : segment.end],
        "score": segment.score,
        "metadata": metadata,
        "previous_rank": min(inside, default=None),
    }
