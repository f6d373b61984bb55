"""The form of a sentence, told from its characters: prose or a row, speech, and whether it refers back."""

from functools import lru_cache
from importlib import resources
from typing import Final

from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk

_ROW = patterns("all")["row"]
"""Cells of a table: bars, tabs, two amounts or shares beside each other."""
_ADDRESS = patterns("all")["address"]
_SPEECH = patterns("all")["speech"]
_FIRST = patterns("all")["first_word"]
_PRONOUN = patterns("en")["third_person"]
_NAME = patterns("all")["capital_inside"]
"""A capital letter that no beginning of a sentence asks for."""
_OPENING: Final = "“”\"'「『（("
_IN_FORCE = patterns("en")["in_force"]
"""`As of 27 May 2023 …` begins a statement of its own."""
_LETTERS, _LETTERS_CJK = 0.6, 0.4
"""Share of letters in a text that is more than figures; a Chinese character says as much as several letters."""


def is_prose(text: str) -> bool:
    """Whether a text is made of words: no row of a table, no figures alone, no address."""
    return not (_ROW.search(text) or is_figures(text) or _ADDRESS.search(text))


def is_speech(text: str) -> bool:
    """Whether a text asks, exclaims, or speaks of or to somebody present."""
    return _SPEECH.search(text) is not None


def is_figures(text: str) -> bool:
    """Whether a text has too few letters to be more than figures."""
    letters, characters = sum(map(str.isalpha, text)), sum(not each.isspace() for each in text)
    return letters < (_LETTERS_CJK if is_cjk(text) else _LETTERS) * characters


def refers_back(text: str) -> bool:
    """Whether the first word of a sentence, or a pronoun before any name in it, stands for something said before.

    Examples:
        >>> refers_back("It rose by 3 %."), refers_back("In return, he paid 3."), refers_back("Oban rose by 3 %.")
        (True, True, False)
    """
    if is_cjk(text):
        return text.lstrip(_OPENING).startswith(_referring_cjk())
    pronoun = _PRONOUN.search(text)
    before = text[: pronoun.start()] if pronoun else ""
    is_part = before.endswith(" of ") and "," in before  # `four men left, three of them ill`
    if pronoun is not None and not is_part and not _NAME.search(before, 1):
        return True
    first = None if _IN_FORCE.match(text) else _FIRST.match(text)
    return first is not None and first[1].casefold() in _referring()


@lru_cache
def _referring() -> frozenset[str]:
    text = resources.files("sag_retrieval.statements").joinpath("referring_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@lru_cache
def _referring_cjk() -> tuple[str, ...]:
    return tuple(sorted(word for word in _referring() if is_cjk(word)))
