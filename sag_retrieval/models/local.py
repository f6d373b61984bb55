"""Vectors from a sentence-transformers model in this process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.models.embeddings import unit_rows

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


class LocalEmbedder:
    """Embeds texts with a model from a folder, or by name from the machine's cache."""

    def __init__(self, model: str, *, batch_size: int = 64) -> None:
        """Load the model.

        Raises:
            SettingsError: If the package is not installed or the model cannot be loaded.

        """
        self._name = model
        self._batch_size = batch_size
        self._model = _load(model)

    @property
    def fingerprint(self) -> str:
        """`sentence-transformers:`, the model's name and the dimension."""
        return f"sentence-transformers:{self._name}:{self.dimension}"

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        return int(self._model.get_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """One row a text, in order (see `Embedder`)."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        places = [i for i, text in enumerate(texts) if text.strip()]
        if places:
            found = self._model.encode(
                [texts[i] for i in places],
                batch_size=self._batch_size,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
            rows[places] = unit_rows(np.asarray(found, np.float32))
        return rows


def _load(model: str) -> "SentenceTransformer":
    try:
        import sentence_transformers  # noqa: PLC0415  an extra, and seconds to load
    except ImportError:
        raise SettingsError(
            f'embedding model {model!r} needs sentence-transformers: pip install "sag[local]"'
        ) from None
    try:
        return sentence_transformers.SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise SettingsError(f"sentence-transformers cannot load {model!r}: {error}") from error
