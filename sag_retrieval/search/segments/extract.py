"""From ranked hits to segments: runs of chunks with their exact position in the source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, zip_longest

import numpy as np

from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.types import Floats
from sag_retrieval.search.segments.options import SegmentOptions, segment_options
from sag_retrieval.search.segments.selection import (
    NOT_RETRIEVED,
    ChunkRun,
    best_segments,
    chunk_values,
    relevance_of,
    scale_by_length,
)

RankedChunk = tuple[str, int, float]
"""Document, number of the chunk in it, score."""
Spans = Sequence[tuple[int, int]]
"""Start and end of each chunk of a document, in order."""


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
    """The exact text of a segment in the source."""
    return document_text[segment.start : segment.end]


SectionNumbers = Sequence[object]
"""The section of each chunk of a document, as any label; the chunks of a section are consecutive."""


def complete_sections(
    segments: Sequence[Segment],
    sections: Mapping[str, SectionNumbers],
    spans: Mapping[str, Spans],
    max_length: int,
    overall_max_length: int,
) -> list[Segment]:
    """Extend each segment to the whole section if it contains at least half of the section's chunks.

    Both ends are extended independently, best segments first, never into another segment, beyond `max_length`,
    or beyond what `overall_max_length` leaves. Scores do not change.

    Source: docs/algorithm.md §segments.6.
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
    """The missing chunks before and after, for sections of which chunks `first` to before `last` are at least half."""
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


def extract_segments(
    results: Sequence[Sequence[RankedChunk]],
    spans: Mapping[str, Spans],
    options: SegmentOptions | Mapping[str, object] | str = "balanced",
    sections: Mapping[str, SectionNumbers] | None = None,
) -> list[Segment]:
    """Join neighbouring hits into segments, best first for each query in turn.

    Args:
        results: For each query its hits, best first; of a repeated chunk the first counts.
        spans: Chunks of every document that `segment_documents` returns; others may be omitted.
        options: Options, a preset (`balanced`, `precision`, `find_all`), or a mapping of some options.
        sections: For each document the section of every chunk, such as its id; if given, a segment that has
            half of a section is extended to all of it.

    Returns:
        Segments that never overlap or cross documents. If none reaches the minimum value, the best
        `fallback_top_k` hits, one chunk each; without hits, none.

    Raises:
        QueryError: If a preset or option is unknown or out of bounds, a document's chunks are not given, or a
            hit names a chunk that its document does not have.

    Source: docs/algorithm.md §segments.5.
    """
    chosen = segment_options(options)
    documents = segment_documents(results, chosen)
    missing = [document for document in documents if document not in spans]
    if missing:
        raise QueryError(f"chunks of documents {missing[:3]} are not given; pass their spans")
    ends = list(accumulate(len(spans[document]) for document in documents))
    offsets = dict(zip(documents, [0, *ends], strict=False))
    lengths = np.array([end - start for document in documents for start, end in spans[document]], dtype=np.float64)
    values = [_values(hits, offsets, spans, lengths, chosen) for hits in results]
    budget = chosen.overall_max_length + (len(results) - 1) * chosen.overall_max_length_extension
    runs = best_segments(values, ends, chosen.max_length, budget, chosen.minimum_value)
    runs = runs or _fallback(results, offsets, values, min(chosen.fallback_top_k, budget))
    segments = [_segment(run, documents, ends, spans) for run in runs]
    return complete_sections(segments, sections or {}, spans, chosen.max_length, budget)


def segment_documents(
    results: Sequence[Sequence[RankedChunk]], options: SegmentOptions | Mapping[str, object] | str = "balanced"
) -> list[str]:
    """Documents of the first `top_k_for_document_selection` hits of any query, in order of appearance."""
    top = segment_options(options).top_k_for_document_selection
    return list(dict.fromkeys(document for hits in results for document, _, _ in hits[:top]))


def _values(
    hits: Sequence[RankedChunk],
    offsets: Mapping[str, int],
    spans: Mapping[str, Spans],
    lengths: Floats,
    options: SegmentOptions,
) -> Floats:
    ranks = np.full(lengths.shape, NOT_RETRIEVED, dtype=np.float64)
    relevance = np.zeros(lengths.shape)
    worth = relevance_of([score for _, _, score in hits], options)
    for rank in reversed(range(len(hits))):  # so that the best of repeated hits is kept
        document, number, _ = hits[rank]
        if document in offsets:
            if not 0 <= number < len(spans[document]):
                raise QueryError(f"document {document!r} has no chunk {number} of {len(spans[document])}")
            ranks[offsets[document] + number] = rank
            relevance[offsets[document] + number] = worth[rank]
    values = chunk_values(ranks, relevance, options)
    if not options.chunk_length_adjustment:
        return values
    if options.length_scaling == "floor":  # a chunk that is no hit costs the penalty, regardless of its length
        lengths = np.where(ranks == NOT_RETRIEVED, 0.0, lengths)
    return scale_by_length(values, lengths, options.length_scaling, options.reference_length)


def _fallback(
    results: Sequence[Sequence[RankedChunk]], offsets: Mapping[str, int], values: Sequence[Floats], count: int
) -> list[ChunkRun]:
    found: dict[int, ChunkRun] = {}
    for tier in zip_longest(*results):
        for query, hit in enumerate(tier):
            if hit is not None and hit[0] in offsets:
                place = offsets[hit[0]] + hit[1]
                found.setdefault(place, ChunkRun(place, place + 1, float(values[query][place]), query))
    return list(islice(found.values(), count))


def _segment(run: ChunkRun, documents: Sequence[str], ends: Sequence[int], spans: Mapping[str, Spans]) -> Segment:
    number = int(np.searchsorted(ends, run.start, side="right"))
    document = documents[number]
    offset = ends[number] - len(spans[document])
    first, last = run.start - offset, run.end - offset
    start, end = spans[document][first][0], spans[document][last - 1][1]
    return Segment(document, first, last, start, end, run.score)
