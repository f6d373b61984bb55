"""What a question asks many documents for: its telling words, the words that say the same, and types of keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from sag_retrieval.ask.question import TermWeights, question_terms
from sag_retrieval.text.words import is_cjk, stem, tokens, words

_FILE: Final = "asked_words.txt"
_OF_KIN: Final = 0.6
"""What a word of the same class counts for, where the question's own word counts 1."""
_TYPE: Final = "type:"


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of the question: as written, its weight, its terms, the words of its class, the key types it asks for."""

    written: str
    weight: float
    own: frozenset[str]
    kin: frozenset[str]
    kin_cjk: tuple[str, ...]
    types: frozenset[str]

    def beginnings(self) -> tuple[str, ...]:
        """What a folded text holds if it holds one of the words; a stem may end in another letter than the word."""
        return tuple(term[:-1] if len(term) > 4 and not is_cjk(term) else term for term in (*self.own, *self.kin))  # noqa: PLR2004

    def held_by(self, text: str, terms: frozenset[str], types: frozenset[str]) -> float:
        """1 where the text says the word, less where it says one of its class or carries a key of its type."""
        if self.own & terms:
            return 1.0
        is_kin = bool(self.kin & terms) or any(word in text for word in self.kin_cjk) or bool(self.types & types)
        return _OF_KIN if is_kin else 0.0


@dataclass(frozen=True, slots=True)
class _Class:
    """Words that ask for the same: stems of those in an alphabet, Chinese ones as they are, key types."""

    stems: frozenset[str]
    cjk: tuple[str, ...]
    types: frozenset[str]


def asked_words(question: str, weigh: TermWeights) -> tuple[AskedWord, ...]:
    """The words of a question that narrow what is asked for; none where it asks what all is about.

    Examples:
        >>> def even(terms):
        ...     return dict.fromkeys(terms, 1.0)
        >>> [each.written for each in asked_words("What are the main risks?", even)]
        ['risks']
        >>> [each.written for each in asked_words("主要的风险有哪些？", even)]
        ['风险']
        >>> asked_words("What are these documents about?", even)
        ()

    """
    classes, wide = _classes()
    found = [] if not is_cjk(question) else _chinese(question, classes, wide)
    taken = {term for each in found for term in each.own}
    asked = question_terms(question)
    for written in dict.fromkeys(words(question)):
        term = stem(written)
        if is_cjk(written) or term not in asked or term in wide.stems or term in taken:
            continue
        found.append(_word(written, frozenset({term}), [each for each in classes if term in each.stems]))
        taken.add(term)
    weights: Mapping[str, float] = weigh({term for each in found for term in each.own})
    return tuple(
        AskedWord(each.written, max(weights[term] for term in each.own), each.own, each.kin, each.kin_cjk, each.types)
        for each in found
    )


def _chinese(question: str, classes: Sequence[_Class], wide: _Class) -> list[AskedWord]:
    """The Chinese words of a question: those of classes first, the longest first, then pairs of the characters left."""
    left, found = question, list[AskedWord]()
    for word in sorted({word for each in classes for word in each.cjk}, key=lambda word: (-len(word), word)):
        if word in left:
            left = left.replace(word, " ")
            found.append(_word(word, frozenset(_terms(word)), [each for each in classes if word in each.cjk]))
    for word in sorted(wide.cjk, key=len, reverse=True):
        left = left.replace(word, " ")
    pairs = [term for term in tokens(left) if len(term) > 1 and is_cjk(term) and term in question_terms(left)]
    found += [_word(pair, frozenset({pair}), []) for pair in dict.fromkeys(pairs)]
    return sorted(found, key=lambda each: (question.find(each.written), each.written))


def _terms(word: str) -> list[str]:
    """The index terms of a Chinese word: its pairs, or itself where it is one character."""
    return [term for term in tokens(word) if len(term) > 1] or [word]


def _word(written: str, own: frozenset[str], classes: Sequence[_Class]) -> AskedWord:
    kin = frozenset[str]().union(*(each.stems for each in classes)) - own
    cjk = tuple(dict.fromkeys(word for each in classes for word in each.cjk if word != written))
    return AskedWord(written, 1.0, own, kin, cjk, frozenset[str]().union(*(each.types for each in classes)))


@lru_cache
def _classes() -> tuple[tuple[_Class, ...], _Class]:
    """The classes of the list, and the words that narrow nothing."""
    text = resources.files("sag_retrieval.ask").joinpath(_FILE).read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    wide = [word for line in lines if line[0] == "~" for word in line[1:]]
    return tuple(_class(line) for line in lines if line[0] != "~"), _class(wide)


def _class(listed: Sequence[str]) -> _Class:
    plain = [word for word in listed if not word.startswith(_TYPE)]
    return _Class(
        frozenset(stem(word) for word in plain if not is_cjk(word)),
        tuple(word for word in plain if is_cjk(word)),
        frozenset(word.removeprefix(_TYPE) for word in listed if word.startswith(_TYPE)),
    )
