"""The form of titles: short enough, and each taken once."""

import re
from collections.abc import Iterable
from typing import Final

from sag_retrieval.language.words import fold, is_cjk

MOST_CHARACTERS: Final = 12
"""Of a Chinese title."""
MOST_WORDS: Final = 6
"""Of an English title."""
_ADDED = re.compile(r"(?<!\s)\s*+[(（:：].*", re.DOTALL)
_COMMA = re.compile(r"[,，、;；]")


class TakenTitles:
    """Titles that are taken, however they are spelt, and the number that a repeated one gets next."""

    def __init__(self, titles: Iterable[str] = ()) -> None:
        """Hold the titles."""
        self._folded = set(map(fold, titles))
        self._next: dict[str, int] = {}

    def __contains__(self, title: str) -> bool:
        return fold(title) in self._folded

    def add(self, title: str) -> None:
        """Take a title."""
        self._folded.add(fold(title))

    def numbered(self, title: str) -> str:
        """The title with the lowest number that is free; thousands of equal ones take time in proportion."""
        number = self._next.get(title, 2)
        while f"{title} {number}" in self:
            number += 1
        self._next[title] = number + 1
        return f"{title} {number}"


def fits(title: str) -> bool:
    """Whether a title is short enough: 12 characters in Chinese, else 6 words; separators do not count."""
    bare = title.replace(" · ", " ")
    return len(bare.replace(" ", "")) <= MOST_CHARACTERS if is_cjk(bare) else len(bare.split()) <= MOST_WORDS


def shorten(text: str) -> str:
    """The beginning of a text that fits: up to a bracket, colon or comma, else with `…` where it was cut."""
    first = _ADDED.sub("", text)
    parts = [first[: found.start()] for found in reversed(list(_COMMA.finditer(first)))]
    for whole in (text, first, *parts):
        if whole and fits(whole):
            return whole
    if is_cjk(text):
        return text[: MOST_CHARACTERS - 1] + "…"
    return " ".join(text.split()[:MOST_WORDS]) + "…"
