"""A segment and its exact place in the source."""

from collections.abc import Sequence
from dataclasses import dataclass

RankedChunk = tuple[str, int, float]
"""Document, number of the chunk in it, score."""
Spans = Sequence[tuple[int, int]]
"""Start and end of a document's chunks, in order."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Chunks `chunk_start` to before `chunk_end` of a document: its characters `start` to before `end`."""

    document_id: str
    chunk_start: int
    chunk_end: int
    start: int
    end: int
    score: float


def segment_text(document_text: str, segment: Segment) -> str:
    """The segment exactly as it stands in the source."""
    return document_text[segment.start : segment.end]
