"""Reranking by segments: hits that lie near each other in a document come back as one passage."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sag_retrieval.rag.data import Item
from sag_retrieval.rag.rerank import Reranker
from sag_retrieval.segments import (
    RankedChunk,
    Segment,
    SegmentOptions,
    extract_segments,
    segment_documents,
    segment_text,
)


@dataclass(frozen=True, slots=True)
class PassageSource:
    """A document's text and the spans of its chunks, in order."""

    text: str
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class SegmentReranker(Reranker):
    """Items become segments (docs/algorithm.md §segments); `source` gives the document of an id.

    An item needs `document_id` and `start` in its metadata, as the retriever writes them; others drop out.
    """

    source: Callable[[str], PassageSource]
    options: SegmentOptions | Mapping[str, object] | str = "balanced"

    def rerank(self, query: str, items: Sequence[Item]) -> list[Item]:  # noqa: ARG002  scores hold the query
        """Segments in the order they were chosen."""
        placed = [item for item in items if _place(item) is not None]
        named = [(str(item["metadata"]["document_id"]), 0, float(item["score"])) for item in placed]
        sources = {document: self.source(document) for document in segment_documents([named], self.options)}
        hits = [_hit(item, sources) for item in placed if item["metadata"]["document_id"] in sources]
        spans = {document: source.spans for document, source in sources.items()}
        segments = extract_segments([hits], spans, self.options)
        return [_item(segment, sources[segment.document_id], placed) for segment in segments]


def _place(item: Item) -> tuple[str, int] | None:
    metadata: Mapping[str, Any] = item.get("metadata") or {}
    if "document_id" not in metadata or "start" not in metadata:
        return None
    return str(metadata["document_id"]), int(metadata["start"])


def _hit(item: Item, sources: Mapping[str, PassageSource]) -> RankedChunk:
    document, start = str(item["metadata"]["document_id"]), int(item["metadata"]["start"])
    starts = [span[0] for span in sources[document].spans]
    return document, max(bisect_right(starts, start) - 1, 0), float(item["score"])


def _item(segment: Segment, source: PassageSource, items: Sequence[Item]) -> Item:
    inside = [
        at
        for at, item in enumerate(items, start=1)
        if (place := _place(item)) and place[0] == segment.document_id and segment.start <= place[1] < segment.end
    ]
    title = items[inside[0] - 1]["metadata"].get("title", "") if inside else ""
    metadata = {
        "document_id": segment.document_id,
        "title": title,
        "chunk_start": segment.chunk_start,
        "chunk_end": segment.chunk_end,
        "start": segment.start,
        "end": segment.end,
    }
    return {
        "text": segment_text(source.text, segment),
        "score": segment.score,
        "metadata": metadata,
        "previous_rank": min(inside, default=None),
    }
