"""The lists of words beside this module: what somebody feels about a matter, and irregular past forms of verbs."""

from functools import lru_cache
from importlib import resources


def opinion_words() -> frozenset[str]:
    """Words that say what somebody thinks, not what a text is about."""
    return _words("opinion_words.txt")


def is_past_form(word: str) -> bool:
    """Whether an English word can be a past form of a verb: `moved`, `bought`."""
    return (word.endswith("ed") and len(word) > len("shed")) or word in _words("verb_forms.txt")


@lru_cache
def _words(name: str) -> frozenset[str]:
    text = resources.files("sag_retrieval.topics").joinpath(name).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())
