"""Where the words of a text change: places to divide a text that has no headings."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array

from sag_retrieval.core.types import Floats
from sag_retrieval.text.words import tokens


def depths(texts: Sequence[str], width: int) -> Floats:
    """How far the words change before each text: the depth of the valley that likeness has there.

    The `width` texts before a place and the `width` after it are compared by the cosine of their terms, each
    counted with the logarithm of its rarity. The depth is what the likeness gains from there up to the
    nearest peak on the left, plus the same on the right.

    Args:
        texts: Pieces of one text, in order, such as sentences.
        width: Pieces compared on each side.

    Returns:
        Shape (texts,), not negative; 0 at the first place.

    Source:
        docs/algorithm.md §sections.8

    """
    if len(texts) < 2:  # noqa: PLR2004  one piece has no place between
        return np.zeros(len(texts))
    likeness = _likeness(_term_counts(texts), width)
    depth = np.zeros(len(texts))
    depth[1:] = _climb(likeness) + _climb(likeness[::-1])[::-1]
    return depth


def _term_counts(texts: Sequence[str]) -> csr_array:
    numbers: dict[str, int] = {}
    pairs = [(row, numbers.setdefault(term, len(numbers))) for row, text in enumerate(texts) for term in tokens(text)]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    shape = (len(texts), max(len(numbers), 1))
    counts = csr_array(coo_array((np.ones(len(pairs)), (rows, columns)), shape=shape))
    counts.sum_duplicates()
    spread = np.bincount(counts.indices, minlength=shape[1])
    rarity = np.log1p(len(texts) / np.maximum(spread, 1))
    counts.data *= rarity[counts.indices]
    return counts


def _likeness(counts: csr_array, width: int) -> Floats:
    """Cosine of the windows on both sides of every place after the first text."""
    size = counts.shape[0]
    sides = []
    for first, last in ((-width, 0), (0, width)):
        ones = [
            (place - 1, row)
            for place in range(1, size)
            for row in range(max(place + first, 0), min(place + last, size))
        ]
        rows, columns = np.array(ones, dtype=np.int64).T
        band = csr_array(coo_array((np.ones(len(ones)), (rows, columns)), shape=(size - 1, size)))
        sides.append(csr_array(band @ counts))
    left, right = sides
    shared = np.asarray(left.multiply(right).sum(axis=1)).ravel()
    norms = [np.sqrt(np.asarray(side.multiply(side).sum(axis=1)).ravel()) for side in sides]
    likeness: Floats = shared / np.maximum(norms[0] * norms[1], 1e-12)
    return likeness


def _climb(likeness: Floats) -> Floats:
    """Height of the nearest peak to the left above every place."""
    gain = np.zeros_like(likeness)
    for place in range(1, len(likeness)):
        if likeness[place - 1] >= likeness[place]:
            gain[place] = gain[place - 1] + likeness[place - 1] - likeness[place]
    return gain
