"""Name topics by the phrases that distinguish them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from typing import Final

import numpy as np
from scipy.sparse import csc_array

from sag_retrieval.communities.events import EventTable, Flags, Rows
from sag_retrieval.communities.titles import TakenTitles, fits
from sag_retrieval.communities.topic_words import TopicWords, WordPlace, tagged
from sag_retrieval.text.words import is_cjk

_LEAST: Final = 3
_LEAST_SHARE: Final = 0.05
"""Events of a topic that have to say a phrase, and their share: a title is to be about more than a corner of it."""
_QUOTED: Final = 8
"""Statements to quote from which on the title of a topic is made of their words alone."""
_CONSIDERED: Final = 8
_COMPOUND: Final = 4
_SECOND: Final = 0.3
"""A second phrase enters the title from this share of the first one's score."""
_NO_NOUN: Final = re.compile(r"(?:[a-z]{2}ed|ly|self|selves)$")
"""Ends of English words that are rarely the last or the first word of a noun phrase."""
_PLURAL: Final = re.compile(r"[^suiy']s$")
"""`ideas flowing`, `racks simple`: a clause; a modifier stands in the singular, or before a plural."""
_BEFORE_A_NOUN: Final = re.compile(
    r"\b(?:the|an?|no|its|his|her|their|our|this|these|those|all|some|any|two|three|four|several|many|few|more|other|new"
    r"|of|for|with|without|between) $|\d $",
    re.IGNORECASE,
)
_BEFORE_A_VERB: Final = re.compile(
    r"(?:\b(?:to|will|would|can|could|may|might|must|shall|should|not|let|lets"
    r"|who|which|it|he|she|they|we|you|i)|n['’]t) $",
    re.IGNORECASE,
)
_AFTER_A_VERB: Final = re.compile(
    r" (?:the|a|an|his|her|its|their|our|my|your|this|these|those|it|them|him|us|me|what|how|why|whether|if)\b"
)
_AFTER_A_HEAD: Final = re.compile(
    r"\W*$|[^\w ]| (?:[^\w ]|(?:of|in|for|with|to|on|at|from|by|and|or|is|are|was|were|has|have|had|will|can|may|must"
    r"|that|which|who|as|but|during|after|before|between|under|over|than|into|through|per|via|within|without)\b)"
)
_VERBS: Final = 0.25
"""A word with a larger share of places where only a verb can stand is no part of a noun phrase."""
_HEADS: Final = 0.5
"""The last word of a noun phrase ends one in at least this share of its places."""
_AROUND: Final = 12
"""Characters looked at on each side of a word."""
_Pair = tuple[int, ...]


def topic_titles(
    events: EventTable, words: TopicWords, topic: Rows, group: Rows, quotable: Flags | None = None
) -> list[str]:
    """A noun phrase, or two joined by "and", for each topic, no two equal; empty where there is none: a noun is none.

    Examples:
        >>> # ["Net profit and shareholder equity", "Corporate governance", ...]

    Args:
        events: The events.
        words: Their words.
        topic: Topic of each event; -1: none.
        group: Group of each word.
        quotable: Whether each event can be quoted: a title is to fit the statements below it, so where a topic has
            enough of them, its phrases are theirs.

    """
    group_of = _groups_of(words, topic, group)
    taken, titles = TakenTitles(), []
    chunks = _chunks_of(events, words)
    whole = np.bincount(topic[topic >= 0], minlength=len(group_of)).tolist()
    quoted = _phrases(events, words, _considered(topic, quotable), group_of, group, whole)
    for own, phrases in zip(quoted, _phrases(events, words, topic, group_of, group, whole), strict=True):
        proposals = [*_proposals(own, chunks), *_proposals(phrases, chunks)]
        title = next((each for each in proposals if each not in taken), "")
        taken.add(title)
        titles.append(title)
    return titles


def _considered(topic: Rows, quotable: Flags | None) -> Rows:
    """The topic of each event whose phrases count; of topics with enough statements to quote only theirs."""
    if quotable is None:
        return topic
    quoted = np.bincount(topic[quotable & (topic >= 0)], minlength=int(topic.max(initial=-1)) + 1)
    is_enough = np.append(quoted >= _QUOTED, False)
    return np.where(is_enough[topic] & ~quotable, np.int32(-1), topic).astype(np.int32)


def _groups_of(words: TopicWords, topic: Rows, group: Rows) -> list[int]:
    """The group of words behind each topic: the one that its events say most."""
    said: list[Counter[int]] = [Counter() for _ in range(int(topic.max(initial=-1)) + 1)]
    indptr, indices = words.counts.indptr, words.counts.indices
    for row, number in enumerate(topic.tolist()):
        if number >= 0:
            said[number].update(group[indices[indptr[row] : indptr[row + 1]]].tolist())
    return [max(each, key=lambda name: (each[name], -name)) for each in said]


def _phrases(
    events: EventTable, words: TopicWords, topic: Rows, group_of: Sequence[int], group: Rows, whole: Sequence[int]
) -> Iterator[list[tuple[str, _Pair]]]:
    """Of each topic its phrases of two words, then its words, most distinctive first.

    What c of a topic's s events and d of all n events say scores `c · ln(c n / (s d))`. `whole` has the size
    of each topic with the events that do not count.
    """
    use = _Use.of(events, words)
    inside: list[Counter[_Pair]] = [Counter() for _ in group_of]
    everywhere: Counter[_Pair] = Counter()
    forms: defaultdict[_Pair, Counter[str]] = defaultdict(Counter)
    for row, number in enumerate(topic.tolist()):
        said = dict(_said(events.contents[row], words.places[row]))
        everywhere.update(said.keys())
        for pair, form in said.items():
            forms[pair][form] += 1
        if number >= 0:
            inside[number].update(
                pair for pair in said if use.allows(pair) and any(group[word] == group_of[number] for word in pair)
            )
    sizes, least = Counter(topic.tolist()), [max(_LEAST, _LEAST_SHARE * size) for size in whole]
    for number, counts in enumerate(inside):
        scored = {
            pair: round(count * log(count * len(topic) / (sizes[number] * everywhere[pair])), 9)
            for pair, count in counts.items()
            if count >= min(least[number], sizes[number])
        }
        order = sorted(scored, key=lambda pair: (len(pair) == 1, -scored[pair], pair))
        best = [(_commonest(forms[pair]), pair, scored[pair]) for pair in order]
        yield [(form, pair) for form, pair, score in best if score >= _SECOND * _top(best, len(pair))]


@dataclass(frozen=True, slots=True)
class _Use:
    """How the texts use each word: the shares of places where only a verb can stand, and where a noun phrase ends."""

    verbs: Sequence[float]
    heads: Sequence[float]
    doubtful: frozenset[int]
    """Words that end in -s and never follow an article or a number: rather verbs than plurals."""

    @classmethod
    def of(cls, events: EventTable, words: TopicWords) -> "_Use":
        """Count the places of the words by what stands before and behind; Chinese words by their part of speech."""
        counted = np.zeros((len(words.forms), 3))
        ending, nouns = set[int](), set[int]()
        for text, places in zip(events.contents, words.places, strict=True):
            for place in places:
                if place.word >= 0 and not is_cjk(words.forms[place.word]):
                    before = text[max(0, place.start - _AROUND) : place.start]
                    behind = text[place.end : place.end + _AROUND]
                    ending |= {place.word} if text[place.start : place.end].endswith("s") else set()
                    nouns |= {place.word} if _BEFORE_A_NOUN.search(before) else set()
                    is_verb = bool(_BEFORE_A_VERB.search(before) or _AFTER_A_VERB.match(behind))
                    counted[place.word] += (1, is_verb, bool(_AFTER_A_HEAD.match(behind)))
        for number, form in enumerate(words.forms):
            if is_cjk(form):
                counted[number] = (1, *_chinese_use(form))
        shares = counted[:, 1:] / np.maximum(1, counted[:, :1])
        return cls(shares[:, 0].tolist(), shares[:, 1].tolist(), frozenset(ending - nouns))

    def allows(self, pair: _Pair) -> bool:
        """Whether the words can be a noun phrase: none is a verb, and the last one can end it."""
        is_head = self.heads[pair[-1]] >= _HEADS and pair[-1] not in self.doubtful
        return is_head and all(self.verbs[word] <= _VERBS for word in pair)


def _chinese_use(form: str) -> tuple[float, float]:
    """A verb that is no noun as well cannot stand first; only nouns, and verbs used as nouns, stand last."""
    part = tagged(form)[0][1] if len(tagged(form)) == 1 else "n"
    return float(part in {"d", "p", "c", "r", "s"}), float(
        part[:1] in {"n", "l", "j", "i"} or part in {"vn", "an", "v"}
    )


def _top(best: Sequence[tuple[str, _Pair, float]], length: int) -> float:
    return max((score for _, pair, score in best if len(pair) == length), default=0.0)


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


def _proposals(phrases: Sequence[tuple[str, _Pair]], chunks: Sequence[frozenset[int]]) -> Iterator[str]:
    """Two phrases that share no word and are said together, one phrase, two words; no single common noun."""
    for length in (2, 1):
        chosen = [phrase for phrase in phrases if len(phrase[1]) == length][:_CONSIDERED]
        joined = [
            (place, _overlap(first, second, chunks), _joined(one, two))
            for (place, (one, first)), (_, (two, second)) in combinations(enumerate(chosen), 2)
            if not set(first) & set(second)
        ]
        together = sorted((each for each in joined if each[1] > 0), key=lambda each: (each[0], -round(each[1], 9)))
        yield from (title for *_, title in together if fits(title))
        yield from (_opened(form) for form, _ in chosen if length > 1 or _is_long(form))


def _is_long(form: str) -> bool:
    """Whether one word says as much as a phrase: a Chinese one of four characters or more, `二氧化碳`."""
    return is_cjk(form) and len(form) >= _COMPOUND


def _joined(one: str, two: str) -> str:
    return f"{one}与{two}" if is_cjk(one + two) else f"{_opened(one)} and {two}"


def _opened(form: str) -> str:
    return form[:1].upper() + form[1:]
