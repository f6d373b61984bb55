"""Score sentences: how likely each answers a part of a question.

The scorer is a seam: another package adds one as an entry point of the group `sag.answer_scorers`, the option
`answer_scorer` takes it by name. The one here is a logistic model of features that both languages have, fitted on
judged answers by `python -m scripts.fit_answers`.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final, NamedTuple, Protocol

import numpy as np

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, TermWeights
from sag_retrieval.ask.sentences import Sentence
from sag_retrieval.ask.values import STRICT, counts, full_dates, holds_date, states, stating_clauses, years_in
from sag_retrieval.core.plugins import Seam
from sag_retrieval.core.types import Floats
from sag_retrieval.language.words import tokens

_MOST = 48
"""Sentences of a question that are scored: those that hold most of its words, or stand beside one that does."""
_BESIDE = 0.5
"""What the words of a neighbouring sentence count for that."""
_TITLE, _NEIGHBOUR = 0.8, 0.4
"""What a term counts in `cover` and `focus` that stands in the title, or in a neighbouring sentence."""


class Candidate(NamedTuple):
    """A sentence that may answer, between its neighbours, and its features."""

    before: str
    text: str
    behind: str
    title: str
    features: Mapping[str, float]


class AnswerScorer(Protocol):
    """Scores the sentences found for a part of a question."""

    def __call__(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        """The probability that each candidate answers, in their order; the same for the same input."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A part of a question with what its candidates are measured by."""

    part: QuestionPart
    question: str
    """The whole question: its values are no answers."""
    weights: Mapping[str, float]
    """The idf of each term of the part."""
    weigh: TermWeights
    names: frozenset[str]
    """The terms of what the part names."""


_SOFT: Final = ("place", "reason", "comparison")
"""Kinds that a sentence may answer without a sign of it."""
_Row = tuple[Sentence | None, Sentence, Sentence | None]
"""A sentence between its neighbours in the passage."""


def ranked_sentences(
    asked: Asked, hits: Sequence[FoundPassage], pools: Sequence[Sequence[Sentence]], scorer: AnswerScorer
) -> list[Sentence]:
    """The sentences of passages that may be quoted, most likely answer first; `score` is the probability.

    Source: docs/algorithm.md §answers.2.
    """
    rows = _nearest(asked, pools)
    if not rows:
        return []
    idf = asked.weigh({term for _, sentence, _ in rows for term in sentence.terms})
    found = [_features(asked, hits[row[1].place], row, idf) for row in rows]
    best = max(values["focus"] for values in found)
    found = [values | {"best focus": best, "lead": values["focus"] - best} for values in found]
    said = [[each.text if each else "" for each in row] for row in rows]
    candidates = [
        Candidate(before, text, behind, hits[row[1].place].title, values)
        for (before, text, behind), row, values in zip(said, rows, found, strict=True)
    ]
    scores = scorer(asked.part.text, candidates)
    scored = [
        replace(
            row[1],
            score=float(score),
            coverage=values["cover"],
            focus=values["focus"],
            is_of_kind=not (values["states not"] or values["day not"] or values["year not"]),
        )
        for row, values, score in zip(rows, found, scores, strict=True)
    ]
    return sorted(scored, key=lambda s: (-s.score, s.place, s.start))


def _nearest(asked: Asked, pools: Sequence[Sequence[Sentence]]) -> list[_Row]:
    """The sentences that hold most of the question's words, or stand beside one that does."""
    rows: list[tuple[float, _Row]] = []
    for pool in pools:
        own = [_total(asked.weights, s.terms & asked.part.terms) for s in pool]
        around = zip([None, *pool[:-1]], pool, [*pool[1:], None], [0.0, *own], own, [*own[1:], 0.0], strict=False)
        for before, sentence, behind, *shares in around:
            rank = shares[1] + _BESIDE * max(shares[0], shares[2])
            if rank and not sentence.text.rstrip('"”’ ').endswith(("?", "？")):  # who asks answers nothing
                rows.append((rank, (before, sentence, behind)))
    rows.sort(key=lambda row: (-row[0], row[1][1].place, row[1][1].start))
    return [row for _, row in rows[:_MOST]]


def _features(asked: Asked, hit: FoundPassage, row: _Row, idf: Mapping[str, float]) -> dict[str, float]:
    """What of the question stands where, as weighted shares of its terms, and what is asked."""
    before, sentence, behind = row
    part, weights, title, here = asked.part, asked.weights, terms_in(hit.title), sentence.terms
    focused = (part.terms - asked.names - years_in(part.terms)) or part.terms
    shares = {
        term: 1.0 if term in here else _TITLE if term in title else _NEIGHBOUR if term in sentence.near else 0.0
        for term in part.terms
    }
    return {
        "cover": _share(weights, part.terms, shares),
        "focus": _share(weights, focused, shares),
        "own focus": _held(weights, focused, here),
        "own names": _held(weights, part.terms - focused, here),
        "before": _held(weights, part.terms, before.terms) if before else 0.0,
        "behind": _held(weights, part.terms, behind.terms) if behind else 0.0,
        "title": _held(weights, focused, title),
        "passage": _held(weights, focused, terms_in(hit.text) | title),
        "dense": _held(idf, here, part.terms),
        "place": math.log1p(sentence.place),
        "score": hit.score,
        "terms": math.log1p(len(part.terms)),
        "names": float(bool(asked.names)),
        "strict": float(part.kind in STRICT),
        "compares": float(part.kind == "comparison"),
        **_values(asked, hit, sentence),
    }


def _values(asked: Asked, hit: FoundPassage, sentence: Sentence) -> dict[str, float]:
    """Whether a sentence states what is asked for, and of the day and year that it is asked of."""
    part, keys, text = asked.part, keys_of(hit), sentence.text
    is_counted = part.kind != "number" or not part.counted or counts(text, part.counted)
    is_of_kind = is_counted and states(part.kind, text, asked.question, keys)
    is_strict, is_soft = part.kind in STRICT, part.kind in _SOFT
    stating = frozenset(tokens(stating_clauses(part.kind, text, asked.question, keys)))
    days, years = full_dates(part.text), years_in(part.terms)
    own_years = years_in(sentence.terms | terms_in(hit.title))
    held = sum(holds_date(day, text) for day in days)
    return {
        "states": float(is_strict and is_of_kind),
        "states not": float(is_strict and not is_of_kind),
        "states softly": float(is_soft and is_of_kind),
        "states softly not": float(is_soft and not is_of_kind),
        "stating": _held(asked.weights, part.terms & sentence.terms, stating),
        "day": held / len(days) if days else 0.0,
        "day not": float(bool(days and full_dates(text)) and not held),
        "year not": float(bool(years and own_years) and not years & own_years),
    }


def _total(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    return math.fsum(weights[term] for term in terms)


def _held(weights: Mapping[str, float], wanted: frozenset[str], there: frozenset[str]) -> float:
    """The weighted share of terms that stand somewhere; 1 where none is wanted."""
    return _share(weights, wanted, dict.fromkeys(wanted & there, 1.0))


def _share(weights: Mapping[str, float], wanted: frozenset[str], shares: Mapping[str, float]) -> float:
    total = _total(weights, wanted)
    return math.fsum(weights[term] * shares.get(term, 0.0) for term in wanted) / total if total else 1.0


@lru_cache(maxsize=4096)
def terms_in(text: str) -> frozenset[str]:
    """The terms of a title or a passage."""
    return frozenset(tokens(text))


def keys_of(hit: FoundPassage) -> list[tuple[str, str]]:
    """Type and value of the text keys of a passage; none where a search brings no keys."""
    return [(str(key.type), str(key.value)) for key in getattr(hit, "keys", ()) if isinstance(key.value, str)]


@cache
def _weights() -> tuple[tuple[str, ...], Floats, float]:
    """Names of the features, their weights, and the bias."""
    given = json.loads(files(__package__).joinpath("answer_weights.json").read_text(encoding="utf-8"))["weights"]
    bias = given.pop("")
    return tuple(given), np.array(list(given.values())), bias


def by_features(question: str, candidates: Sequence[Candidate]) -> list[float]:  # noqa: ARG001  the features tell of it
    """Score sentences by the logistic model of their features."""
    names, weights, bias = _weights()
    odds = [math.fsum(weights * [each.features[name] for name in names]) + bias for each in candidates]
    return [round(1 / (1 + math.exp(-each)), 6) for each in odds]


SCORERS: Final = Seam[AnswerScorer](
    "sag.answer_scorers", "answer_scorer", "a question and candidates", features=by_features
)
"""Scorers by name."""
