"""Parts of speech of Chinese words, by the dictionary of jieba."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_RETAGGED: Final = {"合同": "n"}
"""Nouns that the dictionary takes for something else."""


@lru_cache(maxsize=1 << 16)
def tagged(run: str) -> Sequence[tuple[str, str]]:
    """The words of a run of Chinese characters, each with its part of speech as jieba writes it."""
    import rjieba  # noqa: PLC0415  its dictionary is read once, and only where there is Chinese

    return tuple((word, _RETAGGED.get(word, part)) for word, part in rjieba.tag(run))
