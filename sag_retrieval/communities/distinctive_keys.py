"""The keys that tell one community from the others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.communities.events import EventTable, Floats, Rows


@dataclass(frozen=True, slots=True)
class DistinctiveKey:
    """A key of a community: its row, how many of the community's events carry it, how telling it is.

    `rivals` counts the other communities that have it among their three most telling keys.
    """

    row: int
    count: int
    score: float
    rivals: int = 0


def distinctive_keys(events: EventTable, groups: Sequence[Rows], most: int = 12) -> list[list[DistinctiveKey]]:
    """The `most` telling keys of each group of event rows, best first, ties by row.

    A key that c of a group's s events and d of all n events carry scores `c · ln(c n / (s d))`: frequent here
    and rare elsewhere. In a group of all events, where every such score is 0, keys are ordered by count.

    Source:
        docs/algorithm.md §reports.5.

    """
    incidence = events.incidence()
    counts = key_counts(incidence, groups)
    total = incidence.sum(axis=0)
    found = []
    for number, members in enumerate(groups):
        part = slice(counts.indptr[number], counts.indptr[number + 1])
        key, count = counts.indices[part], counts.data[part]
        score = count * np.log(count * len(events) / (len(members) * total[key]))
        order = np.lexsort((key, -count, -np.round(score, 9)))[:most]
        found.append([DistinctiveKey(int(key[i]), int(count[i]), float(score[i])) for i in order])
    first = Counter(key.row for keys in found for key in keys[:3])
    return [[replace(key, rivals=max(first[key.row] - 1, 0)) for key in keys] for keys in found]


def key_counts(incidence: csr_array, groups: Sequence[Rows]) -> csr_array:
    """Shape (groups, keys): events of the group that carry the key."""
    sizes = [len(members) for members in groups]
    member = np.concatenate([np.zeros(0, np.int32), *groups])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ones: Floats = np.ones(len(member))
    member_rows = csr_array((ones, member, starts), shape=(len(groups), incidence.shape[0]))
    return csr_array(member_rows @ incidence)
