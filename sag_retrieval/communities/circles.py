"""Find who talks with whom about what: circles of speakers, and the matters that their conversations settle."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log1p
from typing import Final

import numpy as np

from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.tagging import tagged
from sag_retrieval.communities.talk import TOLD, settles, speakers_in
from sag_retrieval.communities.topic_words import is_function_word
from sag_retrieval.text.words import is_cjk, stem

_MOSTLY: Final = 0.5
"""Share of documents that are conversations, from which on a pile is read as talk."""
_CONVERSATIONS: Final = 3
"""Conversations of a circle, and those with a matter of it."""
_SHARE: Final = 0.1
"""A matter is said in a larger share of a circle's conversations."""
_PAIR: Final = 2
_SAME: Final = 0.5
"""Circles of three and more are one that share half of their speakers."""
_LIFT: Final = 1.5
"""A matter is said in turns that settle something this many times as often as in all: not `idea`."""
_OFTEN: Final = 0.5
"""Half of the turns that say it are enough; and talk that settles little, in fewer than half of its statements, is
known by its nouns alone."""
_DISTINCT: Final = 1.5
"""A circle says its matters this many times as often as all conversations, if there are others."""
_MATTERS: Final = 3
_USUAL: Final = 0.4
"""A word stands before a matter in this share of the conversations that say it: `dress rehearsal`."""
_ARRANGED: Final = frozenset(map(stem, "reminder place time plan date meet 提醒 地点 时间 计划 安排 地方".split()))
"""Words of arranging, which say nothing of what is arranged."""
_NOUNS: Final = 0.5
_AS_A_NOUN: Final = re.compile(
    r"\b(?:the|an?|my|your|our|his|her|their|this|that|next|last|first|for|of|about|at|from|with|during|after|before"
    r"|some|any|no|new) (?:[a-z]+ ){0,2}([a-z]{4,20})"
    r"(?= ?[^\w ]| (?:of|in|for|with|to|on|at|from|by|and|or|is|are|was|were|will|this|next|before|after|around|tonight"
    r"|today|tomorrow)\b)"
)
_WORD: Final = re.compile(r"(?<![\w'’-])[a-z]{4,20}(?=[^\w-])")
_ANY: Final = re.compile(r"[^\W\d_]+|[^\w\s]")
_RUN: Final = re.compile(r"[\u4e00-\u9fff]+")
_NOUN_PARTS: Final = frozenset({"n", "vn", "an", "nz"})
_SAID: Final = re.compile(r"“([^“”]{1,300})”")


@dataclass(frozen=True, slots=True, eq=False)
class Circle:
    """Speakers who talk again and again, and what they settle."""

    speakers: tuple[str, ...]
    """Those who speak in most of the conversations first."""
    rows: Rows
    """The events of their conversations, in time order."""
    conversations: int
    matters: tuple[tuple[str, int], ...]
    """What distinguishes their conversations, with the count of conversations that say it."""
    example: int
    """Row of the latest statement that settles the first matter, by an hour or an answer if there is one."""
    first: int
    """Row of the first one."""


@dataclass(frozen=True, slots=True, eq=False)
class _Talk:
    """The conversations of a pile by document: who speaks, which nouns are said, which events settle something."""

    speakers: Mapping[int, frozenset[str]]
    nouns: Mapping[int, frozenset[str]]
    forms: Mapping[str, str]
    settled: Mapping[int, Sequence[int]]
    turns: Mapping[int, Sequence[tuple[str, str]]]


def circles(events: EventTable, most: int) -> list[Circle]:
    """The circles with most conversations in which something is settled; none where most documents are no talk.

    Two who talk by themselves are a circle, and so are three or more who share half of their speakers. A matter is a
    noun of at least three of a circle's conversations, and a tenth of them, that turns settle more often than they say
    it; those are named that are said in most conversations of the circle and in few others.

    Args:
        events: The events as a report quotes them.
        most: Circles at most.

    Source:
        docs/algorithm.md §reports.6.

    """
    talk = _talk(events)
    if len(talk.speakers) < max(_CONVERSATIONS, _MOSTLY * len(events.documents.titles)):
        return []
    found = [made for own in _grouped(talk.speakers) if (made := _circle(events, talk, own))]
    return sorted(found, key=lambda each: (-each.conversations, each.speakers))[:most]


def _talk(events: EventTable) -> _Talk:
    turns = speakers_in(events)
    told = [row for row, text in enumerate(events.contents) if TOLD.match(text)]
    settling = [row for row in told if settles(events.contents[row])]
    if not told:
        return _Talk({}, {}, {}, {}, {})
    nouns = _nouns(text for spoken in turns.values() for _, text in spoken)
    spoken = [frozenset(map(stem, nouns.intersection(_words(text)))) for own in turns.values() for _, text in own]
    if _OFTEN * len(told) <= len(settling):
        told = settling
        said = [match[1] for row in settling if (match := _SAID.search(events.contents[row]))]
        known = _settled(spoken, [frozenset(map(stem, nouns.intersection(_words(text)))) for text in said])
    else:
        known = frozenset(word for words in spoken for word in words) - _ARRANGED
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    held: dict[int, frozenset[str]] = {}
    for document, own in turns.items():
        words = [word for _, text in own for word in _words(text) if word in nouns and stem(word) in known]
        for word in words:
            forms[stem(word)][word] += 1
        held[document] = frozenset(map(stem, words))
    settled: defaultdict[int, list[int]] = defaultdict(list)
    for row in told:
        settled[int(events.document[row])].append(row)
    conversing = {key: frozenset(who for who, _ in own) for key, own in turns.items()}
    return _Talk(
        {key: own for key, own in conversing.items() if len(own) >= _PAIR},
        held,
        {word: min(each.items(), key=lambda pair: (-pair[1], pair[0]))[0] for word, each in forms.items()},
        settled,
        turns,
    )


def _settled(spoken: Sequence[frozenset[str]], agreed: Sequence[frozenset[str]]) -> frozenset[str]:
    """Nouns that statements which settle something say more often than turns do."""
    everywhere, count = (Counter(word for words in said for word in words) for said in (spoken, agreed))
    least = min(_OFTEN, _LIFT * len(agreed) / max(1, len(spoken)))
    return frozenset(word for word in count if count[word] >= max(_PAIR, least * everywhere[word])) - _ARRANGED


def _grouped(speakers: Mapping[int, frozenset[str]]) -> list[list[int]]:
    """The documents of each circle, those of the commonest sets of speakers first."""
    of_set: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for document, own in sorted(speakers.items()):
        of_set[own].append(document)
    groups: list[tuple[frozenset[str], list[int]]] = []
    for own, documents in sorted(of_set.items(), key=lambda pair: (-len(pair[1]), sorted(pair[0]))):
        same = (held for one, held in groups if min(len(one), len(own)) > _PAIR and _is_same(one, own))
        if (known := next(same, None)) is not None:
            known.extend(documents)
        else:
            groups.append((own, list(documents)))
    return [held for _, held in groups if len(held) >= _CONVERSATIONS]


def _is_same(one: frozenset[str], own: frozenset[str]) -> bool:
    return len(one & own) >= _SAME * len(one | own)


def _circle(events: EventTable, talk: _Talk, documents: Sequence[int]) -> Circle | None:
    """The circle of these conversations; None where no statement says a matter of theirs."""
    held = Counter(word for document in documents for word in talk.nouns[document])
    everywhere = Counter(word for own in talk.nouns.values() for word in own)
    ratio = {word: count * len(talk.nouns) / (len(documents) * everywhere[word]) for word, count in held.items()}
    least = min(_DISTINCT, len(talk.nouns) / len(documents))
    score = {
        word: count * log1p(ratio[word])
        for word, count in held.items()
        if count >= max(_CONVERSATIONS, _SHARE * len(documents)) and ratio[word] >= least
    }
    best = sorted(score, key=lambda word: (-round(score[word], 9), word))
    settled = sorted(
        (row for document in documents for row in talk.settled.get(document, ())),
        key=lambda row: (events.dates[row] or "", row),
    )
    said = {row: frozenset(map(stem, _words(events.contents[row]))) for row in settled}
    first = next((word for word in best if any(word in words for words in said.values())), None)
    if first is None:
        return None
    shown = _firmest(events, [row for row in settled if first in said[row]])
    further = [word for word in sorted(best[:_MATTERS], key=lambda word: (-held[word], word)) if word != first]
    spoken = Counter(who for document in documents for who in talk.speakers[document])
    rows = np.flatnonzero(np.isin(events.document, documents))
    return Circle(
        tuple(sorted(spoken, key=lambda who: (-spoken[who], who))),
        rows.astype(np.int32),
        len(documents),
        tuple((_usual(talk, documents, talk.forms[word]), held[word]) for word in [first, *further][:_MATTERS]),
        shown[-1],
        shown[0],
    )


def _firmest(events: EventTable, rows: Sequence[int]) -> list[int]:
    """Those that name an hour or were answered, if there are any."""
    return [row for row in rows if settles(events.contents[row]) > 1] or list(rows)


def _usual(talk: _Talk, documents: Sequence[int], word: str) -> str:
    """The word with the one before it that most conversations say with it."""
    if is_cjk(word):
        return word
    before, said = Counter[str](), 0
    for document in documents:
        pairs = {pair for _, text in talk.turns[document] for pair in pairwise(["", *_ANY.findall(text)])}
        found = {one for one, other in pairs if other == word}
        said += bool(found)
        before.update(one for one in found if one.islower() and not is_function_word(one))
    usual = min(before, key=lambda one: (-before[one], one), default="")
    return f"{usual} {word}" if usual and before[usual] >= max(_PAIR, _USUAL * said) else word


def _words(text: str) -> list[str]:
    if is_cjk(text):
        return [word for run in _RUN.findall(text) for word, _ in tagged(run) if len(word) > 1]
    return [word for word in _WORD.findall(text) if not is_function_word(word)]


def _nouns(texts: Iterable[str]) -> frozenset[str]:
    """Words that end a noun phrase after an article or preposition in half of their places; Chinese by dictionary."""
    everywhere: Counter[str] = Counter()
    as_nouns: Counter[str] = Counter()
    for text in texts:
        everywhere.update(_words(text))
        if is_cjk(text):
            as_nouns.update(word for run in _RUN.findall(text) for word, part in tagged(run) if part in _NOUN_PARTS)
        else:
            as_nouns.update(_AS_A_NOUN.findall(text))
    return frozenset(word for word, count in as_nouns.items() if count >= _NOUNS * everywhere[word])
