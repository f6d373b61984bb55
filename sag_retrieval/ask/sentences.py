"""The sentences of passages: which may be quoted, which cover the terms of a question, which supports a claim."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, question_terms
from sag_retrieval.core.types import Floats
from sag_retrieval.language.data import pattern_of_all, patterns
from sag_retrieval.language.layout import LineKind, logical_lines
from sag_retrieval.language.sentences import sentence_spans, spans_within
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.llm_writing.lines import figures
from sag_retrieval.search.revised import HitRevision
from sag_retrieval.statements.form import refers_back

_LEAST_TERMS = 3
_LONGEST = 700
"""Characters of a quotation of several sentences."""
_BACK, _ON = 3, 6
"""Sentences that are joined before one that refers back, and after a lead-in with a colon."""
_FRAGMENT = patterns("all")["fragment"]
_TITLE_SHARE, _REPEATED_SHARE, _RANK_DECAY = 0.5, 0.3, 0.1
"""docs/algorithm.md §rag.1"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A stretch `start:end` of passage number `place`; `score` orders sentences, or is the gain of a choice.

    `near` are the terms of its neighbours; `coverage` is the weighted share of the part's terms that it and its
    surroundings hold, `focus` the same for the terms that name nothing, `is_of_kind` whether it states a value of the
    expected kind.
    """

    place: int
    start: int
    end: int
    text: str
    terms: frozenset[str]
    near: frozenset[str] = frozenset()
    score: float = 0.0
    coverage: float = 0.0
    focus: float = 0.0
    is_of_kind: bool = True


LEAST_ANSWER: Final = 0.5
"""A less likely sentence is shown as the closest one, not as the answer."""
LEAST_CLOSEST: Final = 0.03
"""A less likely one is not shown."""


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """What was found for a part of a question, best sentence first; its score is how likely it answers."""

    part: QuestionPart
    sentences: tuple[Sentence, ...]
    hits: tuple[FoundPassage, ...]
    others: tuple[tuple[str, HitRevision], ...] = ()
    """What other documents say in place of the best sentence, each with the document of that."""

    @property
    def likelihood(self) -> float:
        """How likely the best sentence answers the part; 0 without one."""
        return self.sentences[0].score if self.sentences else 0.0

    @property
    def is_found(self) -> bool:
        """Whether the sentences answer; else they are only the closest ones.

        No probability makes up for a name, day or number that is not stated, or for another day or year than asked.
        """
        return self.likelihood >= LEAST_ANSWER and self.sentences[0].is_of_kind

    @property
    def is_close(self) -> bool:
        """Whether they may be shown as the closest ones."""
        return self.likelihood >= LEAST_CLOSEST


def quotable_sentences(place: int, text: str, title: str) -> list[Sentence]:
    """The sentences of a passage that may be quoted: no heading, no label, no rule, and none that repeats the title.

    One that refers back is joined to the one before, a lead-in with a colon to what follows it.
    """
    return [
        Sentence(place, start, end, text[start:end], terms, near, 1.0)
        for start, end, terms, near in _stretches(text, normal_name(title))
        if len(terms) >= _LEAST_TERMS
    ]


@lru_cache(maxsize=4096)
def _stretches(text: str, title: str) -> tuple[tuple[int, int, frozenset[str], frozenset[str]], ...]:
    spans = list(_plain_spans(text, title))
    terms = [frozenset(tokens(text[start:end])) for start, end, _ in spans]
    refers = [refers_back(text[start:end]) for start, end, _ in spans]
    found = []
    for number, (_, _, paragraph) in enumerate(spans):
        first = last = number
        while first > max(0, number - _BACK) and refers[first] and spans[first - 1][2] >= paragraph - 1:
            first -= 1
        while last + 1 < len(spans) and text[spans[last][1] - 1] in ":：" and last - number < _ON:
            last += 1
        if _FRAGMENT.match(text, spans[first][0]) and first == 0:
            continue
        own = frozenset().union(*terms[first : last + 1])
        near = frozenset().union(*terms[max(0, first - 2) : first], *terms[last + 1 : last + 2])
        if spans[last][1] - spans[first][0] <= _LONGEST or first == last:
            found.append((spans[first][0], spans[last][1], own, near))
    return tuple(dict.fromkeys(found))


def _plain_spans(text: str, title: str) -> Iterator[tuple[int, int, int]]:
    """Start, end and paragraph of every sentence but headings, rules and the title."""
    lines = logical_lines(text)
    for paragraph, line in enumerate(lines):
        is_label = line.kind is LineKind.LABEL and text[line.end - 1] not in ":：*"
        if is_label or line.kind in (LineKind.HEADING, LineKind.RULE):
            continue
        follows = lines[paragraph + 1].kind if paragraph + 1 < len(lines) else None
        if line.kind is LineKind.ROW and follows is LineKind.RULE:
            continue
        for start, end in spans_within(text, line.start, line.end):
            bare = normal_name(text[start:end])
            if bare and bare not in title:
                yield start, end, paragraph


def best_sentences(
    question: str, texts: Sequence[str], *, titles: Sequence[str] = (), limit: int = 3, budget: int = 600
) -> list[Sentence]:
    """At most `limit` sentences that cover the question's terms; what earlier choices covered counts less.

    Terms of titles count half, because a text seldom repeats its title. All have `budget` characters at most; the first
    is taken whatever its length. Source: docs/algorithm.md §rag.1.
    """
    pool = [sentence for place, text in enumerate(texts) for sentence in _unheaded(place, text)]
    weight = _weights(question_terms(question), pool)
    if not pool or not weight:
        return []
    shares = _shares(pool, weight, titles)
    decay = np.array([1 / (1 + _RANK_DECAY * sentence.place) for sentence in pool])
    worth = np.array(list(weight.values())) / sum(weight.values())
    repeated = np.ones(len(worth))
    is_usable = shares.max(axis=1) == 1
    chosen: list[Sentence] = []
    while len(chosen) < limit and is_usable.any():
        gains = np.where(is_usable, (shares * worth * repeated).sum(axis=1) * decay, -1.0)
        at = int(gains.argmax())
        is_usable[at] = False
        if not chosen or sum(len(s.text) for s in chosen) + len(pool[at].text) <= budget:
            chosen.append(replace(pool[at], score=float(gains[at])))
            repeated[shares[at] == 1] = _REPEATED_SHARE
    return chosen


def sentence_for(claim: str, question: str, text: str) -> tuple[int, int]:
    """Start and end of the sentence of a text that best supports a claim made about a question (`sentences_for`)."""
    return sentences_for(claim, question, text)[0]


_MOST_OF_A_CLAIM = 3
"""Sentences of a passage that are quoted for one claim."""
_ADDS, _ADDS_TERMS = 0.2, 3
"""Share of the terms of a claim, or their count, that a further sentence adds to be quoted, unless it adds a figure."""
_FEWEST_ADDED = 2
_DATED = pattern_of_all("date_label")
"""What stands before the colon of a line that dates a document, and says nothing of its own."""


def sentences_for(claim: str, question: str, text: str) -> list[tuple[int, int]]:
    """Start and end of the sentences of a text that support a claim made about a question, the best first.

    Terms and figures of the claim count double, because the question's terms occur in many sentences; the whole text
    where none fits. Further sentences each add a figure of the claim, a fifth of its terms, or three.

    Source: docs/algorithm.md §rag.4.
    """
    wanted, asked = question_terms(claim) | _figures(claim), question_terms(question)
    told = (each for each in _unheaded(0, text) if not _DATED.fullmatch(each.text.partition(":")[0]))
    pool = [(each, each.terms | _figures(each.text)) for each in told]

    def score(terms: frozenset[str]) -> float:
        return 2 * len(wanted & terms) / max(len(wanted), 1) + len(asked & terms) / max(len(asked), 1)

    best, terms = max(pool, key=lambda pair: score(pair[1]), default=(None, frozenset[str]()))
    if best is None or not score(terms):
        return [(0, len(text))]
    chosen, left = [best], wanted - terms
    while len(chosen) < _MOST_OF_A_CLAIM and left:
        more, terms = max(pool, key=lambda pair: (_count(left & pair[1]), len(left & pair[1])))
        added = left & terms
        if not (_count(added) or len(added) >= min(_ADDS_TERMS, max(_ADDS * len(wanted), _FEWEST_ADDED))):
            break
        chosen.append(more)
        left -= terms
    return [(each.start, each.end) for each in chosen]


@lru_cache(maxsize=4096)
def _figures(text: str) -> frozenset[str]:
    return frozenset(f"#{figure}" for figure in figures(text))


def _count(terms: frozenset[str]) -> int:
    """How many of the terms are figures (`_figures`)."""
    return sum(term.startswith("#") for term in terms)


@lru_cache(maxsize=4096)
def _spans(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    return tuple((start, end, frozenset(tokens(text[start:end]))) for start, end in sentence_spans(text))


def _unheaded(place: int, text: str) -> list[Sentence]:
    """All sentences except headings, which only name the text below them."""
    spans = (span for span in _spans(text) if not text.startswith("#", span[0]))
    return [Sentence(place, start, end, text[start:end], terms) for start, end, terms in spans]


def _weights(terms: frozenset[str], pool: Sequence[Sentence]) -> dict[str, float]:
    counts = Counter(term for sentence in pool for term in sentence.terms & terms)
    return {term: math.log(1 + len(pool) / (1 + counts[term])) for term in sorted(terms)}


def _shares(pool: Sequence[Sentence], weight: Mapping[str, float], titles: Sequence[str]) -> Floats:
    """Shape (sentences, terms): 1 where the sentence holds the term, a half where only its title does."""
    named = [frozenset(tokens(title)) for title in titles]
    rows = [
        [1.0 if term in s.terms else _TITLE_SHARE if named and term in named[s.place] else 0.0 for term in weight]
        for s in pool
    ]
    return np.array(rows).reshape(len(pool), len(weight))
