"""Choose the sentences of the found passages that cover the terms of a question."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from sag_retrieval.ask.question import question_terms
from sag_retrieval.ask.quotable import Sentence
from sag_retrieval.core.types import Floats
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import tokens

_TITLE_SHARE = 0.5
_REPEATED_SHARE = 0.3
_RANK_DECAY = 0.1


def best_sentences(
    question: str, texts: Sequence[str], *, titles: Sequence[str] = (), limit: int = 3, budget: int = 600
) -> list[Sentence]:
    """Sentences that cover the question's terms; each choice counts the terms that earlier choices did not cover.

    Args:
        question: What is asked.
        texts: The found passages, best first.
        titles: Titles of the texts; their terms count half, because a text seldom repeats its title.
        limit: Most sentences.
        budget: Most characters in all; the first sentence is taken whatever its length.

    Returns:
        Fewer than `limit` where nothing more shares a term with the question.

    Source:
        docs/algorithm.md §rag.1

    """
    pool = [sentence for place, text in enumerate(texts) for sentence in _sentences(place, text)]
    weight = _weights(question_terms(question), pool)
    if not pool or not weight:
        return []
    shares, decay = _shares(pool, weight, titles), _decay(pool)
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
    """Start and end of the sentence of a text that best supports a claim made about a question.

    Terms of the claim count double, because the question's occur in many sentences; the whole text where none fits.

    Source:
        docs/algorithm.md §rag.4

    """
    wanted = [(2, question_terms(claim)), (1, question_terms(question))]
    best, place = 0.0, (0, len(text))
    for sentence in _sentences(0, text):
        score = sum(factor * len(terms & sentence.terms) / max(len(terms), 1) for factor, terms in wanted)
        if score > best:
            best, place = score, (sentence.start, sentence.end)
    return place


@lru_cache(maxsize=4096)
def _spans(text: str) -> tuple[tuple[int, int, frozenset[str]], ...]:
    return tuple((start, end, frozenset(tokens(text[start:end]))) for start, end in sentence_spans(text))


def _sentences(place: int, text: str) -> list[Sentence]:
    """Sentences that may be quoted: all except headings, which only name the text below them."""
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


def _decay(pool: Sequence[Sentence]) -> Floats:
    return np.array([1 / (1 + _RANK_DECAY * sentence.place) for sentence in pool])
