"""Choose the sentences of the found passages that cover the terms of a question."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.passages import chunks_of, document_row
from sag_retrieval.ask.question import question_terms
from sag_retrieval.ask.quotable import Sentence
from sag_retrieval.core.types import Floats
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.notebook import key_text, shown_keys
from sag_retrieval.release.arrays import Index

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


_LOOKED_AT: Final = 600
"""Characters before a passage in which its preceding sentence is looked for."""
_LONGEST_BEFORE: Final = 240
_EVENTS: Final = 4
_LONGEST_EVENT: Final = 200
_KEYS: Final = 6
_SAID: Final = 0.8
"""An event of whose words the passage holds this share is left out: it says nothing more."""


def evidence_lines(index: Index, hits: Sequence[FoundPassage]) -> Iterator[dict[str, object]]:
    """A line of evidence for each passage, numbered from 1; what is empty or already said is left out.

    Source:
        docs/algorithm.md §rag.8

    """
    shown = {chunk for hit in hits for chunk in chunks_of(hit)}
    for number, hit in enumerate(hits, start=1):
        row = _first_row(index, hit)
        found = {
            "title": hit.title,
            "heading": _heading(index, row, hit),
            "date": _date(index, row),
            "place": getattr(hit, "place", ""),
            "before": _before(index, row, hit, shown),
            "text": hit.text,
            "events": _events(hit),
            "keys": _keys(hit),
        }
        yield {"n": number} | {name: value for name, value in found.items() if value}


def _first_row(index: Index, hit: FoundPassage) -> int:
    """The row of the chunk in which a passage starts."""
    document = document_row(index, hit.document_id)
    first, last = index.arrays.document_chunks[document : document + 2].tolist()
    starts = index.rows["chunks"]["start"].slice(first, last - first).to_pylist()
    return int(first) + max((place for place, start in enumerate(starts) if start <= hit.start), default=0)


def _heading(index: Index, row: int, hit: FoundPassage) -> str:
    heading = str(index.rows["chunks"]["heading"][row].as_py() or "")
    folded = normal_name(heading)
    is_said = not folded or folded in normal_name(hit.title) or folded in normal_name(hit.text[: 2 * len(heading)])
    return "" if is_said else heading


def _date(index: Index, row: int) -> str:
    """The date that its events inherit from the document; dates of the text itself stand there."""
    first, last = index.arrays.chunk_events[row : row + 2].tolist()
    events = index.rows["events"].select(["date", "date_source"]).slice(first, last - first).to_pylist()
    return next((event["date"] for event in events if event["date"] and event["date_source"] != "text"), "")


def _before(index: Index, row: int, hit: FoundPassage, shown: set[str]) -> str:
    """The sentence before a passage that starts inside its section, unless the chunk with it is shown."""
    chunks = index.rows["chunks"]
    if not row or chunks["section_id"][row].as_py() != chunks["section_id"][row - 1].as_py():
        return ""
    if chunks["chunk_id"][row - 1].as_py() in shown:
        return ""
    document = document_row(index, hit.document_id)
    text = index.rows["documents"]["text"][document].as_py()[max(0, hit.start - _LOOKED_AT) : hit.start]
    spans = [text[start:end].strip() for start, end in sentence_spans(text)]
    last = next((sentence for sentence in reversed(spans) if sentence), "")
    return last if len(last) <= _LONGEST_BEFORE else "…" + last[1 - _LONGEST_BEFORE :]


def _events(hit: FoundPassage) -> list[str]:
    """The events that say more than the words of the passage, as those a model has written with full names."""
    held = set(tokens(f"{hit.title} {hit.text}"))
    found: list[str] = []
    for event in getattr(hit, "events", ()):
        terms = set(tokens(event.content))
        if terms and len(terms & held) < _SAID * len(terms):
            found.append(event.content[:_LONGEST_EVENT])
    return found[:_EVENTS]


def _keys(hit: FoundPassage) -> dict[str, list[str]]:
    """Keys by type, those first that the passage does not spell so: numbers and dates, read from its words."""
    folded = normal_name(hit.text)
    listed = [(key, key_text(key.value, key.unit, key.type)) for key in shown_keys(getattr(hit, "keys", ()), hit.title)]
    ordered = sorted(listed, key=lambda each: normal_name(each[1]) in folded)
    found: dict[str, list[Any]] = {}
    for key, text in ordered[:_KEYS]:
        found.setdefault(key.type, []).append(text)
    return found
