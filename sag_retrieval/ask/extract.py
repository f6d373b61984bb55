"""Order the sentences of passages by how well they answer one part of a question, and choose among them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

from sag_retrieval.ask.forms import has_form, same_words
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart
from sag_retrieval.ask.quotable import Sentence, points, quotable
from sag_retrieval.ask.values import (
    STRICT,
    full_dates,
    holds_another_date,
    holds_date,
    is_known,
    names_in,
    states,
    states_unit,
    stating_clauses,
)
from sag_retrieval.language.words import normal_name, tokens

_APART_SHARE, _TITLE_SHARE, _FORM_SHARE, _SAME_SHARE, _NEAR_SHARE = 0.6, 0.8, 0.7, 0.5, 0.4
"""What a term counts that stands in another clause than the number, in the title, in another form, in another word that
says the same, in a neighbour."""
_NAMED_SHARE = 0.8
"""What a term of a name counts in a document that belongs to it."""
_FOCUS, _DATE_SHARE = 0.7, 0.3
"""Part of the terms that name nothing in the coverage, and of asked dates in theirs."""
_WRONG_KIND, _WEAK_KIND, _NO_TERM, _OTHER_DATE, _OTHER_NAME, _OTHER_UNIT = 0.35, 0.75, 0.5, 0.6, 0.6, 0.6
"""Factors of the score: docs/algorithm.md §answers.2 lists when they apply."""
_RANK_DECAY = 0.03
_LEAST_WITHOUT = 8
"""Terms of a sentence that may be quoted without a term of the part."""
_FULL_SHARE, _SIDE_SHARE, _NEW_WEIGHT = 0.6, 0.5, 0.2
"""Of the best score for an equal of a list and for a further sentence; weight of new terms that one has to bring."""
_NEAR = 400
"""Characters around the best sentence in which a value of the expected kind is looked for."""
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that the question names: its words, and the documents that are about it or mention it."""

    name: str
    terms: frozenset[str]
    documents: frozenset[str]


def ranked_sentences(
    part: QuestionPart,
    hits: Sequence[FoundPassage],
    named: Sequence[NamedThing],
    weights: Mapping[str, float],
    question: str,
) -> list[Sentence]:
    """The sentences of passages, best first.

    Args:
        part: What is asked.
        hits: The passages, best first.
        named: What the part names; sentences of documents without any of it come last.
        weights: The idf of each term of the part.
        question: The whole question: its values are no answers.

    Source:
        docs/algorithm.md §answers.2

    """
    titled = named_in_title(hits)
    scored = [
        _scored(sentence, part, hit, named, weights, question)
        for place, hit in enumerate(hits)
        for sentence in quotable(place, hit.text, hit.title)
        if hit.document_id in titled or not points(sentence.text)
    ]
    return sorted((s for s in scored if s.score > 0), key=lambda s: (-s.score, s.place, s.start))


def _scored(
    sentence: Sentence,
    part: QuestionPart,
    hit: FoundPassage,
    named: Sequence[NamedThing],
    weights: Mapping[str, float],
    question: str,
) -> Sentence:
    own = sentence.terms & part.terms
    if sentence.halves and not all(half & part.terms - other for half, other in permutations(sentence.halves)):
        return replace(sentence, score=0.0)
    if not own and len(sentence.terms) < _LEAST_WITHOUT:
        return replace(sentence, score=0.0)
    here = [name for name in named if hit.document_id in name.documents]
    about, keys = title_terms(hit.title), keys_of(hit)
    stating = frozenset(tokens(stating_clauses(part.kind, sentence.text, question, keys)))
    shares = {term: _share(term, sentence, about, stating) for term in part.terms}
    shares |= {term: 1.0 for term in part.counted if _is_said(term, stating)}
    covered, focus = _coverage(shares, terms_of(named), terms_of(here), _held_dates(part, sentence), weights)
    is_of_kind = states(part.kind, sentence.text, question, keys) and _counts_what_is_asked(part, stating)
    factors = [
        1.0 if is_of_kind else _WRONG_KIND if part.kind in STRICT else _WEAK_KIND,
        1.0 if here or not named else _WRONG_KIND,
        _OTHER_NAME if part.kind == "number" and _is_of_another(sentence, named, about, keys, question) else 1.0,
        _OTHER_DATE if full_dates(part.text) and holds_another_date(part.text, sentence.text) else 1.0,
        1.0 if states_unit(part.unit, sentence.text) else _OTHER_UNIT,
        1.0 if own or any(_is_said(term, sentence.terms) for term in part.terms) else _NO_TERM,
    ]
    score = covered * math.prod(factors) * sentence.score / (1 + _RANK_DECAY * sentence.place)
    return replace(sentence, score=score, coverage=covered, focus=focus, is_of_kind=is_of_kind)


def _coverage(
    shares: Mapping[str, float],
    of_names: frozenset[str],
    of_here: frozenset[str],
    held_dates: float | None,
    weights: Mapping[str, float],
) -> tuple[float, float]:
    """What a sentence covers of all terms, and of those that name nothing with the asked dates."""
    context = {term: share for term, share in shares.items() if term in of_names or _YEAR.fullmatch(term)}
    focus = _weighted({term: share for term, share in shares.items() if term not in context}, weights)
    around = _weighted(
        {term: max(share, _NAMED_SHARE) if term in of_here else share for term, share in context.items()}, weights
    )
    if held_dates is not None:
        focus = held_dates if focus is None else (1 - _DATE_SHARE) * focus + _DATE_SHARE * held_dates
    parts = [(share, value) for share, value in ((_FOCUS, focus), (1 - _FOCUS, around)) if value is not None]
    covered = sum(share * value for share, value in parts) / (sum(share for share, _ in parts) or 1.0)
    return covered, covered if focus is None else focus


def _held_dates(part: QuestionPart, sentence: Sentence) -> float | None:
    """The share of the part's days and months that a sentence holds; None where the part has none."""
    asked = full_dates(part.text)
    return sum(holds_date(date, sentence.text) for date in asked) / len(asked) if asked else None


def _is_of_another(
    sentence: Sentence,
    named: Sequence[NamedThing],
    about: frozenset[str],
    keys: Sequence[tuple[str, str]],
    question: str,
) -> bool:
    """Whether a sentence names something else, and neither it nor its title what the part names."""
    if not named or any(name.terms <= sentence.terms | about for name in named):
        return False
    asked = normal_name(question)
    return any(not is_known(name, asked) for name in names_in(sentence.text, keys))


def _counts_what_is_asked(part: QuestionPart, stating: frozenset[str]) -> bool:
    """Whether the clauses with a number hold what the part counts; a number of something else is no answer."""
    if part.kind != "number" or not part.counted:
        return True
    return any(term in stating or _is_said(term, stating) for term in part.counted)


def terms_of(named: Iterable[NamedThing]) -> frozenset[str]:
    """The terms of all names."""
    return frozenset().union(*(name.terms for name in named))


def _weighted(shares: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    total = math.fsum(weights[term] for term in shares)
    return math.fsum(weights[term] * share for term, share in shares.items()) / total if total else None


def _share(term: str, sentence: Sentence, about: frozenset[str], stating: frozenset[str]) -> float:
    if term in sentence.terms:
        return 1.0 if term in stating else _APART_SHARE
    if term in about:
        return _TITLE_SHARE
    if has_form(term, sentence.terms):
        return _FORM_SHARE
    if not same_words(term).isdisjoint(sentence.terms):
        return _SAME_SHARE
    return _NEAR_SHARE if term in sentence.near else 0.0


def _is_said(term: str, terms: frozenset[str]) -> bool:
    """Whether another form of a term is among some terms, or a word that says the same."""
    return has_form(term, terms) or not same_words(term).isdisjoint(terms)


def keys_of(hit: FoundPassage) -> list[tuple[str, str]]:
    """Type and value of the text keys of a passage; none where a search brings no keys."""
    return [(str(key.type), str(key.value)) for key in getattr(hit, "keys", ()) if isinstance(key.value, str)]


@lru_cache(maxsize=4096)
def title_terms(title: str) -> frozenset[str]:
    """Index terms of a title."""
    return frozenset(tokens(title))


def named_in_title(hits: Sequence[FoundPassage]) -> frozenset[str]:
    """Documents whose title holds a name, which a pronoun in their text may stand for."""
    keys = [key for hit in hits for key in keys_of(hit)]
    titles = {hit.document_id: hit.title for hit in hits}
    return frozenset(document for document, title in titles.items() if names_in(title, keys))


def chosen_sentences(
    part: QuestionPart, ranked: Sequence[Sentence], of_names: frozenset[str], weights: Mapping[str, float], limit: int
) -> list[Sentence]:
    """The best sentence, and those that hold what it leaves open; for a list also those that are nearly as good.

    Source:
        docs/algorithm.md §answers.3

    """
    chosen = list(ranked[:1])
    open_terms = part.terms - of_names
    total = math.fsum(weights[term] for term in open_terms) or 1.0
    for sentence in ranked[1:]:
        if len(chosen) >= limit or sentence.score < _SIDE_SHARE * chosen[0].score:
            break
        if any(_overlaps(sentence, other) for other in chosen) or (part.kind in STRICT and not sentence.is_of_kind):
            continue
        known = frozenset().union(*(other.terms for other in chosen))
        new = math.fsum(weights[term] for term in (sentence.terms & open_terms) - known) / total
        is_equal = part.is_list and sentence.is_of_kind and sentence.score >= _FULL_SHARE * chosen[0].score
        if new >= _NEW_WEIGHT or is_equal:
            chosen.append(sentence)
    if chosen and not chosen[0].is_of_kind:
        near = (s for s in ranked if s.is_of_kind and s.place == chosen[0].place and _gap(s, chosen[0]) <= _NEAR)
        chosen = [chosen[0], *further_sentences(chosen, near, 1), *chosen[1:]][:limit]
    return chosen


def _gap(left: Sentence, right: Sentence) -> int:
    """Characters between two sentences of a passage."""
    return max(left.start - right.end, right.start - left.end, 0)


def further_sentences(chosen: Sequence[Sentence], others: Iterable[Sentence], count: int) -> list[Sentence]:
    """The next best sentences that overlap none of the chosen ones."""
    found: list[Sentence] = []
    for sentence in sorted(others, key=lambda s: (-s.score, s.place, s.start)):
        if len(found) == count:
            break
        if not any(_overlaps(sentence, other) for other in [*chosen, *found]):
            found.append(sentence)
    return found


def _overlaps(left: Sentence, right: Sentence) -> bool:
    is_same = left.text == right.text
    return is_same or (left.place == right.place and left.start < right.end and right.start < left.end)
