"""Sparse vectors as short dense ones, for the tables that Lance searches: a fixed sparse random projection.

    short = projected(embedder.embed(["Who built the Heron buoy?"]))  # shape (1, 256), float16, of length 1

Cosines are kept up to an error of about 1 / √256 (Johnson and Lindenstrauss); the loss stands in `docs/python.md`.
"""

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from sag_retrieval.core.types import Floats32
from sag_retrieval.models.protocols import Vectors

DIMENSION: Final = 256
_ENTRIES: Final = 8
"""Columns that each dimension is added to, with a random sign: few, as vectors have hundreds of dimensions that mix."""
_AT_ONCE: Final = 16_384


@cache
def _projection(dimension: int) -> csr_array:
    """The same matrix for ever: `RandomState` promises its numbers to all versions of NumPy."""
    random = np.random.RandomState(0)
    columns = random.randint(0, DIMENSION, dimension * _ENTRIES)
    signs = (random.randint(0, 2, dimension * _ENTRIES) * 2 - 1).astype(np.float32)
    return csr_array((signs, columns, np.arange(dimension + 1) * _ENTRIES), shape=(dimension, DIMENSION))


def projected(vectors: Vectors) -> npt.NDArray[np.float16]:
    """Rows of length 1, or zeros, of 256 columns; dense vectors are not to be projected."""
    rows, found = csr_array(vectors), [np.zeros((0, DIMENSION), np.float16)]
    matrix = _projection(rows.shape[1])
    for at in range(0, rows.shape[0], _AT_ONCE):
        short: Floats32 = (rows[at : at + _AT_ONCE] @ matrix).toarray()
        found.append((short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-9)).astype(np.float16))
    return np.concatenate(found)
