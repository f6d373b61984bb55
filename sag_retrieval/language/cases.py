"""Cut the case endings of Cyrillic names, so that a name is found in whatever case a text or a query has it."""

import re
from functools import lru_cache
from typing import Final

_CYRILLIC = re.compile("[\u0400-\u052f]")
_WORD = re.compile("[\u0400-\u052f]+")
_HUSHING = frozenset("кгхжшщч")
_LEAST = 2
"""Letters that stay of a word."""
_BEHIND_HUSHING: Final = tuple("ого его ому ему ыми ими иями ией иею ием ия ии ию ие ий их им".split())
"""Endings that take all of the word where one of these letters stands before them: Горьким, Георгия."""
_ENDINGS: Final = tuple(
    """иями иях иям ией иею ием ия ии ию ие ий еями еях еям еем ею ея ее ей ами ями ого его ому ему ыми ах ях ом ем
    ым ых ой ою ая яя ую юю ое ые ый ью а я у ю е и ы о ь й""".split()
)
"""Of names in their cases, the longest of each kind first; not `ам`, `им`, which names end with: Рустам, Максим."""


def is_cyrillic(text: str) -> bool:
    """Whether any letter is Cyrillic."""
    return _CYRILLIC.search(text) is not None


def without_cases(name: str) -> str:
    """A normal name whose Cyrillic words have lost their case endings; equal for all cases of most names.

    A woman's surname meets a man's. Names whose stem changes (Павел, Павла) keep two forms.

    Examples:
        >>> {without_cases(name) for name in ("иванов", "иванова", "ивановым", "ивановой")}
        {'иванов'}
        >>> without_cases("мария горькая") == without_cases("марией горькой"), without_cases("ann lee")
        (True, 'ann lee')
    """
    return _WORD.sub(lambda word: _cut(word[0]), name)


@lru_cache(maxsize=65_536)
def _cut(word: str) -> str:
    return _stem(word).replace("ё", "е")


def _stem(word: str) -> str:
    """The word without the first ending that leaves enough of it."""
    for end in _BEHIND_HUSHING:
        if word.endswith(end) and len(word) - len(end) >= _LEAST and word[-len(end) - 1] in _HUSHING:
            return word[: -len(end)]
    for end in _ENDINGS:
        if word.endswith(end) and len(word) - len(end) >= _LEAST:
            return word[: -len(end)] + ("и" if end[0] == "и" and len(end) > 1 else "")
    return word
