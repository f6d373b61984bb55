"""Pairs of names that are near in spelling and in vector, found without comparing all with all."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.core.types import Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.text.words import tokens

LONGEST_LIST = 64
"""Names that share an index term; a term of more names says too little to pair them."""
_BLOCK = 65_536


def near_pairs(
    names: Sequence[str], key_types: Sequence[str], vectors: Vectors, rows: Sequence[int], bound: float
) -> Iterator[tuple[int, int, float]]:
    """Pairs of rows of one type with a rare term in common and a cosine of `bound` or more, nearest first.

    Source:
        docs/algorithm.md §extraction.26.

    """
    pairs = _candidates(names, key_types, rows)
    if not len(pairs):
        return
    cosines = np.concatenate([_cosines(vectors, pairs[i : i + _BLOCK]) for i in range(0, len(pairs), _BLOCK)])
    kept = np.flatnonzero(cosines >= bound)
    for i in kept[np.lexsort((pairs[kept, 1], pairs[kept, 0], -cosines[kept]))]:
        yield int(pairs[i, 0]), int(pairs[i, 1]), float(cosines[i])


def _candidates(names: Sequence[str], key_types: Sequence[str], rows: Sequence[int]) -> Rows64:
    lists: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        for term in set(tokens(names[row])):
            lists[key_types[row], term].append(row)
    found = {
        (one, other)
        for members in lists.values()
        if 1 < len(members) <= LONGEST_LIST
        for i, one in enumerate(members)
        for other in members[i + 1 :]
    }
    return np.array(sorted(found), np.int64).reshape(-1, 2)


def _cosines(vectors: Vectors, pairs: Rows64) -> npt.NDArray[np.float64]:
    if isinstance(vectors, csr_array):
        product = vectors[pairs[:, 0]] * vectors[pairs[:, 1]]
        return np.asarray(product.sum(axis=1), np.float64).ravel()
    return np.asarray(np.sum(vectors[pairs[:, 0]] * vectors[pairs[:, 1]], axis=1), np.float64)
