"""Weight of a pair of events: normalised weight of shared keys, combined with cosine similarity."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit

from sag_retrieval.communities.events import Floats, Rows
from sag_retrieval.communities.similarity import cosines
from sag_retrieval.models.protocols import Vectors

PAIRS_AT_ONCE = 2_000_000
"""Pairs held in memory at a time."""


@dataclass(frozen=True, slots=True)
class Normal:
    """Mean and standard deviation of the shared weight over all pairs of events."""

    mean: float
    deviation: float

    def __call__(self, shared: Floats) -> Floats:
        """`sigmoid((shared - mean) / deviation)`; one half where all pairs are equal."""
        if self.deviation == 0:
            return np.full(len(shared), 0.5)
        return np.asarray(expit((shared - self.mean) / self.deviation))


def key_idf(incidence: csr_array) -> Floats:
    """`ln(events / events with the key)`, 0 for a key nobody carries.

    Source:
        docs/algorithm.md §reports.1.

    """
    count = incidence.sum(axis=0)
    return np.log(max(incidence.shape[0], 1) / np.where(count > 0, count, max(incidence.shape[0], 1)))


def pair_statistics(incidence: csr_array, idf: Floats) -> Normal:
    """Mean and deviation of the shared weight over all `n(n-1)/2` pairs, zeros counted, in closed form.

    Source:
        docs/algorithm.md §reports.1.

    """
    pairs = incidence.shape[0] * (incidence.shape[0] - 1) / 2
    if pairs == 0:
        return Normal(0.0, 0.0)
    count = incidence.sum(axis=0)
    mean = float(idf @ (count * (count - 1))) / 2 / pairs
    square = _sum_of_squares(incidence, idf) / pairs
    variance = square - mean * mean
    return Normal(mean, float(np.sqrt(variance)) if variance > 1e-12 * square else 0.0)


def blocks(work: Floats, most: int = PAIRS_AT_ONCE) -> Iterator[tuple[int, int]]:
    """Runs of rows (start, end) whose work sums to at most `most`, or single rows."""
    cumulative = np.cumsum(work)
    start, done = 0, 0.0
    while start < len(cumulative):
        end = max(int(np.searchsorted(cumulative, done + most, side="right")), start + 1)
        yield start, end
        start, done = end, float(cumulative[end - 1])


def _sum_of_squares(incidence: csr_array, idf: Floats) -> float:
    """`Σ W²` over pairs is `Σ idf_k idf_l c(c-1)/2` over ordered pairs of keys with c common events."""
    by_key = csr_array(incidence.T)
    total = 0.0
    for start, end in blocks(by_key @ np.diff(incidence.indptr).astype(np.float64)):
        together = by_key[start:end] @ incidence
        pairs = together.data * (together.data - 1) / 2
        row = np.repeat(np.arange(start, end), np.diff(together.indptr))
        total += float(np.sum(idf[row] * idf[together.indices] * pairs))
    return total


@dataclass(frozen=True, slots=True)
class Sharing:
    """Sums of the weights of the keys that two events share; `marks` exclude most pairs that share none."""

    carried: csr_array
    weighted: csr_array
    marks: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, incidence: csr_array, weight: Floats) -> "Sharing":
        """With these weights, one for each key."""
        weighted = csr_array(incidence * weight)
        weighted.eliminate_zeros()
        return cls(incidence, weighted, _marks(weighted))

    def __call__(self, left: Rows, right: Rows) -> Floats:
        """The sum for each pair of rows."""
        found = np.zeros(len(left))
        perhaps = np.flatnonzero(self.marks[left] & self.marks[right])
        step = max(PAIRS_AT_ONCE // 4, 1)
        for start in range(0, len(perhaps), step):
            part = perhaps[start : start + step]
            found[part] = self.weighted[left[part]].multiply(self.carried[right[part]]).sum(axis=1)
        return found


def _marks(carried: csr_array) -> npt.NDArray[np.uint64]:
    """64 bits for each event, one of them set for each key: events that have no bit in common share no key."""
    marks = np.zeros(carried.shape[0], dtype=np.uint64)
    event = np.repeat(np.arange(len(marks)), np.diff(carried.indptr))
    np.bitwise_or.at(marks, event, np.uint64(1) << (carried.indices % 64).astype(np.uint64))
    return marks


@dataclass(frozen=True, slots=True)
class Fusion:
    """Fused weights of pairs: `alpha · normal(Σ idf of shared keys) + (1 - alpha) · cosine`.

    Source:
        docs/algorithm.md §reports.1.

    """

    incidence: csr_array
    idf: Floats
    normal: Normal
    vectors: Vectors
    alpha: float

    @classmethod
    def of(cls, incidence: csr_array, idf: Floats, vectors: Vectors, alpha: float) -> "Fusion":
        """The fusion that is normalised over all pairs of these events."""
        return cls(incidence, idf, pair_statistics(incidence, idf), vectors, alpha)

    @property
    def background(self) -> float:
        """Weight of a pair that shares no key and no meaning."""
        return self.alpha * float(self.normal(np.zeros(1))[0])

    def fuse(self, shared: Floats, left: Rows, right: Rows) -> Floats:
        """The fused weight of pairs whose shared weight is known."""
        keys = self.normal(shared)
        if self.alpha == 1:
            return keys
        return self.alpha * keys + (1 - self.alpha) * cosines(self.vectors, left, right)
