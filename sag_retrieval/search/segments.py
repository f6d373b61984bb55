"""From ranked hits to segments: runs of chunks with their exact position in the source."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, zip_longest
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import QueryError, SettingsError, nearest, shown
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal, build_options
from sag_retrieval.core.types import Floats

Scaling = Literal["floor", "linear"]
SegmentPreset = Literal["balanced", "precision", "find_all"]

CANDIDATES = 200
"""Hits to pass per query: lower ranks have no weight in any preset but `find_all`."""

_PRESETS_ARE = "presets: balanced, precision, find_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentOptions(CheckedOptions):
    """How segments are scored and chosen; lengths are numbers of chunks. The defaults are the preset `balanced`."""

    max_length: Annotated[int, Bounds(1)] = 15
    """Longest segment."""
    overall_max_length: Annotated[int, Bounds(0)] = 30
    """Chunks of all segments together, for one query."""
    overall_max_length_extension: Annotated[int, Bounds(0), Internal()] = 5
    """Added to `overall_max_length` for every query after the first."""
    minimum_value: float = 0.5
    """Segments with a lower value are not returned."""
    irrelevant_chunk_penalty: Annotated[float, Bounds(0)] = 0.18
    """Subtracted from each value. Higher: shorter segments (0.05: 20 to 50 chunks, 0.2: 4 to 10, 0.4: 1 to 3)."""
    decay_rate: Annotated[float, Bounds(0, above=True)] = 30.0
    """Ranks over which the value of a hit falls to 1/e."""
    top_k_for_document_selection: Annotated[int, Bounds(1), Internal()] = 10
    """Only documents of this number of first hits per query are considered."""
    chunk_length_adjustment: Annotated[bool, Internal()] = True
    """Whether longer chunks have more weight."""
    length_scaling: Annotated[Scaling, Internal()] = "floor"
    """`floor`: chunks up to `reference_length` count alike; `linear`: in proportion to their characters."""
    reference_length: Annotated[int, Bounds(1), Internal()] = 700
    """Characters of a chunk that counts once."""
    relevance: Annotated[Literal["raw", "calibrated"], Internal()] = "calibrated"
    """How a query's scores, best first, become relevance: not at all, or as shares of the best one."""
    fallback_top_k: Annotated[int, Bounds(0), Internal()] = 1
    """Best hits to return as segments if no segment reaches the minimum value; 0: none."""

    def within(self, characters: int, chunk_length: float) -> "SegmentOptions":
        """These options for a budget of characters, a third of it for one segment; chunks have a mean length."""
        count = max(1, round(characters / max(chunk_length, 1.0)))
        return replace(
            self,
            overall_max_length=min(self.overall_max_length, count),
            max_length=min(self.max_length, math.ceil(count / 3)),
        )


PRESETS: dict[str, SegmentOptions] = {
    "balanced": SegmentOptions(),
    "precision": SegmentOptions(minimum_value=0.7, irrelevant_chunk_penalty=0.2),
    "find_all": SegmentOptions(
        max_length=40,
        overall_max_length=200,
        overall_max_length_extension=0,
        minimum_value=0.4,
        decay_rate=200.0,
        top_k_for_document_selection=200,
    ),
}


def segment_options(given: SegmentOptions | Mapping[str, object] | str = "balanced") -> SegmentOptions:
    """The options of a preset, or those of `balanced` with some values replaced."""
    if isinstance(given, str):
        if given not in PRESETS:
            raise SettingsError(f"unknown preset of segments {shown(given)}; {_PRESETS_ARE}{nearest(given, PRESETS)}")
        return PRESETS[given]
    try:
        return build_options(SegmentOptions, given, what="segments")
    except SettingsError as error:
        raise SettingsError(f"{error}; {_PRESETS_ARE}") from None


NOT_RETRIEVED = 1000
"""The rank of a chunk that is no hit; its relevance is 0."""
_BACKGROUND_RANK = 100


def chunk_values(ranks: npt.ArrayLike, relevance: npt.ArrayLike, options: SegmentOptions) -> Floats:
    """Value of every chunk for one query: `exp(-rank / decay_rate) · relevance - penalty`.

    A chunk that is no hit has the rank `NOT_RETRIEVED` and relevance 0, and costs the whole penalty.
    Source: docs/algorithm.md §segments.1.
    """
    rank = np.asarray(ranks, dtype=np.float64)
    worth = np.asarray(relevance, dtype=np.float64)
    return np.exp(-rank / options.decay_rate) * worth - options.irrelevant_chunk_penalty


def scale_by_length(
    values: npt.ArrayLike, lengths: npt.ArrayLike, how: Scaling = "floor", reference: int = 700
) -> Floats:
    """Scale values by the characters of their chunks (docs/algorithm.md §segments.2)."""
    value = np.asarray(values, dtype=np.float64)
    length = np.asarray(lengths, dtype=np.float64)
    return value * ((np.maximum(length, reference) if how == "floor" else length) / reference)


def relevance_of(scores: npt.ArrayLike, options: SegmentOptions) -> Floats:
    """A query's scores, best first, as relevance in 0 to 1 (docs/algorithm.md §segments.3)."""
    score = np.asarray(scores, dtype=np.float64)
    return score if options.relevance == "raw" or not score.size else calibrated_relevance(score)


def calibrated_relevance(scores: Floats) -> Floats:
    """At least one score of any scale as relevance: 1 for the best, 0 for the background, in proportion between.

    The background is the 100th best score, or of fewer hits less than the last: docs/algorithm.md §segments.3.
    """
    seen = min(_BACKGROUND_RANK, len(scores))
    background = float(np.sort(scores)[-seen])
    if background > 0:
        background *= seen / _BACKGROUND_RANK
    best = float(scores.max())
    return (
        np.ones_like(scores) if best <= background else np.clip((scores - background) / (best - background), 0.0, 1.0)
    )


_EXACT_BITS = 40
_SAFE_BITS = 61


class ChunkRun(NamedTuple):
    """Chunks `start` to before `end`, their total value, and the query that chose them."""

    start: int
    end: int
    score: float
    query: int


class _Best(NamedTuple):
    """The largest sum in one gap, as an integer, and its position; ordered so that the best comes first."""

    loss: int
    start: int
    end: int


_Gap = tuple[int, int]


class _Row:
    """One query's values: their prefix sums as integers, and the positions where a run may begin or end.

    Integer units (2^-40, coarser only for huge values) make equal sums equal in any order of addition.
    """

    def __init__(self, values: Floats) -> None:
        largest = float(np.abs(values).max(initial=0.0)) * max(len(values), 1)
        bits = min(_EXACT_BITS, _SAFE_BITS - math.frexp(largest)[1])
        units = np.rint(np.ldexp(values, bits)).astype(np.int64)
        self.values = values
        self._sums = np.concatenate([[0], np.cumsum(units)])
        self._usable = np.flatnonzero(values >= 0)
        self._found: dict[_Gap, _Best | None] = {}

    def best(self, gap: _Gap, longest: int) -> _Best | None:
        """The best run inside the gap; searched again only if the limit is now shorter than the known run."""
        if gap in self._found:
            known = self._found[gap]
            if known is None or known.end - known.start <= longest:
                return known
        self._found[gap] = found = self._search(gap, longest)
        return found

    def _search(self, gap: _Gap, longest: int) -> _Best | None:
        first, last = np.searchsorted(self._usable, gap)
        places = self._usable[first:last]
        before, after = self._sums[places].tolist(), self._sums[places + 1].tolist()
        starts: deque[tuple[int, int]] = deque()  # sums before a start, ascending; the front is the lowest
        best: _Best | None = None
        for place, low, high in zip(places.tolist(), before, after, strict=True):
            while starts and starts[-1][0] > low:
                starts.pop()
            starts.append((low, place))
            while starts[0][1] <= place - longest:
                starts.popleft()
            here = _Best(starts[0][0] - high, starts[0][1], place + 1)
            best = here if best is None else min(best, here)
        return best


def best_segments(
    values: Sequence[npt.ArrayLike],
    document_ends: Sequence[int],
    max_length: int,
    overall_max_length: int,
    minimum_value: float,
) -> list[ChunkRun]:
    """Choose runs of chunks: queries in turn take their best remaining run until none reaches the minimum.

    Of equal sums the smallest start wins, then the smallest end. Source: docs/algorithm.md §segments.4.

    Args:
        values: One array per query, shape (chunks,), with the chunks of all documents in sequence.
        document_ends: For every document the position after its last chunk, ascending.
        max_length: Longest run, in chunks.
        overall_max_length: All runs together, in chunks.
        minimum_value: Lowest value of a run.
    """
    rows = [_Row(_checked(row, document_ends)) for row in values]
    gaps = list(zip([0, *document_ends[:-1]], document_ends, strict=True)) if document_ends else []
    chosen: list[ChunkRun] = []
    waiting = deque(range(len(rows)))
    left = overall_max_length
    while waiting and left > 0:
        query = waiting.popleft()
        gap, best = _best_of(rows[query], gaps, min(max_length, left))
        if gap is None or best is None:
            continue
        score = math.fsum(rows[query].values[best.start : best.end])
        if score < minimum_value:
            continue
        chosen.append(ChunkRun(best.start, best.end, score, query))
        waiting.append(query)
        left -= best.end - best.start
        place = gaps.index(gap)
        gaps[place : place + 1] = [(gap[0], best.start), (best.end, gap[1])]
    return chosen


def _best_of(row: _Row, gaps: Sequence[_Gap], longest: int) -> tuple[_Gap | None, _Best | None]:
    found = [(best, gap) for gap in gaps if (best := row.best(gap, longest)) is not None]
    if not found:
        return None, None
    best, gap = min(found)
    return gap, best


def _checked(row: npt.ArrayLike, document_ends: Sequence[int]) -> Floats:
    values = np.asarray(row, dtype=np.float64)
    chunks = document_ends[-1] if document_ends else 0
    if values.shape != (chunks,):
        raise QueryError(f"values have shape {values.shape}, but the documents end at chunk {chunks}")
    if not np.isfinite(values).all():
        raise QueryError("values hold a number that is not finite; check the scores they were made from")
    return values


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


SectionNumbers = Sequence[object]
"""The section of each chunk of a document, as any label; the chunks of a section are consecutive."""


def complete_sections(
    segments: Sequence[Segment],
    sections: Mapping[str, SectionNumbers],
    spans: Mapping[str, Spans],
    max_length: int,
    overall_max_length: int,
) -> list[Segment]:
    """Extend segments that hold half of a section to all of it (docs/algorithm.md §segments.6)."""
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
    """Join neighbouring hits into segments, best first for each query in turn (docs/algorithm.md §segments.5).

    Args:
        results: For each query its hits, best first; of a repeated chunk the first counts.
        spans: Chunks of every document that `segment_documents` returns; others may be omitted.
        options: Options, a preset (`balanced`, `precision`, `find_all`), or a mapping of some options.
        sections: For each document the section of every chunk, such as its id; None: segments are not completed.
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
