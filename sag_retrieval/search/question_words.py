"""Words that only ask, in each language: a question holds them, what answers it does not, so they find nothing."""

from typing import Final, NamedTuple

from sag_retrieval.language.data import patterns, word_lists
from sag_retrieval.language.words import STOP_WORDS, fold


class _Language(NamedTuple):
    """Folded words that ask, and frequent words by which a question in this language is known."""

    asking: frozenset[str]
    frequent: frozenset[str]


_LATIN: Final = tuple(
    _Language(word_lists(each)["ASKING_WORDS"], word_lists(each)["QUESTION_WORDS"])
    for each in ("de", "fr", "es", "it", "pt", "nl")
)
_RUSSIAN: Final = word_lists("ru")["ASKING_WORDS"]
_WORD = patterns("all")["letters"]
_ENGLISH_MEASURE = patterns("en")["asks_measure"]


_CHINESE = patterns("zh")["asking_word"]
_KANA = patterns("ja")["kana"]
_JAPANESE = patterns("ja")["asking_word"]


def without_question_words(text: str) -> str:
    """The folded text without the words that only ask; a word of a European language goes only in its own sentences.

    `comment` asks in French and is a thing in English. So a question is taken for French where it holds another
    frequent French word and no fewer of these than English ones, or where it starts with `comment`, ends with a
    question mark, and holds no English one. With a word that asks go the frequent words of its language.

    Example:
        >>> without_question_words("Wie lange läuft der Vertrag?").split()
        ['lange', 'lauft', 'vertrag?']
        >>> without_question_words("Who deleted the comment?").split()
        ['who', 'deleted', 'the', 'comment?']
        >>> without_question_words("为什么要召回苹果？").split()
        ['要召回苹果?']

    Source: docs/algorithm.md §search.2.
    """
    folded = fold(text)
    if _KANA.search(folded):
        return _JAPANESE.sub(" ", folded)
    asking = _asking_words(folded)
    left = _WORD.sub(lambda word: " " if word[0] in asking else word[0], folded)
    return _CHINESE.sub(" ", _ENGLISH_MEASURE.sub(" ", left))


def _asking_words(folded: str) -> frozenset[str]:
    """The words of this text that ask in the languages it may be written in; of a question also its frequent words."""
    found = _WORD.findall(folded)
    spoken = [language for language in _LATIN if _is_written_in(language, found, folded)]
    asked = [language.frequent for language in spoken if language.asking.intersection(found)]
    return _RUSSIAN.union(*(language.asking for language in spoken), *asked)


def _is_written_in(language: _Language, found: list[str], folded: str) -> bool:
    own = language.asking | language.frequent
    english = _count(found, STOP_WORDS - own)
    if found and found[0] in language.asking and folded.endswith("?") and not english:
        return True
    return _count(found, language.frequent) > 0 and _count(found, own) > english


def _count(found: list[str], among: frozenset[str]) -> int:
    return sum(word in among for word in found)
