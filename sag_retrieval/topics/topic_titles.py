"""Name topics by the phrases that distinguish them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import log
from typing import Final

import numpy as np
from scipy.sparse import csc_array

from sag_retrieval.clusters.events import EventTable, Flags, Rows
from sag_retrieval.language.words import is_cjk
from sag_retrieval.topics.titles import TakenTitles, fits
from sag_retrieval.topics.topic_words import TopicWords, WordPlace
from sag_retrieval.topics.word_use import WordUse

_LEAST: Final = 3
_LEAST_SHARE, _LEAST_QUOTED = 0.05, 0.15
"""Events of a topic that have to say a phrase, and their share, of statements to quote a larger one: a title is to be
about more than a corner of it."""
_OWN: Final = 0.25
"""Of the events with a topic that say a phrase, the share that has to be in this topic."""
_QUOTED: Final = 3
"""Statements to quote from which on the title of a topic is made of their words alone."""
_FULL: Final = 0.25
"""Share of statements to quote from which on the words of the other events may title a topic too."""
_CONSIDERED: Final = 8
_COMPOUND: Final = 4
_SECOND: Final = 0.3
"""A second phrase enters the title from this share of the first one's score."""
_NO_NOUN: Final = re.compile(r"(?:[a-z]{2}ed|ly|self|selves)$")
"""Ends of English words that are rarely the last or the first word of a noun phrase."""
_PLURAL: Final = re.compile(r"[^suiy']s$")
"""`ideas flowing`, `racks simple`: a clause; a modifier stands in the singular, or before a plural."""
_Pair = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Phrase:
    """One word, or two that stand together, as a topic's events say it."""

    form: str
    words: _Pair
    count: int
    """Events of the topic that say it."""
    score: float


def topic_titles(events: EventTable, words: TopicWords, topic: Rows, quotable: Flags | None = None) -> list[str]:
    """A noun phrase, or two joined by "and", for each topic, no two equal; empty where there is none: a noun is none.

    Examples:
        >>> # ["Net profit and shareholder equity", "Corporate governance", ...]

    Args:
        events: The events.
        words: Their words.
        topic: Topic of each event; -1: none.
        quotable: Whether each event can be quoted: a title is to fit the statements below it, so where a topic has
            enough of them, its phrases are theirs.

    """
    taken, titles = TakenTitles(), []
    chunks = _chunks_of(events, words)
    is_told, is_full = _told_enough(topic, quotable)
    considered = topic if quotable is None else np.where(np.append(is_told, False)[topic] & ~quotable, -1, topic)
    quoted = _phrases(events, words, considered.astype(np.int32), len(is_told), _LEAST_QUOTED)
    whole = _phrases(events, words, topic, len(is_told), _LEAST_SHARE)
    for own, phrases, takes_all in zip(quoted, whole, (~is_told | is_full).tolist(), strict=True):
        proposals = chain(_proposals(own, chunks), _proposals(phrases, chunks) if takes_all else ())
        title = next((each for each in proposals if each not in taken), "")
        taken.add(title)
        titles.append(title)
    return titles


def _told_enough(topic: Rows, quotable: Flags | None) -> tuple[Flags, Flags]:
    """Of each topic, whether it has enough statements to quote for a title of their words, and whether it has many."""
    count = int(topic.max(initial=-1)) + 1
    told = topic[quotable & (topic >= 0)] if quotable is not None else np.zeros(0, np.int32)
    quoted, size = np.bincount(told, minlength=count)[:count], np.bincount(topic[topic >= 0], minlength=count)
    return np.asarray(quoted >= _QUOTED), np.asarray(quoted >= _FULL * size[:count])


def _phrases(events: EventTable, words: TopicWords, topic: Rows, topics: int, least: float) -> Iterator[list[_Phrase]]:
    """Of each topic its phrases of two words, then its words, most distinctive first.

    What c of a topic's s events and d of all n events say scores `c · ln(c n / (s d))`, if c is at least a share
    `least` of s, and a share `_OWN` of all events with a topic that say it.
    """
    use = WordUse.of(events, words)
    inside: list[Counter[_Pair]] = [Counter() for _ in range(topics)]
    everywhere: Counter[_Pair] = Counter()
    forms: defaultdict[_Pair, Counter[str]] = defaultdict(Counter)
    for row, number in enumerate(topic.tolist()):
        said = dict(_said(events.contents[row], words.places[row]))
        everywhere.update(said.keys())
        for pair, form in said.items():
            forms[pair][form] += 1
        if number >= 0:
            inside[number].update(pair for pair in said if use.allows(pair))
    sizes, in_any = Counter(topic.tolist()), sum(inside, Counter[_Pair]())
    for number, counts in enumerate(inside):
        scored = {
            pair: round(count * log(count * len(topic) / (sizes[number] * everywhere[pair])), 9)
            for pair, count in counts.items()
            if count >= max(_LEAST, least * sizes[number]) and count >= _OWN * in_any[pair]
        }
        order = sorted(scored, key=lambda pair: (len(pair) == 1, -scored[pair], pair))
        best = [_Phrase(_commonest(forms[pair]), pair, counts[pair], scored[pair]) for pair in order]
        yield [each for each in best if each.score >= _SECOND * _top(best, len(each.words))]


def _top(best: Sequence[_Phrase], length: int) -> float:
    return max((each.score for each in best if len(each.words) == length), default=0.0)


def _said(text: str, places: Sequence[WordPlace]) -> Iterator[tuple[_Pair, str]]:
    """Words, and pairs of neighbouring words that can be a noun phrase, with their form in the text."""
    before: WordPlace | None = None
    for place in places:
        if place.word >= 0:
            form = text[place.start : place.end].casefold()
            if not _NO_NOUN.search(form):
                yield (place.word,), form
            if before and text[before.end : place.start] in {"", " "}:
                form = text[before.start : place.end].casefold()
                if " " not in form if is_cjk(form) else _is_compound(form):
                    yield (before.word, place.word), form
        before = place if place.word >= 0 else None


def _is_compound(form: str) -> bool:
    """Whether two English words can be one noun: what stands first is no plural before a verb or an adjective."""
    first, *_, last = form.split()
    return not any(map(_NO_NOUN.search, form.split())) and not (_PLURAL.search(first) and not _PLURAL.search(last))


def _commonest(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def _chunks_of(events: EventTable, words: TopicWords) -> Sequence[frozenset[int]]:
    """The passages that say each word."""
    of_word = csc_array(words.counts)
    chunk = events.chunk[of_word.indices]
    return [frozenset(chunk[of_word.indptr[n] : of_word.indptr[n + 1]].tolist()) for n in range(len(words.forms))]


def _overlap(one: _Pair, two: _Pair, chunks: Sequence[frozenset[int]]) -> float:
    """Passages that say all words of two phrases, as a share of those that say the rarer phrase."""
    first, second = (frozenset.intersection(*(chunks[word] for word in pair)) for pair in (one, two))
    return len(first & second) / max(1, min(len(first), len(second)))


def _proposals(phrases: Sequence[_Phrase], chunks: Sequence[frozenset[int]]) -> Iterator[str]:
    """Two phrases that share no word and are said together, one phrase, two words; no single common noun.

    Words come first where less than half of the events that say the first word say the first phrase.
    """
    said = {size: next((each.count for each in phrases if len(each.words) == size), 0) for size in (1, 2)}
    for size in (2, 1) if 2 * said[2] >= said[1] else (1, 2):
        chosen = [each for each in phrases if len(each.words) == size][:_CONSIDERED]
        joined = [
            (place, _overlap(one.words, two.words, chunks), _joined(one.form, two.form))
            for (place, one), (_, two) in combinations(enumerate(chosen), 2)
            if not set(one.words) & set(two.words) and one.form not in two.form and two.form not in one.form
        ]
        together = sorted((each for each in joined if each[1] > 0), key=lambda each: (each[0], -round(each[1], 9)))
        yield from (title for *_, title in together if fits(title))
        yield from (_opened(each.form) for each in chosen if size > 1 or _is_long(each.form))


def _is_long(form: str) -> bool:
    """Whether one word says as much as a phrase: a Chinese one of four characters or more, `二氧化碳`."""
    return is_cjk(form) and len(form) >= _COMPOUND


def _joined(one: str, two: str) -> str:
    return f"{one}与{two}" if is_cjk(one + two) else f"{_opened(one)} and {two}"


def _opened(form: str) -> str:
    return form[:1].upper() + form[1:]
