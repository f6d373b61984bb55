"""Terms of a name: its words or pairs of Chinese characters, and its initials."""

import re
from collections.abc import Iterator
from itertools import pairwise

from sag_pipeline.extract.name_matching import spelling
from sag_retrieval.language.words import fold, is_cjk, words

_LINKING = frozenset("of the and for in on at de la du der des die das von van y e &".split())
_LONGEST_RUN = 8
"""Capitalised words whose initials are taken together."""
_SHORTEST = 2
_LONGEST_SHORT = 8
_RUN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def words_of(text: str) -> set[str]:
    """Words in American spelling, and pairs of Chinese characters.

    Examples:
        >>> sorted(words_of("The Centre of 绿源"))
        ['center', '绿源']

    """
    found = words(text)
    pairs = {one + other for one, other in pairwise(found) if is_cjk(one) and is_cjk(other)}
    return pairs | {
        spelling(word) for word in found if len(word) >= _SHORTEST and word not in _LINKING and not is_cjk(word)
    }


def short_names(text: str) -> set[str]:
    """Names in capitals, folded.

    Examples:
        >>> short_names("The NHL of Ohio")
        {'nhl'}

    """
    found = _RUN.findall(text)
    return {
        fold(word) for word in found if _SHORTEST <= len(word) <= _LONGEST_SHORT and word.isupper() and word.isascii()
    }


def initials(text: str) -> set[str]:
    """The initials of runs of capitalised words and of their parts.

    Examples:
        >>> sorted(initials("the National Hockey League"))
        ['hl', 'nh', 'nhl']

    """
    return {
        fold("".join(word[0] for word in run[start:end]))
        for run in _runs(text)
        for start in range(len(run))
        for end in range(start + _SHORTEST, len(run) + 1)
    }


def whole_initials(name: str) -> set[str]:
    """The initials of all capitalised words of a name; empty for less than two.

    Examples:
        >>> whole_initials("Food and Drug Administration")
        {'fda'}

    """
    return {fold("".join(word[0] for word in run)) for run in [*_runs(name)][:1]}


def _runs(text: str) -> Iterator[list[str]]:
    """Runs of capitalised words; small words between them are read over."""
    run: list[str] = []
    for word in _RUN.findall(text):
        if word[0].isupper() and len(run) < _LONGEST_RUN:
            run.append(word)
        elif word not in _LINKING:
            if len(run) >= _SHORTEST:
                yield run
            run = [word] if word[0].isupper() else []
    if len(run) >= _SHORTEST:
        yield run
