"""What a question asks many documents for: its telling words, the words that say the same, and types of keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Final

from sag_retrieval.ask.forms import has_form, same_words
from sag_retrieval.ask.question import TermWeights, question_terms
from sag_retrieval.language.words import is_cjk, stem, tokens, words

_FILE: Final = "asked_words.txt"
_OF_KIN: Final = 0.6
"""What a word of the same class counts for, where the question's own word counts 1."""
_TYPE: Final = "type:"
_KIND: Final = "?"
_OF_FORM: Final = 0.9
"""What another form of a word counts for: *complaint* for *complained*."""
_OF_ANSWER: Final = 0.15
"""Weight of a word that asks for a kind of answer (*companies*, *reasons*) as a share of those that say of what."""

_OF_ONE: Final = 0.8
"""What one word of a group counts for; the mean of all of them is the rest."""
_JOINER: Final = re.compile(r"(?:\b(?:and|or)|[和与或及、])$")
_LONGEST_JOINER: Final = 4


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of the question: as written, its weight, its terms, the words of its class, the key types it asks for."""

    written: str
    weight: float
    own: frozenset[str]
    kin: frozenset[str]
    kin_cjk: tuple[str, ...]
    types: frozenset[str]
    is_kind: bool = False
    """Whether it asks for a kind of answer."""
    group: int = 0
    """Words of one group ask for the same, or one for what another may say instead: *fail or stop*, 债务和融资."""

    def beginnings(self) -> tuple[str, ...]:
        """What a folded text holds if it holds one of the words; a stem may end in another letter than the word."""
        return tuple(term[:-1] if len(term) > 4 and not is_cjk(term) else term for term in (*self.own, *self.kin))  # noqa: PLR2004

    def held_by(self, text: str, terms: frozenset[str], types: frozenset[str]) -> float:
        """1 where the text says the word, less where it says one of its class or carries a key of its type."""
        if self.own & terms:
            return 1.0
        if any(has_form(term, terms) for term in self.own):
            return _OF_FORM
        is_kin = bool(self.kin & terms) or any(word in text for word in self.kin_cjk) or bool(self.types & types)
        return _OF_KIN if is_kin else 0.0


@dataclass(frozen=True, slots=True)
class _Class:
    """Words that ask for the same: stems of those in an alphabet, Chinese ones as they are, key types."""

    written: frozenset[str]
    stems: frozenset[str]
    cjk: tuple[str, ...]
    types: frozenset[str]
    is_kind: bool
    """Whether it asks for a kind of answer."""


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
        if is_cjk(written) or term not in asked or written in wide.written or term in taken:
            continue
        found.append(_word(written, frozenset({term}), [each for each in classes if term in each.stems]))
        taken.add(term)
    idf: Mapping[str, float] = weigh({term for each in found for term in each.own})
    weights = [max(idf[term] for term in each.own) for each in found]
    least = min((weight for each, weight in zip(found, weights, strict=True) if not each.is_kind), default=None)
    return tuple(
        replace(each, weight=weight if least is None or not each.is_kind else _OF_ANSWER * least, group=group)
        for each, weight, group in zip(found, weights, _groups(question, found), strict=True)
    )


def share_held(asked: Sequence[AskedWord], text: str, terms: frozenset[str], types: frozenset[str]) -> float:
    """The weighted share of the words' groups that a text holds, each by the word of it that it holds best."""
    groups: dict[int, list[AskedWord]] = {}
    for each in asked:
        groups.setdefault(each.group, []).append(each)
    total = share = 0.0
    for words_of in groups.values():
        held = [each.held_by(text, terms, types) for each in words_of]
        weight = max(each.weight for each in words_of)
        total += weight
        share += weight * (_OF_ONE * max(held) + (1 - _OF_ONE) * sum(held) / len(held))
    return share / total if total else 0.0


def _groups(question: str, found: Sequence[AskedWord]) -> list[int]:
    """The group of each word: that of the one before where *and* or *or* joins them, that of another of its class."""
    groups: list[int] = []
    folded = question.lower()
    for place, word in enumerate(found):
        same = next((n for n, other in enumerate(found[:place]) if _says_same(word, other)), None)
        before = folded[: folded.find(word.written)].rstrip()
        if same is None and place and _JOINER.search(before, len(before) - _LONGEST_JOINER):
            same = place - 1 if _JOINER.sub("", before).rstrip().endswith(found[place - 1].written) else None
        groups.append(place if same is None else groups[same])
    return groups


def _says_same(word: AskedWord, other: AskedWord) -> bool:
    return not word.is_kind and not other.is_kind and (bool(word.own & other.kin) or word.written in other.kin_cjk)


def _chinese(question: str, classes: Sequence[_Class], wide: _Class) -> list[AskedWord]:
    """The Chinese words of a question: those of classes first, the longest first, then those of a dictionary."""
    import rjieba  # noqa: PLC0415  its dictionary is read once, and only where there is Chinese

    left, found = question, list[AskedWord]()
    for word in sorted({word for each in classes for word in each.cjk}, key=lambda word: (-len(word), word)):
        if word in left:
            left = left.replace(word, " ")
            found.append(_word(word, frozenset(_terms(word)), [each for each in classes if word in each.cjk]))
    for word in sorted(wide.cjk, key=len, reverse=True):
        left = left.replace(word, " ")
    asked = question_terms(left)
    cut = [word for word in rjieba.cut(left) if len(word) > 1 and is_cjk(word) and asked.issuperset(_terms(word))]
    found += [_word(word, frozenset(_terms(word)), []) for word in dict.fromkeys(cut)]
    return sorted(found, key=lambda each: (question.find(each.written), each.written))


def _terms(word: str) -> list[str]:
    """The index terms of a Chinese word: its pairs, or itself where it is one character."""
    return [term for term in tokens(word) if len(term) > 1] or [word]


def _word(written: str, own: frozenset[str], classes: Sequence[_Class]) -> AskedWord:
    alike = [other for term in own for other in sorted(same_words(term))]
    kin = frozenset[str](other for other in alike if not is_cjk(other)).union(*(each.stems for each in classes)) - own
    chinese = [word for each in classes for word in each.cjk] + [other for other in alike if len(other) > 1]
    cjk = tuple(dict.fromkeys(word for word in chinese if is_cjk(word) and word != written))
    types = frozenset[str]().union(*(each.types for each in classes))
    return AskedWord(written, 1.0, own, kin, cjk, types, is_kind=any(each.is_kind for each in classes))


@lru_cache
def _classes() -> tuple[tuple[_Class, ...], _Class]:
    """The classes of the list, and the words that narrow nothing."""
    text = resources.files("sag_retrieval.ask").joinpath(_FILE).read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    wide = [word for line in lines if line[0] == "~" for word in line[1:]]
    return tuple(_class(line) for line in lines if line[0] != "~"), _class(wide)


def _class(listed: Sequence[str]) -> _Class:
    plain = [word for word in listed if not word.startswith((_TYPE, _KIND))]
    return _Class(
        frozenset(plain),
        frozenset(stem(word) for word in plain if not is_cjk(word)),
        tuple(word for word in plain if is_cjk(word)),
        frozenset(word.removeprefix(_TYPE) for word in listed if word.startswith(_TYPE)),
        is_kind=any(word.startswith((_TYPE, _KIND)) for word in listed),
    )
