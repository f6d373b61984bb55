"""Name topics by the phrases that distinguish them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import log
from typing import Final

from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.titles import TakenTitles, fits
from sag_retrieval.communities.topic_words import TopicWords, WordPlace
from sag_retrieval.text.words import is_cjk

_LEAST: Final = 3
"""Events that have to say a phrase."""
_CONSIDERED: Final = 8
_SECOND: Final = 0.3
"""A second phrase enters the title from this share of the first one's score."""
_NO_NOUN: Final = re.compile(r"(?:[a-z]{2}ed|ly)$")
"""Ends of English words that are rarely the last or the first word of a noun phrase."""
_Pair = tuple[int, ...]


def topic_titles(events: EventTable, words: TopicWords, topic: Rows, group: Rows) -> list[str]:
    """A noun phrase, or two joined by "and", for each topic; no two are equal.

    Examples:
        >>> # ["Net profit and shareholder equity", "Corporate governance", ...]

    Args:
        events: The events.
        words: Their words.
        topic: Topic of each event; -1: none.
        group: Group of each word.

    """
    group_of = _groups_of(words, topic, group)
    taken, titles = TakenTitles(), []
    for phrases in _phrases(events, words, topic, group_of, group):
        proposals = list(_proposals(phrases))
        title = next((each for each in proposals if each not in taken), "")
        title = title or taken.numbered(proposals[0] if proposals else "–")
        taken.add(title)
        titles.append(title)
    return titles


def _groups_of(words: TopicWords, topic: Rows, group: Rows) -> list[int]:
    """The group of words behind each topic: the one that its events say most."""
    said: list[Counter[int]] = [Counter() for _ in range(int(topic.max(initial=-1)) + 1)]
    indptr, indices = words.counts.indptr, words.counts.indices
    for row, number in enumerate(topic.tolist()):
        if number >= 0:
            said[number].update(group[indices[indptr[row] : indptr[row + 1]]].tolist())
    return [max(each, key=lambda name: (each[name], -name)) for each in said]


def _phrases(
    events: EventTable, words: TopicWords, topic: Rows, group_of: Sequence[int], group: Rows
) -> Iterator[list[tuple[str, _Pair]]]:
    """Of each topic its phrases of two words, then its words, most distinctive first.

    What c of a topic's s events and d of all n events say scores `c · ln(c n / (s d))`.
    """
    inside: list[Counter[_Pair]] = [Counter() for _ in group_of]
    everywhere: Counter[_Pair] = Counter()
    forms: defaultdict[_Pair, Counter[str]] = defaultdict(Counter)
    for row, number in enumerate(topic.tolist()):
        said = dict(_said(events.contents[row], words.places[row]))
        everywhere.update(said.keys())
        for pair, form in said.items():
            forms[pair][form] += 1
        if number >= 0:
            inside[number].update(pair for pair in said if any(group[word] == group_of[number] for word in pair))
    sizes = Counter(topic.tolist())
    for number, counts in enumerate(inside):
        scored = {
            pair: round(count * log(count * len(topic) / (sizes[number] * everywhere[pair])), 9)
            for pair, count in counts.items()
            if count >= min(_LEAST, sizes[number])
        }
        order = sorted(scored, key=lambda pair: (len(pair) == 1, -scored[pair], pair))
        best = [(_commonest(forms[pair]), pair, scored[pair]) for pair in order]
        yield [(form, pair) for form, pair, score in best if score >= _SECOND * _top(best, len(pair))]


def _top(best: Sequence[tuple[str, _Pair, float]], length: int) -> float:
    return max((score for _, pair, score in best if len(pair) == length), default=0.0)


def _said(text: str, places: Sequence[WordPlace]) -> Iterator[tuple[_Pair, str]]:
    """Words, and pairs of neighbouring words that can be a noun phrase, with their form in the text."""
    before: WordPlace | None = None
    for place in places:
        if place.word >= 0:
            yield (place.word,), text[place.start : place.end].casefold()
            if before and text[before.end : place.start] in {"", " "}:
                form = text[before.start : place.end].casefold()
                if is_cjk(form) or not (_NO_NOUN.search(form) or _NO_NOUN.search(form.split()[0])):
                    yield (before.word, place.word), form
        before = place if place.word >= 0 else None


def _commonest(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def _proposals(phrases: Sequence[tuple[str, _Pair]]) -> Iterator[str]:
    """Two phrases that share no word, one phrase, two words."""
    chosen = phrases[:_CONSIDERED]
    joined = [
        _joined(one, two)
        for (one, first), (two, second) in combinations(chosen, 2)
        if not set(first) & set(second) and len(first) == len(second)
    ]
    yield from (title for title in joined if fits(title))
    yield from (_opened(form) for form, _ in chosen)


def _joined(one: str, two: str) -> str:
    return f"{one}与{two}" if is_cjk(one + two) else f"{_opened(one)} and {two}"


def _opened(form: str) -> str:
    return form[:1].upper() + form[1:]
