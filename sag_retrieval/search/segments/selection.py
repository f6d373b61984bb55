"""The value of each chunk to a segment, and the best runs of consecutive chunks within a budget."""

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import QueryError, SettingsError
from sag_retrieval.core.types import Floats
from sag_retrieval.search.segments.options import Scaling, SegmentOptions

NOT_RETRIEVED = 1000
"""The rank of a chunk that is no hit; its relevance is 0."""

RELEVANCE_FLOOR = 0.3
"""Relevance of the last hit under `minmax`."""
_CONSTANT = 0.8
"""The relevance of every hit under `constant`."""
_BACKGROUND_RANK = 100


def chunk_values(ranks: npt.ArrayLike, relevance: npt.ArrayLike, options: SegmentOptions) -> Floats:
    """Value every chunk for one query: `exp(-rank / decay_rate) · relevance - penalty`.

    Args:
        ranks: Shape (chunks,), from 0; `NOT_RETRIEVED` for a chunk that is no hit.
        relevance: Shape (chunks,); 0 for a chunk that is no hit, which then costs the whole penalty.
        options: For the decay rate and the penalty.

    Source: docs/algorithm.md §segments.1.
    """
    rank = np.asarray(ranks, dtype=np.float64)
    worth = np.asarray(relevance, dtype=np.float64)
    return np.exp(-rank / options.decay_rate) * worth - options.irrelevant_chunk_penalty


def scale_by_length(
    values: npt.ArrayLike, lengths: npt.ArrayLike, how: Scaling = "floor", reference: int = 700
) -> Floats:
    """Scale values by the characters of their chunks.

    `floor`: `value · max(length, reference) / reference`, so short chunks keep their value.
    `linear`: `value · length / reference`, so an empty chunk is worth 0 and costs 0.

    Raises:
        SettingsError: If `how` is neither.

    Source: docs/algorithm.md §segments.2.
    """
    value = np.asarray(values, dtype=np.float64)
    length = np.asarray(lengths, dtype=np.float64)
    if how == "floor":
        return value * (np.maximum(length, reference) / reference)
    if how == "linear":
        return value * (length / reference)
    raise SettingsError(f"length scaling {how!r} is unknown; give 'floor' or 'linear'")


def relevance_of(scores: npt.ArrayLike, options: SegmentOptions) -> Floats:
    """A query's scores, best first, as relevance in 0 to 1, by `options.relevance`.

    Source: docs/algorithm.md §segments.3.
    """
    score = np.asarray(scores, dtype=np.float64)
    if callable(options.relevance):
        return np.asarray(options.relevance(score), dtype=np.float64)
    if options.relevance == "raw" or not score.size:
        return score
    if options.relevance == "constant":
        return np.full(score.shape, _CONSTANT)
    if options.relevance == "minmax":
        return RELEVANCE_FLOOR + (1 - RELEVANCE_FLOOR) * _between(score, score.min(), score.max())
    return calibrated_relevance(score)


def calibrated_relevance(scores: Floats) -> Floats:
    """Scores of any scale as relevance: 1 for the best, 0 for the background, in proportion between.

    The background is the 100th best score: at that rank a hit is no better than chance. Fewer hits estimate it less
    well, so a positive last score is scaled by their number.

    Args:
        scores: Shape (hits,), at least one.

    Source: docs/algorithm.md §segments.3.
    """
    seen = min(_BACKGROUND_RANK, len(scores))
    background = float(np.sort(scores)[-seen])
    if background > 0:
        background *= seen / _BACKGROUND_RANK
    return _between(scores, background, float(scores.max()))


def _between(score: Floats, low: float, high: float) -> Floats:
    if high <= low:
        return np.ones_like(score)
    return np.clip((score - low) / (high - low), 0.0, 1.0)


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

    A run lies inside one document, has at most `max_length` chunks, overlaps no chosen run, keeps the total
    within `overall_max_length`, and neither begins nor ends with a negative value. Of equal sums the smallest
    start wins, then the smallest end. A query is finished if its best run has less than `minimum_value`.

    Args:
        values: One array per query, shape (chunks,), with the chunks of all documents in sequence.
        document_ends: For every document the position after its last chunk, ascending.
        max_length: Longest run, in chunks.
        overall_max_length: All runs together, in chunks.
        minimum_value: Lowest value of a run.

    Returns:
        Runs in the order they were chosen.

    Raises:
        QueryError: If a value is not finite or the arrays do not end with the last document.

    Source: docs/algorithm.md §segments.4.
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
