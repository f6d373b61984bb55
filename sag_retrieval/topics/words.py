"""The words that say what events are about, and the terms that distinguish topics (c-TF-IDF).

No names, no function words, nothing that most events say.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np
from scipy.sparse import coo_array, csr_array

from sag_retrieval.clusters.events import EventTable, Flags, Floats
from sag_retrieval.core.types import Rows, Rows64
from sag_retrieval.language.data import patterns, words_of_all
from sag_retrieval.language.tagging import tagged
from sag_retrieval.language.words import STOP_WORDS, is_cjk, stem
from sag_retrieval.statements.form import is_prose

_WORD = patterns("all")["term_word"]
_CONTRACTED = patterns("all")["apostrophe"]
_STARTS = patterns("all")["starts_statement"]
"""Before the first word of a sentence or line."""
_SHORTEST: Final = 3
"""Letters of a word outside Chinese and Japanese."""
_SHORTEST_CJK: Final = 2
_PARTS: Final = frozenset("navlijbsfzeg")
"""First letters of the parts of speech that say what a text is about: nouns, verbs, adjectives, set phrases."""
_NAMES: Final = frozenset(["nr", "ns", "nt"])
"""Parts of speech of people, places and organisations."""
_TOPIC: Final = "topic"
"""Type of the keys that name a subject, not a person, place or thing."""
_MOSTLY: Final = 0.5
_COMMON: Final = 0.15
"""A word in a larger share of the events of one language says nothing about any of them."""
_FEW: Final = 5
MANY_DOCUMENTS: Final = 6
"""With this number of documents a topic has to appear in several of them; with fewer, in several chunks."""
SPREAD: Final = 3
"""Documents, or chunks, that a word or topic has to appear in."""


@dataclass(frozen=True, slots=True)
class WordPlace:
    """A word of an event: its number (-1: it belongs to no topic), and its first character and end in the content."""

    word: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class TopicWords:
    """The words of all events that a topic can consist of."""

    counts: csr_array
    """Shape (events, words), 1 where the event says the word."""
    forms: Sequence[str]
    """The commonest form of each word."""
    places: Sequence[Sequence[WordPlace]]
    """The words of each event in order."""
    idf: Floats
    """Shape (words,): `ln(events / events that say the word)`."""


def topic_words(events: EventTable) -> TopicWords:
    """Read the words of the events that are prose.

    A word counts if at least three documents say it (chunks, where there are fewer than six documents), if it is not
    part of a name in most places, and if at most 15 % of the events in each language say it.

    Source:
        docs/algorithm.md §reports.3.

    """
    texts = [
        _read(content, language) if is_prose(content) else []
        for content, language in zip(events.contents, _languages(events), strict=True)
    ]
    numbers: dict[str, int] = {}
    for found in texts:
        for each in found:
            numbers.setdefault(each.root, len(numbers))
    event = np.repeat(np.arange(len(texts), dtype=np.int64), [len(found) for found in texts])
    word = np.array([numbers[each.root] for found in texts for each in found], dtype=np.int64)
    named = _is_named(events, texts)
    chosen = _chosen(events, (event, word, named), len(numbers))
    row = np.full(len(numbers), -1, np.int64)
    row[chosen] = np.arange(len(chosen))
    counts = _incidence(event[~named], row[word[~named]], (len(texts), len(chosen)))
    return TopicWords(
        counts=counts,
        forms=_commonest_forms(texts, numbers, row, len(chosen)),
        places=list(_places(texts, numbers, row, named)),
        idf=np.log(max(1, len(texts)) / np.maximum(1, counts.sum(axis=0))).astype(np.float64),
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word as it stands in a text; `is_capital` where a capital letter, or the dictionary, marks a name."""

    root: str
    form: str
    start: int
    end: int
    is_capital: bool = False


_Read = list[_Word]


def _read(text: str, language: str) -> _Read:
    found: _Read = []
    for match in _WORD.finditer(text):
        if is_cjk(match[0]):
            found.extend(_read_cjk(match[0], match.start(), language))
        else:
            form = match[0].casefold()
            if len(form) >= _SHORTEST and not _CONTRACTED.search(form) and not is_function_word(form):
                is_capital = _is_capital(match[0], text[: match.start()][-4:], language)
                found.append(_Word(stem(form), form, match.start(), match.end(), is_capital))
    return found


def _is_capital(word: str, before: str, language: str) -> bool:
    """Whether capital letters mark a name: inside a word, or at its start within a sentence where nouns have none."""
    inner = word[1:] != word[1:].lower() and word != word.upper()
    return inner or (word[0].isupper() and language != "de" and not _STARTS.search(before))


def _read_cjk(run: str, start: int, language: str) -> Iterator[_Word]:
    """Words of a run of Chinese characters by dictionary; a run in Japanese is one word."""
    for word, part in [(run, "n")] if language == "ja" else tagged(run):
        end = start + len(word)
        if len(word) >= _SHORTEST_CJK and part[:1] in _PARTS and not is_function_word(word):
            yield _Word(word, word, start, end, is_capital=part[:2] in _NAMES)
        start = end


def is_function_word(form: str) -> bool:
    """Whether a word is one of grammar or of the calendar, which say nothing of a subject."""
    return form in STOP_WORDS or form in words_of_all("FUNCTION_WORDS")


def _languages(events: EventTable) -> list[str]:
    return [events.documents.languages[row] for row in events.document.tolist()]


def _is_named(events: EventTable, texts: Sequence[_Read]) -> Flags:
    """Of each word of each event, whether it is a name there: by a key of the event, or by its capital letter."""
    roots: dict[int, frozenset[str]] = {}
    starts = np.searchsorted(events.links.event, np.arange(len(texts) + 1))
    flags: list[bool] = []
    for row, found in enumerate(texts):
        names: set[str] = set()
        for key in events.links.key[starts[row] : starts[row + 1]].tolist():
            if key not in roots:
                is_name = events.keys.types[key] != _TOPIC
                roots[key] = (
                    frozenset(each.root for name in events.keys.names_of(key) for each in _read(name, ""))
                    if is_name
                    else frozenset()
                )
            names |= roots[key]
        flags.extend(each.is_capital or each.root in names for each in found)
    return np.array(flags, dtype=np.bool_)


def _chosen(events: EventTable, read: tuple[Rows64, Rows64, Flags], count: int) -> Rows64:
    """Numbers of the words that can be part of a topic, in the order of their first occurrence."""
    event, word, named = read
    said = _incidence(event, word, (len(events), count))
    free = _incidence(event[~named], word[~named], (len(events), count))
    is_name = np.asarray(free.sum(axis=0)) < _MOSTLY * np.asarray(said.sum(axis=0))
    place = events.document if len(set(events.document.tolist())) >= MANY_DOCUMENTS else events.chunk
    spread = _incidence(place[event[~named]], word[~named], (int(place.max(initial=0)) + 1, count)).sum(axis=0)
    languages = _languages(events)
    is_common = np.zeros(count, np.bool_)
    for language in sorted(set(languages)):
        rows = np.flatnonzero(np.array(languages) == language)
        is_common |= np.asarray(said[rows].sum(axis=0)) > max(_FEW, _COMMON * len(rows))
    return np.flatnonzero(~is_name & ~is_common & (np.asarray(spread) >= SPREAD))


def _incidence(row: Rows | Rows64, column: Rows64, shape: tuple[int, int]) -> csr_array:
    """1 for each pair of a row and a column, however often it occurs; pairs with a column below 0 are left out."""
    kept = column >= 0
    matrix = csr_array(coo_array((np.ones(int(kept.sum())), (row[kept], column[kept])), shape=shape))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def _commonest_forms(texts: Sequence[_Read], numbers: dict[str, int], row: Rows64, count: int) -> list[str]:
    forms: list[Counter[str]] = [Counter() for _ in range(count)]
    for found in texts:
        for each in found:
            number = int(row[numbers[each.root]])
            if number >= 0:
                forms[number][each.form] += 1
    return [min(each, key=lambda form: (-each[form], form)) for each in forms]


def _places(texts: Sequence[_Read], numbers: dict[str, int], row: Rows64, named: Flags) -> Iterator[list[WordPlace]]:
    start = 0
    for found in texts:
        is_name = named[start : start + len(found)].tolist()
        start += len(found)
        yield [
            WordPlace(-1 if hidden else int(row[numbers[each.root]]), each.start, each.end)
            for each, hidden in zip(found, is_name, strict=True)
        ]


_LEAST, _SHARE = 3, 0.05
"""Events of a topic that say a term, and their share: less is a corner of the topic."""
_OWN: Final = 0.25
"""Share of the events with a topic that say a term which has to be in this topic."""
_KEPT: Final = 10
_PHRASE_CJK: Final = 4
"""Characters of a Chinese phrase: two words of two, the usual length."""
_NO_NOUN = patterns("en")["no_noun"]
"""Ends of English words that are rarely the first or the last word of a noun phrase."""
_PLURAL = patterns("en")["plural"]
"""`ideas flow` is a clause: a modifier stands in the singular, or before a plural."""

_Phrase = tuple[int, ...]


def distinctive_terms(texts: Sequence[str], words: TopicWords, topic: Rows) -> list[list[str]]:
    """The phrases of two words, then the words, that distinguish each topic, best first.

    What c of a topic's s events and d of all n events say scores `c · ln(c n / (s d))`. A phrase is two neighbouring
    words that can be a noun; it counts as often as its rarer word would.

    Args:
        texts: Of the events.
        words: The words of the events.
        topic: Topic of each event; -1: none.

    Source:
        docs/algorithm.md §reports.5.

    """
    count = int(topic.max(initial=-1)) + 1
    inside: list[Counter[_Phrase]] = [Counter() for _ in range(count)]
    everywhere: Counter[_Phrase] = Counter()
    forms: defaultdict[_Phrase, Counter[str]] = defaultdict(Counter)
    for row, number in enumerate(topic.tolist()):
        said = dict(_phrases(texts[row], words.places[row]))
        everywhere.update(said.keys())
        for phrase, form in said.items():
            forms[phrase][form] += 1
        if number >= 0:
            inside[number].update(said.keys())
    sizes, in_any = Counter(topic.tolist()), sum(inside, Counter[_Phrase]())
    found = []
    for number, counts in enumerate(inside):
        scored = {
            phrase: round(said * log(said * len(topic) / (sizes[number] * everywhere[phrase])), 9)
            for phrase, said in counts.items()
            if said >= max(_LEAST, _SHARE * sizes[number]) and said >= _OWN * in_any[phrase]
        }
        order = sorted(scored, key=lambda phrase: (len(phrase) == 1, -scored[phrase], phrase))
        found.append([_commonest(forms[each]) for each in order[:_KEPT]])
    return found


def is_phrase(term: str) -> bool:
    """Whether a term is more than one noun: two words, or four Chinese characters."""
    return " " in term or (is_cjk(term) and len(term) >= _PHRASE_CJK)


def _commonest(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def _phrases(text: str, places: Sequence[WordPlace]) -> Iterator[tuple[_Phrase, str]]:
    """Words, and pairs of neighbouring words, that can be a noun or a noun phrase, with their form in the text."""
    before: WordPlace | None = None
    for place in places:
        if place.word >= 0:
            form = text[place.start : place.end].casefold()
            if _is_noun(form):
                yield (place.word,), form
                if before and text[before.end : place.start] in {"", " "}:
                    form = text[before.start : place.end].casefold()
                    if is_cjk(form) or _is_compound(form):
                        yield (before.word, place.word), form
        before = place if place.word >= 0 else None


def _is_noun(form: str) -> bool:
    """Whether a word can end a noun phrase: by its ending in English, by the dictionary in Chinese."""
    if not is_cjk(form):
        return _NO_NOUN.search(form) is None
    tags = tagged(form)
    return len(tags) > 1 or tags[0][1][:1] in {"n", "l", "j", "i"} or tags[0][1] in {"vn", "an"}


def _is_compound(form: str) -> bool:
    first, *_, last = form.split()
    return _NO_NOUN.search(first) is None and not (_PLURAL.search(first) and not _PLURAL.search(last))
