"""Recognise how a text speaks: opinions, courtesies, claims, notices, notes without a verb, and what has no figure."""

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
_ORDER: Final = re.compile(
    r"^(?:Add|Apply|Avoid|Bake|Check|Choose|Click|Combine|Cook|Cut|Drain|Elevate|Enter|Fill|Heat|Insert|Keep|Make|Mix"
    r"|Open|Place|Pour|Press|Put|Remove|Repeat|Rinse|Select|Serve|Set|Stir|Take|Toss|Try|Turn|Use|Wash) [a-z]"
)
"""Beginnings of instructions."""
_EMOTICON: Final = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_POLITE_CJK: Final = re.compile(r"(?<![申邀聘提恳报])请(?![求假示])|祝(?=你|您|大家|愿)")
"""`请` and `祝` as courtesies, not inside another word."""
_DIGIT: Final = re.compile(r"\d")
_FIGURE: Final = re.compile(
    r"(?<![A-Za-z\d_-])\d"
    r"|(?<!the )\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|half|twice|thrice)\b"
    r"|[二两三四五六七八九十百千半][个名页天年月周日组艘次成家人条种项倍分件台位岁吨米元]",
    re.IGNORECASE,
)
"""A number in figures or words, no part of a name (`X2`, `Area-51`); `the two` refers back, `hundreds` is vague."""
_PLACE_IN_TEXT: Final = re.compile(
    r"\b(?:section|clause|article|chapter|item|note|part|table|figure|no\.) \d[\w.]*"
    r"|第[\d一二三四五六七八九十百]{1,6}[条章节款项]",
    re.IGNORECASE,
)
"""Where something stands in a document, which says nothing of the matter."""
_CLAIM: Final = re.compile(
    r"\b(?:significant|remarkable|substantial|great|considerable|notable) (?:progress|strides|achievements?"
    r"|milestones?)\b"
    r"|\b(?:strong|firm|deep|ongoing|unwavering|its|their) commitment to\b|\bcommitted to\b|\bstrives? (?:to|for)\b"
    r"|(?:重大|显著|积极|良好|一系列|长足)的?(?:进展|成[效就果绩]|进步|影响)|高度重视|不断(?:提升|完善|努力|推进)|迈出了",
)
"""Praise of one's own work."""
_DAY_FIGURES: Final = re.compile(r"\b(?:19|20)\d\d\b|(?:19|20)\d\d年|\d{1,2}[月日号]|\b\d{1,2}(?:st|nd|rd|th)\b")
_NOTICE: Final = re.compile(
    r"\b(?:copyright|licen[sc]e|trademark|warrant(?:y|ies)|public domain|disclaimers?|royalt(?:y|ies)|ebooks?"
    r"|all rights)\b"
    r"|版权|著作权|许可协议|免责|商标",
    re.IGNORECASE,
)
_BINDING: Final = re.compile(
    r"\b(?:must|shall|may|any|terms of|no representations|in the public domain|without)\b|必须|不得|须|任何",
    re.IGNORECASE,
)
"""What a notice about the use of a text says of it."""
_ENGLISH: Final = re.compile(r"\b(?:the|of|and|with|without|to|for|ago)\b")
_APPOSITION: Final = re.compile(r"^[A-Z][^,]{2,60}, (?:an?|the) ")
"""`Ada Byrne, the founder of a shipyard`: an entry of a list of people says who they are without a verb."""
_COUNTED: Final = re.compile(
    r"\d [a-z]+s\b|\b(?:of|without|with|for|in|on|at|by|from|no|all|two|three|several|many|normal|other) [a-z]+s\b",
    re.IGNORECASE,
)
"""Words that are counted or follow a preposition: their `-s` is no verb's."""
_PARTICIPLE: Final = re.compile(r"^[A-Z][a-z]+ed (?:by|with|for|in|on|to|at|from|as)\b")


def is_opinion(text: str, *, is_talk: bool = False) -> bool:
    """Whether a text praises, guesses, wishes, advises or thanks; of talk, contractions are no sign of it.

    Examples:
        >>> is_opinion("That match was insane, maybe they win again."), is_opinion("Oban Metals closed its yard.")
        (True, False)

    """
    if (not is_talk and _EMOTICON.search(text)) or _ORDER.match(text) or _DEGREE.search(text):
        return True
    if is_cjk(text):
        words = _words("opinion_words.txt")
        return bool(_POLITE_CJK.search(text)) or any(word in text for word in words if is_cjk(word) and len(word) > 1)
    tokens = [token.casefold() for token in _TOKEN.findall(text)]
    return any(token in _words("opinion_words.txt") or (not is_talk and _CONTRACTED.search(token)) for token in tokens)


def is_claim(text: str) -> bool:
    """Whether a text praises progress without a single figure but for dates."""
    return _CLAIM.search(text) is not None and _DIGIT.search(_DAY_FIGURES.sub("", text)) is None


def has_figure(text: str) -> bool:
    """Whether a text holds a number that can be checked: an amount, a count or a date, no clause, no part of a name.

    Examples:
        >>> has_figure("Oban sold two yards."), has_figure("Section 2.2 of the X2 manual applies.")
        (True, False)

    """
    return _FIGURE.search(_PLACE_IN_TEXT.sub(" ", text)) is not None


def is_notice(text: str) -> bool:
    """Whether a text says how a text or program may be used: no date, no amount, rules of licences."""
    found = _NOTICE.findall(text)
    binds = _BINDING.search(text) is not None
    return bool(found) and (binds or len(found) > 1) and _DAY_FIGURES.search(text) is None


def is_note(text: str) -> bool:
    """Whether an English text has no verb that makes a sentence of it: `Normal appetite and sleep`."""
    lower = [token.casefold() for token in _TOKEN.findall(_COUNTED.sub(" ", text))]
    if is_cjk(text) or not _ENGLISH.search(text) or _APPOSITION.match(text):
        return False
    if _PARTICIPLE.match(text):
        return True
    return not any(_can_be_finite(token) for token in lower[1:]) and lower[:1] != ["there"]


def is_past_form(word: str) -> bool:
    """Whether an English word can be a past form of a verb: `moved`, `bought`."""
    return (word.endswith("ed") and len(word) > len("shed")) or word in _words("verb_forms.txt")


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
