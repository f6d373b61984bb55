"""Detect the language that a text is written in, as an ISO 639-1 code."""

import re
from collections import Counter
from functools import cache
from typing import Final

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from sag_retrieval.text.words import CJK

ENGLISH: Final = "en"
_READ = 20_000
"""Letters are counted in this many characters from the start."""
_CLASSIFIED = 2_000
"""More characters make the classification no surer, only slower."""
_CHINESE_SHARE = 0.1
"""Of the letters: a Chinese text may name many foreign firms."""
_KANA_SHARE = 0.05
_SURE = 0.5
"""Below this probability a text in Latin letters is taken for English, whose rules were made for short ones too."""
_ENGLISH_WORD = re.compile(r"\b(?:the|and|that|with|from|this|which|were|been|their|have|has|would|when)\b")
"""Words that no other language shares: a text with enough of them needs no classification, which costs more."""
_ENGLISH_EVERY = 70
"""Characters in which at least one such word stands."""
_LEAST_ENGLISH = 3
_LETTER = re.compile(r"[^\W\d_]")
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

    Chinese, Japanese, Korean, Thai, Greek and Hebrew show by their script. Others are classified by the model that
    py3langid brings, from the first 2,000 characters.

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
    if _is_plain_english(read) or not _LETTER.search(read):
        return ENGLISH
    language, probability = _classifier().classify(read)
    is_sure = probability >= _SURE or (script == "other" and count > letters / 2)
    return str(language) if is_sure else ENGLISH


def _is_plain_english(text: str) -> bool:
    count = len(_ENGLISH_WORD.findall(text))
    return count >= _LEAST_ENGLISH and count * _ENGLISH_EVERY >= len(text)


@cache
def _classifier() -> LanguageIdentifier:
    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = set(model.labels)
    model.set_languages([language for language in _LANGUAGES.split() if language in known])
    return model
