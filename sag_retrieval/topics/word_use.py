"""Tell from how texts use a word whether it can end a noun phrase: verbs, adjectives and units are none alone."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.language.tagging import tagged
from sag_retrieval.language.words import is_cjk
from sag_retrieval.topics.topic_words import TopicWords

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
    r"\W*$|[^\w ]| (?:[^\w ]|\d|(?:of|in|for|with|to|on|at|from|by|and|or|is|are|was|were|has|have|had|will|can|may"
    r"|must|that|which|who|as|but|during|after|before|between|under|over|than|into|through|per|via|within|without)\b)"
)
_AFTER_ING: Final = re.compile(r"\W*$|[^\w ]| (?:[^\w ]|(?:of|and|or|is|are|was|were|has|have|had|will|can|may)\b)")
"""The same behind a word in -ing, which is rather a verb before a preposition: `a company specializing in glass`."""
_VERBS: Final = 0.25
"""A word with a larger share of places where only a verb can stand is no part of a noun phrase."""
_HEADS: Final = 0.5
"""The last word of a noun phrase ends one in at least this share of its places."""
_FIGURE_BEFORE: Final = re.compile(r"\d[万亿]? ?$")
_WHOLE: Final = 0.08
"""A noun alone follows an article, number or preposition and ends its phrase in this share of its places."""
_FIGURE_BEHIND: Final = re.compile(r"了? ?\d")
_CLOSES_CJK: Final = re.compile(r"\W|$|[的和与及等]")
_CLOSING: Final = 0.2
"""A Chinese verb that closes a clause or stands before a particle more rarely takes an object: `总部位于上海`."""
_MEASURES: Final = 0.5
"""A word with this share of its places behind a figure is a unit, one with it before a figure a verb: `达到 40 亿`."""
_AROUND: Final = 12
"""Characters looked at on each side of a word."""


@dataclass(frozen=True, slots=True)
class WordUse:
    """How the texts use each word: the shares of places where only a verb can stand, and where a noun phrase ends."""

    verbs: Sequence[float]
    heads: Sequence[float]
    doubtful: frozenset[int]
    """Words in -s or -ing that never follow an article or a number, and what stands before figures: rather verbs."""
    dependent: frozenset[int]
    """Units, which mostly follow a figure, adjectives, and Chinese verbs: they are no title alone."""

    @classmethod
    def of(cls, events: EventTable, words: TopicWords) -> "WordUse":
        """Count the places of the words by what stands before and behind; Chinese words by their part of speech."""
        counted = np.zeros((len(words.forms), 3))
        ending, nouns = set[int](), set[int]()
        said, measured, leading, whole, closing = (Counter[int]() for _ in range(5))
        for text, places in zip(events.contents, words.places, strict=True):
            for place in places:
                if place.word < 0:
                    continue
                before, behind = (
                    text[max(0, place.start - _AROUND) : place.start],
                    text[place.end : place.end + _AROUND],
                )
                said[place.word] += 1
                measured[place.word] += _FIGURE_BEFORE.search(before) is not None
                leading[place.word] += _FIGURE_BEHIND.match(behind) is not None
                closing[place.word] += _CLOSES_CJK.match(behind) is not None
                if not is_cjk(words.forms[place.word]):
                    ending |= {place.word} if text[place.start : place.end].endswith(("s", "ing")) else set()
                    is_ing = text[place.start : place.end].endswith("ing")
                    is_head = bool((_AFTER_ING if is_ing else _AFTER_A_HEAD).match(behind))
                    follows = _BEFORE_A_NOUN.search(before) is not None
                    nouns |= {place.word} if follows else set()
                    whole[place.word] += follows and is_head
                    is_verb = bool(_BEFORE_A_VERB.search(before) or _AFTER_A_VERB.match(behind))
                    counted[place.word] += (1, is_verb, is_head)
        dependent = {word for word, count in measured.items() if count >= _MEASURES * said[word]}
        dependent |= {
            word for word, form in enumerate(words.forms) if not is_cjk(form) and whole[word] < _WHOLE * said[word]
        }
        for number, form in enumerate(words.forms):
            if is_cjk(form):
                counted[number] = (1, *_chinese_use(form))
                is_verb = _chinese_part(form) == "v"
                dependent |= {number} if is_verb else set()
                ending |= {number} if is_verb and closing[number] < _CLOSING * said[number] else set()
        shares = counted[:, 1:] / np.maximum(1, counted[:, :1])
        nouns -= (verbs := {word for word, count in leading.items() if count >= _MEASURES * said[word]})
        ending |= verbs
        return cls(shares[:, 0].tolist(), shares[:, 1].tolist(), frozenset(ending - nouns), frozenset(dependent))

    def allows(self, pair: Sequence[int]) -> bool:
        """Whether the words can be a noun phrase: none is a verb, and the last one can end it."""
        is_head = self.heads[pair[-1]] >= _HEADS and pair[-1] not in self.doubtful
        if len(pair) == 1 and pair[0] in self.dependent:
            return False
        return is_head and all(self.verbs[word] <= _VERBS for word in pair)


def _chinese_use(form: str) -> tuple[float, float]:
    """A verb that is no noun as well cannot stand first; only nouns, and verbs used as nouns, stand last."""
    part = _chinese_part(form)
    return float(part in {"d", "p", "c", "r", "s"}), float(
        part[:1] in {"n", "l", "j", "i"} or part in {"vn", "an", "v"}
    )


def _chinese_part(form: str) -> str:
    """The part of speech of a word as jieba writes it; of several words a noun's."""
    return tagged(form)[0][1] if len(tagged(form)) == 1 else "n"
