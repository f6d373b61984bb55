"""The terms of topics: words and noun phrases that are frequent in one and rare in the others (c-TF-IDF)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import log
from typing import Final

from sag_retrieval.clusters.events import Rows
from sag_retrieval.language.tagging import tagged
from sag_retrieval.language.words import is_cjk
from sag_retrieval.topics.words import TopicWords, WordPlace

_LEAST, _SHARE = 3, 0.05
"""Events of a topic that say a term, and their share: less is a corner of the topic."""
_OWN: Final = 0.25
"""Share of the events with a topic that say a term which has to be in this topic."""
_KEPT: Final = 10
_PHRASE_CJK: Final = 4
"""Characters of a Chinese phrase: two words of two, the usual length."""
_NO_NOUN: Final = re.compile(r"(?:[a-z]{2}ed|ing|ly|self|selves)$")
"""Ends of English words that are rarely the first or the last word of a noun phrase."""
_PLURAL: Final = re.compile(r"[^suiy']s$")
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
