"""Weighted edges between events, from candidate pairs instead of all pairs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventTable, Flags, Floats, Rows
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Fusion, Normal, Sharing, blocks, key_idf, nearest, places
from sag_retrieval.core.errors import SettingsError

_MOST = 0.5
"""A key that a larger share of the events carries tells none of them from the others."""
_FEW = 10
"""A key that no more events than these carry is never too common: it may be a small pile's only tie."""
_PERIOD = re.compile(r"\d{4}(?:-\d\d)?")
"""A year or month: every dated event has both beside its day, so a pile of one year would be one theme."""
ALL_PAIRS_LIMIT = 5_000
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

    Years and months tie where types of keys are chosen: who asks for dates gets all of them.

    Args:
        values: The keys, as texts; None: a number or a flag.
        count: Events that carry each.
        events: Events of all.
        options: Whether types of keys are chosen.

    Source:
        docs/algorithm.md §reports.1.

    """
    found = np.asarray(count <= max(_FEW, _MOST * events), np.bool_)
    if not options.key_types:
        found &= ~np.fromiter((bool(value and _PERIOD.fullmatch(value)) for value in values), np.bool_, len(values))
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

    Raises:
        SettingsError: If every pair is asked for and there are more than `ALL_PAIRS_LIMIT` events.

    Source:
        docs/algorithm.md §reports.1 and §reports.2.

    """
    incidence = events.incidence(options.key_types, options.without_key_types)
    incidence = csr_array(incidence * tying(events.keys.values, incidence.sum(axis=0), len(events), options))
    incidence.eliminate_zeros()
    idf = key_idf(incidence) if options.use_idf else np.ones(incidence.shape[1])
    fusion = Fusion.of(incidence, idf, events.vectors, options.alpha)
    if options.pairs == "all":
        return _all_pairs(fusion, len(events), options.threshold)
    return _candidate_pairs(fusion, options)


def _all_pairs(fusion: Fusion, size: int, threshold: float) -> Edges:
    if size > ALL_PAIRS_LIMIT:
        raise SettingsError(
            f"pairs='all' weighs every pair of {size} events, at most {ALL_PAIRS_LIMIT} events are allowed; "
            "use pairs='candidates' or a narrower range"
        )
    left, right = (side.astype(np.int32) for side in np.triu_indices(size, 1))
    shared = Sharing.of(fusion.incidence, fusion.idf)(left, right)
    weight = fusion.fuse(shared, left, right)
    kept = weight > threshold
    return Edges(
        node_count=size,
        left=left[kept],
        right=right[kept],
        weight=weight[kept],
        background=fusion.background,
        candidate_count=2 * len(left),
    )


def _candidate_pairs(fusion: Fusion, options: ClusterOptions) -> Edges:
    size = fusion.incidence.shape[0]
    common = fusion.incidence.sum(axis=0) > options.common_key_limit
    found: list[_Pairs] = []
    candidates = 0
    for left, right, shared, is_mutual in _proposals(fusion, common, options):
        candidates += len(left) * (1 + is_mutual)
        pairs = _Pairs(left, right, fusion.fuse(shared, left, right))
        pairs = pairs[pairs.weight > options.threshold]
        found += [_strongest(each, options.strongest) for each in ([pairs, pairs.turned()] if is_mutual else [pairs])]
    left, right, weight = _undirected(_join(found, size, options.strongest), size)
    return Edges(
        node_count=size,
        left=left,
        right=right,
        weight=weight,
        background=fusion.background,
        candidate_count=candidates,
        common_keys=int(np.count_nonzero(common)),
        normal=fusion.normal,
    )


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


def _undirected(pairs: _Pairs, size: int) -> tuple[Rows, Rows, Floats]:
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    _, once = np.unique(low * np.int64(size) + high, return_index=True)
    return low[once], high[once], pairs.weight[once]
