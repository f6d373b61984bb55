"""Recognise how a text speaks: opinions, advice and courtesies, vague plans, and notes without a verb."""

import re
from functools import lru_cache
from importlib import resources
from typing import Final

from sag_retrieval.text.words import is_cjk

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_CONTRACTED: Final = re.compile(r"\w(?:n['’]t|['’](?:ll|ve|re|m|d))$")
_DEGREE: Final = re.compile(
    r"\bso (?!that\b|far\b|as\b|on\b|long\b)[a-z]+\b|\bsuch an? |\bjust (?:as|so|the|on|[a-z]+s)\b"
)
"""`so powerful`, `such a place`: how somebody feels about it."""
_EMOTICON: Final = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_POLITE_CJK: Final = re.compile(r"(?<![申邀聘提恳报])请(?![求假示])|祝(?=你|您|大家|愿)")
"""`请` and `祝` as courtesies, not inside another word."""
_PLAN: Final = re.compile(
    r"\b(?:will continue|plans? to|aims? to|intends? to|strives? to|is committed to|looks? forward|going forward)\b"
    r"|\bremains? committed\b"
    r"|将(?:会|继续|进一步|不断|持续|始终|致力|积极|加大|加强|整合)|致力于|展望未来|力争"
)
_DIGIT: Final = re.compile(r"\d")
_ENGLISH: Final = re.compile(r"\b(?:the|of|and|with|without|to|for|ago)\b")
_APPOSITION: Final = re.compile(r"^[A-Z][^,]{2,60}, (?:an?|the) ")
"""`Ada Byrne, the founder of a shipyard`: an entry of a list of people says who they are without a verb."""
_COUNTED: Final = re.compile(
    r"\d [a-z]+s\b|\b(?:of|without|with|for|in|on|at|by|from|no|all|two|three|several|many|normal|other) [a-z]+s\b",
    re.IGNORECASE,
)
"""Words that are counted or follow a preposition: their `-s` is no verb's."""
_PARTICIPLE: Final = re.compile(r"^[A-Z][a-z]+ed (?:by|with|for|in|on|to|at|from|as)\b")


def is_opinion(text: str) -> bool:
    """Whether a text praises, guesses, wishes, advises or thanks.

    Examples:
        >>> is_opinion("That match was insane, maybe they win again."), is_opinion("Oban Metals closed its yard.")
        (True, False)

    """
    if _EMOTICON.search(text) or _DEGREE.search(text):
        return True
    if is_cjk(text):
        words = _words("opinion_words.txt")
        return bool(_POLITE_CJK.search(text)) or any(word in text for word in words if is_cjk(word) and len(word) > 1)
    tokens = [token.casefold() for token in _TOKEN.findall(text)]
    return any(token in _words("opinion_words.txt") or _CONTRACTED.search(token) for token in tokens)


def is_vague_plan(text: str) -> bool:
    """Whether a text tells of an intention without a single figure."""
    return _PLAN.search(text) is not None and _DIGIT.search(text) is None


def is_note(text: str) -> bool:
    """Whether an English text has no verb that makes a sentence of it: `Normal appetite and sleep`."""
    lower = [token.casefold() for token in _TOKEN.findall(_COUNTED.sub(" ", text))]
    if is_cjk(text) or not _ENGLISH.search(text) or _APPOSITION.match(text):
        return False
    if _PARTICIPLE.match(text):
        return True
    return not any(_can_be_finite(token) for token in lower[1:]) and lower[:1] != ["there"]


def _can_be_finite(token: str) -> bool:
    if token in _words("verb_forms.txt") or _CONTRACTED.search(token):
        return True
    return (token.endswith("ed") and len(token) > len("shed")) or (token.endswith("s") and not token.endswith("ss"))


@lru_cache
def _words(name: str) -> frozenset[str]:
    """The words of a list beside this module."""
    text = resources.files("sag_retrieval.communities").joinpath(name).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def opinion_words() -> frozenset[str]:
    """Words that say what somebody thinks, not what a text is about."""
    return _words("opinion_words.txt")
