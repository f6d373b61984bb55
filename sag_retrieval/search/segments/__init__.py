"""Relevant segment extraction: neighbouring hits are joined into longer passages, by pure functions."""

from sag_retrieval.search.segments.extract import (
    ChunkRun,
    RankedChunk,
    Segment,
    Spans,
    best_segments,
    calibrated_relevance,
    chunk_values,
    complete_sections,
    extract_segments,
    relevance_of,
    scale_by_length,
    segment_documents,
    segment_text,
)
from sag_retrieval.search.segments.options import CANDIDATES, PRESETS, SegmentOptions, segment_options

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
