"""Similarity of events (weight of shared keys, cosine, nearest neighbours), and the weighted edges between them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from sag_retrieval.clusters.events import EventTable, Flags, Floats, Rows
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.protocols import Vectors

EXACT_LIMIT = 4_000
"""Sets up to this size are compared in full."""
_DENSE_AT_ONCE, _SPARSE_AT_ONCE = 512, 4_096
"""Pairs whose vectors are gathered at a time: dense ones few enough for a core's own cache, three times as fast."""
_ROWS_AT_ONCE = 2_048
_SKETCH = 256
_PROBES = 6
_PROPOSED = 4
_LEAST_BOUND, _BOUND = 1_024, 8
"""Most events of a cell: this number, or this multiple of the root of all; cells of unlike events are far smaller."""
Dense = npt.NDArray[np.float32]
PAIRS_AT_ONCE = 2_000_000
"""Pairs held in memory at a time."""


def cosines(vectors: Vectors, left: Rows, right: Rows) -> Floats:
    """Cosine of each pair of rows; shape (pairs,)."""
    found = np.empty(len(left))
    step = _SPARSE_AT_ONCE if issparse(vectors) else _DENSE_AT_ONCE
    for start in range(0, len(left), step):
        part = slice(start, start + step)
        if issparse(vectors):
            found[part] = vectors[left[part]].multiply(vectors[right[part]]).sum(axis=1)
        else:
            one, other = (np.take(vectors, side[part], axis=0, mode="clip") for side in (left, right))
            found[part] = np.einsum("ij,ij->i", one, other)
    return found


def nearest(vectors: Vectors, count: int, seed: int = 0) -> tuple[Rows, Rows]:
    """Pairs (event, one of its `count` nearest other events), ordered by event.

    Above `EXACT_LIMIT` events each one is compared with the events of its cell only: those for which the
    cell's centre is one of the six nearest. For sparse vectors a random projection selects candidates, exact cosines
    rank them.
    """
    size = vectors.shape[0]
    if count == 0 or size <= 1:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    everyone = np.arange(size, dtype=np.int32)
    if size <= EXACT_LIMIT:
        return _nearest_within(vectors, everyone, everyone, count)
    dense = _dense(vectors, seed)
    wanted = count * _PROPOSED if issparse(vectors) else count
    cells = (part for cell in _cells(dense, seed) for part in _bounded(*cell, max(_LEAST_BOUND, _BOUND * isqrt(size))))
    found = [_nearest_within(dense, members, pool, wanted) for members, pool in cells if len(members)]
    left, right = (np.concatenate([pair[side] for pair in found]) for side in (0, 1))
    if not issparse(vectors):
        order = np.argsort(left, kind="stable")
        return left[order], right[order]
    order = np.lexsort((right, -cosines(vectors, left, right), left))
    left, right = left[order], right[order]
    chosen = places(left) < count
    return left[chosen], right[chosen]


def sum_by(group: Rows, weight: Floats, count: int) -> Floats:
    """Sum of the weights in each of `count` groups."""
    return np.bincount(group, weights=weight, minlength=count).astype(np.float64)


def places(group: Rows) -> Rows:
    """The place of each number in its run of equal numbers, from 0."""
    starts = np.flatnonzero(np.diff(group, prepend=-1)).astype(np.int32)
    return np.arange(len(group), dtype=np.int32) - np.repeat(starts, np.diff(starts, append=np.int32(len(group))))


def _dense(vectors: Vectors, seed: int) -> Dense:
    """The vectors themselves, or a random projection of sparse ones that keeps their cosines roughly."""
    if not issparse(vectors):
        return np.asarray(vectors, dtype=np.float32)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (vectors.shape[1], _SKETCH)).astype(np.float32)
    return np.asarray(csr_array(vectors).astype(np.float32) @ signs, dtype=np.float32)


def _cells(dense: Dense, seed: int) -> list[tuple[Rows, Rows]]:
    """For every centre: the events it is nearest to, and all events it is among the nearest `_PROBES` of."""
    size = len(dense)
    chosen = np.random.default_rng(seed).choice(size, 2 * int(np.sqrt(size)), replace=False)
    centres = dense[np.sort(chosen)]
    near = np.empty((size, min(_PROBES, len(centres))), dtype=np.int32)
    for start in range(0, size, _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        near[part] = _top(dense[part] @ centres.T, _PROBES)[0]
    return list(zip(_groups(near[:, :1], len(centres)), _groups(near, len(centres)), strict=True))


def _bounded(members: Rows, pool: Rows, most: int) -> Iterator[tuple[Rows, Rows]]:
    """A cell in parts of at most `most` events: thousands of equal sentences all have the same nearest centre."""
    if len(pool) <= most:
        yield members, pool
        return
    for start in range(0, len(pool), most):
        part = pool[start : start + most]
        first, last = np.searchsorted(members, [part[0], part[-1] + 1])
        yield members[first:last], part


def _groups(cell: Rows, count: int) -> list[Rows]:
    row = np.repeat(np.arange(len(cell), dtype=np.int32), cell.shape[1])
    order = np.argsort(cell.ravel(), kind="stable")
    return np.split(row[order], np.searchsorted(cell.ravel()[order], np.arange(1, count)))


def _nearest_within(vectors: Vectors, members: Rows, pool: Rows, count: int) -> tuple[Rows, Rows]:
    """Pairs (member, one of its nearest others in the pool); the pool is ordered and holds the members."""
    left: list[Rows] = []
    right: list[Rows] = []
    candidates = vectors[pool].T
    for start in range(0, len(members), _ROWS_AT_ONCE):
        rows = members[start : start + _ROWS_AT_ONCE]
        product = vectors[rows] @ candidates
        likeness = np.asarray(product.toarray() if issparse(product) else product, dtype=np.float32)
        likeness[np.arange(len(rows)), np.searchsorted(pool, rows)] = -np.inf
        best, value = _top(likeness, count)
        real = value > 0
        left.append(np.repeat(rows, best.shape[1])[real.ravel()])
        right.append(pool[best][real])
    return np.concatenate(left), np.concatenate(right)


def _top(score: Dense, count: int) -> tuple[Rows, Dense]:
    """Columns and values of the `count` highest of each row, highest first, ties by column; `score` is overwritten."""
    count = min(count, score.shape[1])
    row = np.arange(len(score))
    best, value = np.empty((len(score), count), dtype=np.int32), np.empty((len(score), count), dtype=np.float32)
    for place in range(count):  # a few passes of argmax take a third of the time of one argpartition
        column = score.argmax(axis=1)
        best[:, place], value[:, place] = column, score[row, column]
        score[row, column] = -np.inf
    return best, value


@dataclass(frozen=True, slots=True)
class Normal:
    """Mean and standard deviation of the shared weight over all pairs of events."""

    mean: float
    deviation: float

    def __call__(self, shared: Floats) -> Floats:
        """`sigmoid((shared - mean) / deviation)`; one half where all pairs are equal."""
        if self.deviation == 0:
            return np.full(len(shared), 0.5)
        from scipy.special import expit  # noqa: PLC0415  a third of a second, and only to make communities

        return np.asarray(expit((shared - self.mean) / self.deviation))


def key_idf(incidence: csr_array) -> Floats:
    """`ln(events / events with the key)`, 0 for a key that no event carries (docs/algorithm.md §reports.1)."""
    count = incidence.sum(axis=0)
    return np.log(max(incidence.shape[0], 1) / np.where(count > 0, count, max(incidence.shape[0], 1)))


def pair_statistics(incidence: csr_array, idf: Floats) -> Normal:
    """Mean and deviation of the shared weight over all `n(n-1)/2` pairs, zeros counted, in closed form.

    Source: docs/algorithm.md §reports.1.
    """
    pairs = incidence.shape[0] * (incidence.shape[0] - 1) / 2
    if pairs == 0:
        return Normal(0.0, 0.0)
    count = incidence.sum(axis=0)
    mean = float(idf @ (count * (count - 1))) / 2 / pairs
    square = _sum_of_squares(incidence, idf) / pairs
    variance = square - mean * mean
    return Normal(mean, float(np.sqrt(variance)) if variance > 1e-12 * square else 0.0)


def blocks(work: Floats) -> Iterator[tuple[int, int]]:
    """Runs of rows (start, end) whose work sums to at most `PAIRS_AT_ONCE`, or single rows."""
    cumulative = np.cumsum(work)
    start, done = 0, 0.0
    while start < len(cumulative):
        end = max(int(np.searchsorted(cumulative, done + PAIRS_AT_ONCE, side="right")), start + 1)
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
        marks = np.zeros(weighted.shape[0], dtype=np.uint64)  # of each event, one bit set for each key
        event = np.repeat(np.arange(len(marks)), np.diff(weighted.indptr))
        np.bitwise_or.at(marks, event, np.uint64(1) << (weighted.indices % 64).astype(np.uint64))
        return cls(incidence, weighted, marks)

    def __call__(self, left: Rows, right: Rows) -> Floats:
        """The sum for each pair of rows."""
        found = np.zeros(len(left))
        perhaps = np.flatnonzero(self.marks[left] & self.marks[right])
        step = max(PAIRS_AT_ONCE // 4, 1)
        for start in range(0, len(perhaps), step):
            part = perhaps[start : start + step]
            found[part] = self.weighted[left[part]].multiply(self.carried[right[part]]).sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class Fusion:
    """Fused weights of pairs: `alpha · normal(Σ idf of shared keys) + (1 - alpha) · cosine`.

    Source: docs/algorithm.md §reports.1.
    """

    incidence: csr_array
    idf: Floats
    normal: Normal
    vectors: Vectors
    alpha: float

    @property
    def background(self) -> float:
        """Weight of a pair that shares no key and no meaning."""
        return self.alpha * float(self.normal(np.zeros(1))[0])

    def fuse(self, shared: Floats, left: Rows, right: Rows) -> Floats:
        """The fused weight of pairs whose shared weight is known."""
        if self.alpha == 1:
            return self.normal(shared)
        return self.alpha * self.normal(shared) + (1 - self.alpha) * cosines(self.vectors, left, right)


MOST = 0.5
"""A key that a larger share of the events carries tells none of them from the others."""
FEW = 10
"""A key that no more events than these carry is never too common: it may be a small pile's only tie."""
PERIOD = re.compile(r"\d{4}(?:-\d\d)?")
"""A year or month: every dated event has both beside its day, so a pile of one year would be one theme."""
_ALL_PAIRS_LIMIT = 5_000
"""Most events for which every pair is weighed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Undirected pairs (`left < right`, ordered) with their fused weight."""

    node_count: int
    left: Rows
    right: Rows
    weight: Floats
    background: float = 0.0
    """Weight of a pair that shares no key and no meaning."""
    candidate_count: int = 0
    """Pairs that were weighed, each direction counted."""
    common_keys: int = 0
    """Keys that were too common to propose pairs."""
    normal: Normal | None = None
    """What the shared weight of pairs was normalised by."""

    @property
    def strength(self) -> Floats:
        """Weight above the background, never negative: the weight that community detection uses."""
        return np.maximum(self.weight - self.background, 0.0)


def tying(values: Sequence[str | None], count: npt.NDArray[Any], events: int, options: ClusterOptions) -> Flags:
    """Whether each key can tie events: it is not carried by most of the events, and says more than when.

    Years and months tie where types of keys are chosen: who asks for dates gets all of them. A number or a flag has no
    text. Source: docs/algorithm.md §reports.1.
    """
    found = np.asarray(count <= max(FEW, MOST * events), np.bool_)
    if not options.key_types:
        found &= ~np.fromiter((bool(value and PERIOD.fullmatch(value)) for value in values), np.bool_, len(values))
    return found


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Directed pairs: the neighbours that each `left` keeps."""

    left: Rows
    right: Rows
    weight: Floats

    def __getitem__(self, chosen: Flags | npt.NDArray[np.intp]) -> "_Pairs":
        return _Pairs(self.left[chosen], self.right[chosen], self.weight[chosen])

    def turned(self) -> "_Pairs":
        """The same pairs in the other direction, ordered by their new left."""
        return _Pairs(self.right, self.left, self.weight)[np.argsort(self.right, kind="stable")]


def weigh_edges(events: EventTable, options: ClusterOptions) -> Edges:
    """The weighed pairs of the events; each event keeps its strongest, unless every pair is asked for.

    Source: docs/algorithm.md §reports.1 and §reports.2.
    """
    incidence = events.incidence(options.key_types, options.without_key_types)
    incidence = csr_array(incidence * tying(events.keys.values, incidence.sum(axis=0), len(events), options))
    incidence.eliminate_zeros()
    idf = key_idf(incidence) if options.use_idf else np.ones(incidence.shape[1])
    fusion = Fusion(incidence, idf, pair_statistics(incidence, idf), events.vectors, options.alpha)
    is_all, common = options.pairs == "all", incidence.sum(axis=0) > options.common_key_limit
    weighed = _all_pairs(fusion, options.threshold) if is_all else _candidate_pairs(fusion, common, options)
    left, right, weight, count = weighed
    return Edges(
        node_count=len(events),
        left=left,
        right=right,
        weight=weight,
        background=fusion.background,
        candidate_count=count,
        common_keys=0 if is_all else int(np.count_nonzero(common)),
        normal=None if is_all else fusion.normal,
    )


_Weighed = tuple[Rows, Rows, Floats, int]
"""Pairs with their weight, and how many were weighed."""


def _all_pairs(fusion: Fusion, threshold: float) -> _Weighed:
    size = fusion.incidence.shape[0]
    if size > _ALL_PAIRS_LIMIT:
        raise SettingsError(
            f"pairs='all' weighs every pair of {size} events, at most {_ALL_PAIRS_LIMIT} events are allowed; "
            "use pairs='candidates' or a narrower range"
        )
    left, right = (side.astype(np.int32) for side in np.triu_indices(size, 1))
    weight = fusion.fuse(Sharing.of(fusion.incidence, fusion.idf)(left, right), left, right)
    kept = weight > threshold
    return left[kept], right[kept], weight[kept], 2 * len(left)


def _candidate_pairs(fusion: Fusion, common: Flags, options: ClusterOptions) -> _Weighed:
    size, candidates = fusion.incidence.shape[0], 0
    found: list[_Pairs] = []
    for left, right, shared, is_mutual in _proposals(fusion, common, options):
        candidates += len(left) * (1 + is_mutual)
        pairs = _Pairs(left, right, fusion.fuse(shared, left, right))
        pairs = pairs[pairs.weight > options.threshold]
        found += [_strongest(each, options.strongest) for each in ([pairs, pairs.turned()] if is_mutual else [pairs])]
    joined = _join(found, size, options.strongest)
    low, high = np.minimum(joined.left, joined.right), np.maximum(joined.left, joined.right)
    _, once = np.unique(low * np.int64(size) + high, return_index=True)
    return low[once], high[once], joined.weight[once], candidates


def _proposals(fusion: Fusion, common: Flags, options: ClusterOptions) -> Iterator[tuple[Rows, Rows, Floats, bool]]:
    """Candidates with their shared weight, ordered by left; whether each stands for both directions."""
    for left, right, shared in _sharing(fusion, common):
        yield left, right, shared, True
    count = options.neighbours_by_meaning if options.alpha < 1 else 0
    left, right = nearest(fusion.vectors, count, options.seed)
    yield left, right, Sharing.of(fusion.incidence, fusion.idf)(left, right), False


def _sharing(fusion: Fusion, common: Flags) -> Iterator[tuple[Rows, Rows, Floats]]:
    """Pairs (`left < right`) that share a key which is not too common, with their whole shared weight."""
    proposing = csr_array(fusion.incidence * (~common).astype(np.float64))
    proposing.eliminate_zeros()
    other = csr_array(proposing.T)
    weighted = csr_array(proposing * fusion.idf)
    common_part = Sharing.of(fusion.incidence, fusion.idf * common)
    for start, end in blocks(proposing @ proposing.sum(axis=0)):
        rows = csr_array(weighted[start:end] @ other[:, start:])
        rows.sort_indices()
        product = rows.tocoo()
        left, right = (side.astype(np.int32) + np.int32(start) for side in (product.row, product.col))
        apart = left < right
        left, right, shared = left[apart], right[apart], product.data[apart]
        yield left, right, shared + common_part(left, right)


def _strongest(pairs: _Pairs, count: int) -> _Pairs:
    """The `count` heaviest pairs of every left event; ties go to the earlier one.

    The pairs come ordered by left. One number holds left and weight, which is in [-1, 1]: sorting by one is
    several times as fast as by two.
    """
    ordered = pairs[np.argsort(4.0 * (pairs.left - pairs.left.min(initial=0)) - pairs.weight, kind="stable")]
    return ordered[places(ordered.left) < count]


def _join(found: list[_Pairs], size: int, count: int) -> _Pairs:
    joined = _Pairs(
        np.concatenate([np.zeros(0, np.int32), *(pairs.left for pairs in found)]),
        np.concatenate([np.zeros(0, np.int32), *(pairs.right for pairs in found)]),
        np.concatenate([np.zeros(0), *(pairs.weight for pairs in found)]),
    )
    _, once = np.unique(joined.left * np.int64(size) + joined.right, return_index=True)
    return _strongest(joined[once], count)
