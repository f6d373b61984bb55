"""What every dense embedder does with its rows: length 1, and zeros for empty texts."""

from collections.abc import Callable, Sequence

import numpy as np

from sag_retrieval.core.errors import AnswerError
from sag_retrieval.core.types import Floats32


def unit_rows(rows: Floats32) -> Floats32:
    """Rows of length 1; a row of zeros stays.

    Raises:
        AnswerError: If a number is not finite.

    """
    if not np.isfinite(rows).all():
        raise AnswerError("a vector holds a number that is not finite; embed the texts again or change the model")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def embed_filled(
    texts: Sequence[str], dimension: int, embed: Callable[[list[str]], Floats32 | Sequence[Floats32]]
) -> Floats32:
    """Rows of length 1 of the texts that are not empty, and rows of zeros of the others: shape (texts, dimension).

    Examples:
        >>> embed_filled(["a", ""], 2, lambda texts: np.full((len(texts), 2), [0, 5], np.float32)).tolist()
        [[0.0, 1.0], [0.0, 0.0]]

    """
    rows = np.zeros((len(texts), dimension), np.float32)
    filled = [place for place, text in enumerate(texts) if text.strip()]
    if filled:
        rows[filled] = unit_rows(np.asarray(embed([texts[place] for place in filled]), np.float32))
    return rows
