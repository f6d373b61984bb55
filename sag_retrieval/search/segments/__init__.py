"""Relevant segment extraction: neighbouring hits are joined into longer passages, by pure functions."""

from sag_retrieval.search.segments.extract import (
    RankedChunk,
    Segment,
    Spans,
    complete_sections,
    extract_segments,
    segment_documents,
    segment_text,
)
from sag_retrieval.search.segments.options import CANDIDATES, PRESETS, SegmentOptions, segment_options
from sag_retrieval.search.segments.selection import (
    ChunkRun,
    best_segments,
    calibrated_relevance,
    chunk_values,
    relevance_of,
    scale_by_length,
)

__all__ = [
    "CANDIDATES",
    "PRESETS",
    "ChunkRun",
    "RankedChunk",
    "Segment",
    "SegmentOptions",
    "Spans",
    "best_segments",
    "calibrated_relevance",
    "chunk_values",
    "complete_sections",
    "extract_segments",
    "relevance_of",
    "scale_by_length",
    "segment_documents",
    "segment_options",
    "segment_text",
]
