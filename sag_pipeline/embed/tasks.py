"""What workers do for embedding: count the features of texts, and embed texts."""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from sag_retrieval.core.errors import ModelError
from sag_retrieval.models.hashing import Counted, count_texts, counted_together
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import Embedder, Vectors, joined


@dataclass(frozen=True, slots=True)
class TextBatch:
    """TextBatch as one Arrow array, which is handed over without a copy of each."""

    array: pa.Array

    def __reduce__(self) -> tuple[Any, ...]:
        """A slice without the rest of its buffers, which pickling it would bring along."""
        return TextBatch, (pa.concat_arrays([self.array]),)


@dataclass(frozen=True, slots=True)
class EmbedderOf:
    """An embedder that a worker can open."""

    model: str
    """Of `SAG_EMBEDDING_MODEL`."""
    embedder: Embedder | None = None
    """The embedder itself, if it is small enough to be sent."""

    def open(self) -> Embedder:
        """The embedder; a process loads a model once."""
        return self.embedder or _opened(self.model)


@lru_cache(maxsize=1)
def _opened(model: str) -> Embedder:
    return open_dense(model)


class _OfTexts:
    """How batches of texts are split, and what a worker that a text ends means: no vectors, so no release."""

    @staticmethod
    def split(batch: TextBatch) -> Sequence[TextBatch]:
        """One text each."""
        return [TextBatch(batch.array.slice(place, 1)) for place in range(len(batch.array))]

    @staticmethod
    def failed(batch: TextBatch, reason: str) -> Vectors:
        """Refuse: a text without a vector could never be found."""
        (text,) = batch.array.to_pylist()
        raise ModelError(f"embedding the text {text[:80]!r} ({len(text):,} characters) {reason}")


class _Embed(_OfTexts):
    """The vectors of texts."""

    @staticmethod
    def do(batch: TextBatch, shared: EmbedderOf) -> Vectors:
        return _in_memory(shared.open(), batch.array.to_pylist())

    @staticmethod
    def joined(parts: Iterable[Vectors]) -> Vectors:
        return joined([*parts])


_BYTES_A_TEXT: Final = 16_000_000
"""Of a model of usual size while it reads a text of 512 tokens: a first guess, which running out of memory corrects."""
_FEWEST, _MOST = 1, 4096
_at_once = 0
"""TextBatch that this worker embeds at once; found with its first texts."""


def _in_memory(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed as many texts at once as memory allows: half as many each time it runs out, and so from then on."""
    global _at_once  # noqa: PLW0603  of this process, as its memory
    if getattr(embedder, "in_workers", "") != "loaded":
        return embedder.embed(texts)
    _at_once = _at_once or texts_at_once(free_bytes())
    pieces: list[Vectors] = []
    done = 0
    while done < len(texts):
        try:
            pieces.append(embedder.embed(texts[done : done + _at_once]))
        except Exception as error:
            if not _is_out_of_memory(error) or _at_once == _FEWEST:
                raise
            _at_once = max(_FEWEST, min(_at_once, len(texts) - done) // 2)
        else:
            done += _at_once
    return joined(pieces)


def texts_at_once(free: int) -> int:
    """How many texts fit in this many free bytes, as a first guess."""
    return max(_FEWEST, min(_MOST, free // _BYTES_A_TEXT))


def free_bytes() -> int:
    """Free memory of the GPU of this process, else half of what the machine has available."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.mem_get_info()[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _is_out_of_memory(error: Exception) -> bool:
    """Also of a GPU, whose error is of a package that may not be loaded."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


class _Count(_OfTexts):
    """How many of the texts have each feature."""

    @staticmethod
    def do(batch: TextBatch, shared: object) -> Counted:  # noqa: ARG004  as every task
        return count_texts(batch.array.to_pylist())

    @staticmethod
    def joined(parts: Iterable[Counted]) -> Counted:
        return counted_together(parts)


EMBED: Final = _Embed()
COUNT: Final = _Count()
