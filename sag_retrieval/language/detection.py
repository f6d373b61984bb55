"""Detect the language that a text is written in, as an ISO 639-1 code."""

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from sag_retrieval.language.data import languages, patterns, word_lists
from sag_retrieval.language.words import CJK

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH: Final = "en"
_READ = 20_000
"""Letters are counted in this many characters from the start."""
_CLASSIFIED = 2_000
"""More characters make the language no surer, only its detection slower."""
_CHINESE_SHARE = 0.1
"""Of the letters: a Chinese text may name many foreign firms."""
_KANA_SHARE = 0.05
_SURE = 0.5
"""Below this probability a text in Latin letters is taken for English, whose rules were made for short ones too."""
_OWN_WORDS: Final = {
    language: listed["FREQUENT_WORDS"]
    for language in languages()
    if "FREQUENT_WORDS" in (listed := word_lists(language))
}
"""Frequent words of some languages, in small letters, and of some that are like them (`all`)."""
_SHOWS: Final = {
    word: "" if language == "all" else language
    for language, listed in _OWN_WORDS.items()
    for word in sorted(listed)
    if sum(word in other for other in _OWN_WORDS.values()) == 1
}
"""Word → the one language that it shows; a shared one shows none."""
_WORD = patterns("all")["any_word"]
_EVERY = 100
"""Characters in which at least one such word stands."""
_LEAST = 3
_LEAD = 4
"""Four times the words of one language that all others have show it without the model."""
_NOT_RUSSIAN = re.compile("[\u0400\u0402-\u040f\u0450\u0452-\u052f]")
_RUSSIAN = re.compile("[ыэЫЭ]")
"""Of the alphabets with these letters the Russian one alone has no others than Russian ones."""
_LETTER = patterns("all")["any_letter"]
_SCRIPTS: Final = {
    "kana": "\u3040-\u30ff",
    "ko": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3",
    "th": "\u0e00-\u0e7f",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "zh": CJK,
    "other": "\u0400-\u0588\u0600-\u0dff\u0e80-\u10ff\u1780-\u17ff",
}
"""Characters of a script, by the language that alone is written in it; `other` scripts have several."""
_NOT_LATIN = re.compile("[\u0370-\U0003ffff]+")
_SCRIPT_OF = re.compile("|".join(f"(?P<{name}>[{characters}])" for name, characters in _SCRIPTS.items()))
_LANGUAGES: Final = (
    "ar az be bg bn bs ca cs da de en es et eu fa fi fr gl gu hi hr hu hy id is it ka kk km kn lo lt lv mk ml mn mr ms"
    " my nb ne nl nn no or pa pl ps pt ro ru sk sl sq sr sv sw ta te tr uk ur uz vi"
)
"""What a text in Latin or in one of the `other` scripts may be; codes that the model lacks are left out."""


def detect_language(text: str) -> str:
    """The ISO 639-1 code of a text's language; `en` for a text in Latin letters that is too short to tell.

    Chinese, Japanese, Korean, Thai, Greek, Hebrew and Russian show by their script, nine languages by their own
    frequent words. Only what shows by neither is classified by the model that py3langid brings, from the first 2,000
    characters: it takes half a second and 70 MB to load.

    Example:
        >>> [detect_language(text) for text in ("ok", "Das Gerät wurde am Montag geprüft.", "海澜 Ltd 成立于2014年")]
        ['en', 'de', 'zh']
    """
    start = text[:_READ]
    others = "".join(_NOT_LATIN.findall(start))
    scripts = Counter(found.lastgroup for found in _SCRIPT_OF.finditer(others))
    letters = sum(map(str.isalpha, start)) if scripts else 0
    if letters and scripts["kana"] + scripts["zh"] >= _CHINESE_SHARE * letters:
        return "ja" if scripts["kana"] >= _KANA_SHARE * letters else "zh"
    script, count = scripts.most_common(1)[0] if scripts else ("", 0)
    if script and script != "other" and count > letters / 2:
        return script
    read = start[:_CLASSIFIED]
    is_other = script == "other" and count > letters / 2
    shown = _russian(others) if is_other else _by_words(read)
    if shown or not _LETTER.search(read):
        return shown or ENGLISH
    language, probability = _classifier().classify(read)
    return str(language) if is_other or probability >= _SURE else ENGLISH


def _by_words(text: str) -> str:
    """The language whose own frequent words stand in a text; empty if they are few or of several languages."""
    counts = Counter(_SHOWS[word] for word in _WORD.findall(text) if word in _SHOWS)
    language, most = counts.most_common(1)[0] if counts else ("", 0)
    is_clear = most >= _LEAST and most * _EVERY >= len(text) and most >= _LEAD * (counts.total() - most)
    return language if is_clear else ""


def _russian(letters: str) -> str:
    return "ru" if _RUSSIAN.search(letters) and not _NOT_RUSSIAN.search(letters) else ""


@cache
def _classifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415  most processes never need it

    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(model.labels)
    model.set_languages([language for language in _LANGUAGES.split() if language in known])
    return model
