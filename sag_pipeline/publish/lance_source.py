"""What one Lance table is written from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.store.vectors import VectorIds
from sag_retrieval.core.types import Floats32
from sag_retrieval.release.vectors import DenseVectors, VectorSet


@dataclass(frozen=True, slots=True)
class LanceSource:
    """Ids and texts by row number, and vectors, opened for each use: else all that was read stayed in memory."""

    name: str
    ids: pa.ChunkedArray
    texts: pa.ChunkedArray
    text_hashes: VectorIds
    open_vectors: Callable[[], VectorSet]

    @property
    def dimension(self) -> int | None:
        """Columns of its vectors; None where it keeps none, as they are not dense."""
        opened = self.open_vectors()
        return opened.dimension if isinstance(opened, DenseVectors) else None

    def take(self, rows: npt.NDArray[np.int64]) -> Floats32:
        """Shape (rows, dimension): some of its dense vectors."""
        return np.asarray(self.open_vectors().take(rows.astype(np.int32)), np.float32)
