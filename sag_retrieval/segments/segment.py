"""A segment and its exact place in the source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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


SectionNumbers = Sequence[object]
"""For every chunk of a document its section, by any name; the chunks of a section stand together."""


def complete_sections(
    segments: Sequence[Segment],
    sections: Mapping[str, SectionNumbers],
    spans: Mapping[str, Spans],
    max_length: int,
    overall_max_length: int,
) -> list[Segment]:
    """Let segments grow over the rest of a section of which they hold at least half the chunks.

    A segment grows at both ends on its own, best segments first, never over another one, nor over
    `max_length`, nor over what `overall_max_length` leaves. Scores stay.

    Source:
        docs/algorithm.md §segments.6

    """
    taken = {(s.document_id, chunk) for s in segments for chunk in range(s.chunk_start, s.chunk_end)}
    grown: list[Segment] = []
    for segment in segments:
        document = segment.document_id
        first, last = segment.chunk_start, segment.chunk_end
        for added in _rests(sections.get(document, ()), first, last):
            length = last - first + len(added)
            free = not any((document, chunk) in taken for chunk in added)
            if free and length <= max_length and len(taken) + len(added) <= overall_max_length:
                first, last = min(first, added.start), max(last, added.stop)
                taken |= {(document, chunk) for chunk in added}
        start, end = spans[document][first][0], spans[document][last - 1][1]
        grown.append(replace(segment, chunk_start=first, chunk_end=last, start=start, end=end))
    return grown


def _rests(labels: SectionNumbers, first: int, last: int) -> list[range]:
    """What is missing ahead and behind of sections that chunks `first` to before `last` hold half of."""
    if not labels:
        return []
    start, end = first, last
    while start > 0 and labels[start - 1] == labels[first]:
        start -= 1
    while end < len(labels) and labels[end] == labels[last - 1]:
        end += 1
    head = sum(label == labels[first] for label in labels[first:last])
    tail = sum(label == labels[last - 1] for label in labels[first:last])
    one = labels[first] == labels[last - 1]
    ahead, behind = first - start, end - last
    rests = []
    if ahead and head >= ahead + (behind if one else 0):
        rests.append(range(start, first))
    if behind and tail >= behind + (ahead if one else 0):
        rests.append(range(last, end))
    return rests
