"""What a topic is called: the seam for titles, and the title by rule.

The titler is a seam: another package adds one as an entry point of the group `sag.titlers`, a report takes it by name
(`titler`). The one here needs no model: it takes what distinguishes the topic, its terms or else its names.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sag_retrieval.core.plugins import Seam
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import fold, is_cjk

MOST_CHARACTERS: Final = 12
"""Of a Chinese title."""
MOST_WORDS: Final = 6
"""Of an English title."""
_PHRASE_CJK: Final = 4
"""Characters of a Chinese phrase: two words of two, the usual length."""
_ADDED = patterns("all")["added_in_brackets"]
_COMMA = patterns("all")["comma"]
_COUNTED = patterns("all")["character_or_latin_word"]


class TakenTitles:
    """Titles that are taken, however they are spelt, and the number that a repeated one gets next."""

    def __init__(self, titles: Iterable[str] = ()) -> None:
        self._folded = set(map(fold, titles))
        self._next: dict[str, int] = {}

    def __contains__(self, title: str) -> bool:
        return fold(title) in self._folded

    def add(self, title: str) -> None:
        """Take a title."""
        self._folded.add(fold(title))

    def numbered(self, title: str) -> str:
        """The title with the lowest number that is free; thousands of equal ones take time in proportion."""
        number = self._next.get(title, 2)
        while f"{title} {number}" in self:
            number += 1
        self._next[title] = number + 1
        return f"{title} {number}"


def fits(title: str) -> bool:
    """Whether a title is short enough: 6 words; of Chinese 12 characters, a Latin word counting as one."""
    bare = title.replace(" · ", " ")
    return len(_COUNTED.findall(bare)) <= MOST_CHARACTERS if is_cjk(bare) else len(bare.split()) <= MOST_WORDS


def is_phrase(term: str) -> bool:
    """Whether a term is more than one noun: two words, or four Chinese characters."""
    return " " in term or (is_cjk(term) and len(term) >= _PHRASE_CJK)


def shorten(text: str) -> str:
    """The beginning of a text that fits: up to a bracket, colon or comma, else with `…` where it was cut."""
    first = _ADDED.sub("", text)
    parts = [first[: found.start()] for found in reversed(list(_COMMA.finditer(first)))]
    for whole in (text, first, *parts):
        if whole and fits(whole):
            return whole
    if is_cjk(text):
        return text[: MOST_CHARACTERS - 1] + "…"
    return " ".join(text.split()[:MOST_WORDS]) + "…"


JOINT: Final = " · "
"""Between two names of a title."""
_SECOND: Final = 0.35
"""A second name enters the title from this share of the first one's score."""


@dataclass(frozen=True, slots=True)
class DistinctiveName:
    """A name that distinguishes a topic, how much, and how many other topics it distinguishes too."""

    value: str
    score: float
    rivals: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicContents:
    """What a titler is given of a topic."""

    language: str
    """ISO 639-1 code of most of its documents."""
    terms: Sequence[str] = ()
    """Words and noun phrases that distinguish it, best first; none where it was grouped by keys."""
    names: Sequence[DistinctiveName] = ()
    """Names that distinguish it, best first."""
    documents: Sequence[str] = ()
    """Titles of documents that it is the whole of, and that are the whole of it."""
    sentences: Sequence[str] = ()
    """Its most central sentences, the most central first."""


class Titler(Protocol):
    """Titles for a topic, by what distinguishes it."""

    def __call__(self, topic: TopicContents) -> Iterable[str]:
        """Titles that would do, best first; the first one that no other topic has is taken."""
        ...


def by_terms(topic: TopicContents) -> Iterator[str]:
    """The title of the one document, two terms or one, two names or one, the beginning of the most central sentence.

    Examples:
        >>> next(by_terms(TopicContents(language="en", terms=["net profit", "cash flow"])))
        'Net profit and cash flow'

    Source: docs/algorithm.md §reports.5.
    """
    yield from map(shorten, topic.documents)
    yield from _of_terms(topic.terms)
    yield from _of_names(topic.names)
    yield from map(shorten, topic.sentences[:1])


def _of_terms(terms: Sequence[str]) -> Iterator[str]:
    """Two phrases, one, then words; an English word alone is no title: a noun says little without its neighbour."""
    phrases = [each for each in terms if is_phrase(each)]
    words = [each for each in terms if each not in phrases]
    for chosen in (phrases, words):
        for place, one in enumerate(chosen):
            for two in chosen[place + 1 :]:
                if not set(one.split()) & set(two.split()) and one not in two and two not in one:
                    joined = f"{one}与{two}" if is_cjk(one + two) else f"{_opened(one)} and {two}"
                    yield from (joined for _ in range(fits(joined)))
            yield from (_opened(one) for _ in range((chosen is phrases or is_cjk(one)) and fits(one)))


def _of_names(names: Sequence[DistinctiveName]) -> Iterator[str]:
    """The best name with the one that adds most to it; the best alone; the best with each other one."""
    usable = sorted(names, key=lambda each: -(each.score if fits(each.value) else each.score / 2))
    if not usable:
        return
    first, *others = usable
    joined = [
        (f"{first.value}{JOINT}{other.value}", other.score / first.score / (1 + other.rivals) if first.score > 0 else 0)
        for other in others
        if fold(other.value) not in fold(first.value) and fold(first.value) not in fold(other.value)
    ]
    pairs = sorted(((title, share) for title, share in joined if fits(title)), key=lambda each: -each[1])
    yield from (title for title, share in pairs[:1] if share >= _SECOND)
    yield shorten(first.value)
    yield from (title for title, _ in pairs)


def _opened(form: str) -> str:
    return form[:1].upper() + form[1:]


TITLERS: Final = Seam[Titler]("sag.titlers", "titler", "a topic", terms=by_terms)
"""Titlers by name."""
