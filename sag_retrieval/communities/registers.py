"""Recognise how a text speaks: opinions, courtesies, claims, notices, notes without a verb, and what has no figure."""

import re
from functools import lru_cache
from importlib import resources
from typing import Final

from sag_retrieval.text.words import STOP_WORDS, is_cjk

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_CONTRACTED: Final = re.compile(r"\w(?:n['’]t|['’](?:ll|ve|re|m|d))$")
_DEGREE: Final = re.compile(
    r"\bso (?!that\b|far\b|as\b|on\b|long\b)[a-z]+\b|\bsuch an? |\bjust (?:as|so|the|on|[a-z]+s)\b"
)
"""`so powerful`, `such a place`: how somebody feels about it."""
_ORDER: Final = re.compile(
    r"^(?:(?:Then|Next|First|Finally|Now|Always|Never|Do not|Don['’]t),? )?([A-Z]?[a-z]{2,20})(?: (?:up|out|off|down))?"
    r" (?:(the|an?|your|some|all|both|each|every|any|it|them|this|these)|[a-z]+)\b"
)
"""The first word that can be an order, and a determiner behind it: a noun that is the subject never has one there."""
_NO_BARE_VERB: Final = re.compile(r"(?:ing|ed|ly|[^s]s|ion|ment|ness|ity|ward|day|like|side)$")
"""Endings that no bare form of a verb has, or seldom."""
GRAMMAR_WORDS: Final = STOP_WORDS | frozenset(
    "above across against ago along alongside amid among another around atop behind below beneath beside"
    " between beyond despite either every except first given half last less like many much near neither"
    " next notwithstanding now one onto opposite outside past per plus quite rather round second several"
    " since three throughout till today tonight toward towards twice two unless unlike upon via whereas"
    " whether within without worth".split()
)
"""Words of grammar that stand first before a determiner and are no verbs."""
_WHILE: Final = re.compile(r"\b(?:until|when|if|while|so that|before|after|once|because|unless) [^,;.]{1,120}")
"""A clause of time or condition, whose verb is not that of the sentence."""
_LISTED: Final = re.compile(r"(?:,| and| or) [a-z]+s\b")
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
_NAMED: Final = re.compile(
    r"[‘“《「『\"][^’”》」』\"]{1,80}[’”》」』\"]"
    r"|(?<![.!?] )(?<!^)\b(?!(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b)[A-Z][a-z]+ \d{1,3}\b"
    r"(?![\d,.:/-]*\d|[%°]| ?(?:[a-z]+s|per cent|million|billion|kg|km|m|am|pm)\b)"
)
"""A title in quotation marks, or a name with its number: `Hall 9`, `the film ‘Deck 9’`."""
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
_EFFECT: Final = re.compile(
    r", (?:and )?(?:thereby |thus |further |ultimately )?(?!(?:including|according|regarding|concerning|following)\b)"
    r"[a-z]{3,16}ing\b[^\dA-Z]{0,200}$"
    r"|，(?:从而|进而|以|并)?(?:进一步)?(?:提升|提高|增强|确保|促进|推动|加强|优化|改善|彰显|体现|巩固|保障|为)[^\d，]{2,60}$"
)
"""What something is said to be good for, at the end and without a figure or name: `…, ensuring smooth work`."""
_DAY_FIGURES: Final = re.compile(r"\b(?:19|20)\d\d\b|(?:19|20)\d\d年|\d{1,2}[月日号]|\b\d{1,2}(?:st|nd|rd|th)\b")
_ALL: Final = re.compile(r"(?<![\d.])100(?:\.0)? ?%|百分之百")
"""`100 %` measures nothing where somebody praises himself."""
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
    if (not is_talk and (_EMOTICON.search(text) or is_order(text))) or _DEGREE.search(text):
        return True
    if is_cjk(text):
        words = _words("opinion_words.txt")
        return bool(_POLITE_CJK.search(text)) or any(word in text for word in words if is_cjk(word) and len(word) > 1)
    tokens = [token.casefold() for token in _TOKEN.findall(text)]
    return any(token in _words("opinion_words.txt") or (not is_talk and _CONTRACTED.search(token)) for token in tokens)


def is_order(text: str) -> bool:
    """Whether an English sentence begins with the bare form of a verb: an instruction, a step of a recipe.

    That is so if a determiner follows its first word, which is no word of grammar, or if no other word of it can be the
    verb of a sentence.

    Examples:
        >>> is_order("Drain the tank and rinse for 10 minutes."), is_order("Oban drained the tank.")
        (True, False)

    """
    found = _ORDER.match(text) if _ENGLISH.search(text) else None
    if found is None or found[1].casefold() in GRAMMAR_WORDS or _NO_BARE_VERB.search(found[1]):
        return False
    return bool(found[2]) or not is_finite(_LISTED.sub("", _WHILE.sub("", text)))


def is_claim(text: str) -> bool:
    """Whether a text praises progress without a single figure but for dates."""
    return _CLAIM.search(text) is not None and _DIGIT.search(_ALL.sub("", _DAY_FIGURES.sub("", text))) is None


def tells_effect(text: str) -> bool:
    """Whether a text ends by saying what the matter is good for, without a figure or a name.

    Examples:
        >>> tells_effect("Oban hired 40 welders, strengthening its team."), tells_effect("Oban hired, paying 3 crowns.")
        (True, False)

    """
    return _EFFECT.search(text) is not None


def has_figure(text: str) -> bool:
    """Whether a text holds a number that can be checked: an amount, a count or a date, no clause, no part of a name.

    Examples:
        >>> has_figure("Oban sold two yards."), has_figure("Section 2.2 of the X2 manual applies.")
        (True, False)

    """
    if not _FIGURE.search(text):
        return False
    return _FIGURE.search(_NAMED.sub(" ", _PLACE_IN_TEXT.sub(" ", text))) is not None


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


def is_finite(text: str) -> bool:
    """Whether an English text has a word behind its first that can be the verb of a sentence."""
    return any(_can_be_finite(token.casefold()) for token in _TOKEN.findall(_COUNTED.sub(" ", text))[1:])


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
