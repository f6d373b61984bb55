"""What a chunk is worth to a segment: rank and relevance less a penalty, scaled by length."""

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.types import Floats
from sag_retrieval.segments.options import Scaling, SegmentOptions

NOT_RETRIEVED = 1000
"""The rank of a chunk that is no hit; its relevance is 0."""

RELEVANCE_FLOOR = 0.3
"""Relevance of the last hit under `minmax`."""
_BACKGROUND_RANK = 100


def chunk_values(ranks: npt.ArrayLike, relevance: npt.ArrayLike, options: SegmentOptions) -> Floats:
    """Value every chunk for one query: `exp(-rank / decay_rate) · relevance - penalty`.

    Args:
        ranks: Shape (chunks,), from 0; `NOT_RETRIEVED` for a chunk that is no hit.
        relevance: Shape (chunks,); 0 for a chunk that is no hit, which so costs the whole penalty.
        options: Gives the decay rate and the penalty.

    Source:
        docs/algorithm.md §segments.1

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

    Source:
        docs/algorithm.md §segments.2

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

    Source:
        docs/algorithm.md §segments.3

    """
    score = np.asarray(scores, dtype=np.float64)
    if callable(options.relevance):
        return np.asarray(options.relevance(score), dtype=np.float64)
    if options.relevance == "raw" or not score.size:
        return score
    if options.relevance == "constant":
        return np.full(score.shape, options.constant_relevance)
    if options.relevance == "minmax":
        return RELEVANCE_FLOOR + (1 - RELEVANCE_FLOOR) * _between(score, score.min(), score.max())
    return calibrated_relevance(score)


def calibrated_relevance(scores: Floats) -> Floats:
    """Scores of any scale as relevance: 1 for the best, 0 for the background, in proportion between.

    The background is the 100th best score: so far down a hit is no better than chance. Fewer hits tell less
    about it, so a positive last score counts in proportion to their number.

    Args:
        scores: Shape (hits,), at least one.

    Source:
        docs/algorithm.md §segments.3

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
