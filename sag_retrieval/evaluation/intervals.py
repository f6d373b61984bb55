"""How sure a mean is, and the difference of two methods over the same questions: seeded bootstrap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.core.errors import QueryError

SAMPLES = 2000
SEED = 20251120


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the bounds between which 95 % of the resampled means lie."""

    mean: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def bootstrap(values: Sequence[float], *, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """The mean of some values and its 95 % interval; without values all zero.

    Source:
        docs/algorithm.md §evaluation.5

    """
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    given = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(given), size=(samples, len(given)))
    low, high = np.quantile(given[draws].mean(axis=1), [0.025, 0.975])
    return Interval(float(given.mean()), float(low), float(high))


def paired_difference(left: Mapping[str, float], right: Mapping[str, float]) -> Interval:
    """Mean of left − right over the same questions, with its interval.

    Raises:
        QueryError: If the two were not measured on the same questions.

    """
    if left.keys() != right.keys():
        odd = sorted(left.keys() ^ right.keys())
        raise QueryError(f"{len(odd)} questions were measured on one side only, such as {odd[:3]}")
    return bootstrap([left[question] - right[question] for question in left])
