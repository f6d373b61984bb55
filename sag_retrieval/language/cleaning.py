"""Texts in one clean line, cleaned when they are read."""

import re
from collections.abc import Callable, Sequence
from typing import overload

from sag_retrieval.language.data import patterns

_GAP = re.compile(r"\s{2,}|[^\S ]")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

_EMPHASIS = re.compile(r"\*\*|__")
_LIST_MARK = patterns("all")["list_mark"]


class Cleaned(Sequence[str]):
    """Texts that are cleaned when they are asked for, once: of a large release few are."""

    def __init__(self, texts: Sequence[str], change: Callable[[str], str]) -> None:
        self._texts, self._change, self._done = texts, change, dict[int, str]()

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        if place not in self._done:
            self._done[place] = self._change(self._texts[place])
        return self._done[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def clean(text: str) -> str:
    """One line without control characters and without marks that change the writing direction."""
    return _GAP.sub(" ", _CONTROLS.sub(" ", text)).strip()


def unmarked(text: str) -> str:
    """A text without emphasis of Markdown, and without the mark or number of a list before it."""
    return _LIST_MARK.sub("", _EMPHASIS.sub("", text)) or text
