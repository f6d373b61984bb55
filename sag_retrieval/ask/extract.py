"""Order the sentences of passages by how well they answer one part of a question, and choose among them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations

from sag_retrieval.ask.forms import PERSONS, has_form, names_agent
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart
from sag_retrieval.ask.quotable import Sentence, points, quotable
from sag_retrieval.ask.values import STRICT, full_dates, holds_date, is_known, names_in, states, stating_clauses
from sag_retrieval.text.words import normal_name, tokens

_NEAR_SHARE = 0.4
_APART_SHARE = 0.6
_TITLE_SHARE = 0.8
_FORM_SHARE = 0.7
_WRONG_KIND = 0.35
_WEAK_KIND = 0.75
_RANK_DECAY = 0.03
_FOCUS = 0.7
_NAMED_SHARE = 0.8
_NO_TERM = 0.5
_NEAR = 400
_CLAUSE = re.compile(r"[，；：。]|[,;:](?=\s)")
_PASSIVE = re.compile(r"\bby\b|[由被]")
_WORD_OR_PAIR = re.compile(r"(?=([\u4e00-\u9fff]{2}|\b[^\W\u4e00-\u9fff]+))")
_DATE_SHARE = 0.3
_LEAST_WITHOUT = 8
_OTHER_DATE = 0.6
_OTHER_NAME = 0.6
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
    here = [name for name in named if hit.document_id in name.documents]
    about, of_names = title_terms(hit.title), terms_of(named)
    context = {term for term in part.terms if term in of_names or _YEAR.fullmatch(term)}
    keys = keys_of(hit)
    stating = frozenset(tokens(stating_clauses(part.kind, sentence.text, question, keys)))
    shares = {term: _share(term, sentence, about, stating) for term in part.terms}
    if part.counted & PERSONS and stating & PERSONS:
        shares |= dict.fromkeys(part.counted, 1.0)
    in_context = {term: max(shares[term], _NAMED_SHARE) if term in terms_of(here) else shares[term] for term in context}
    focus = _weighted({term: shares[term] for term in part.terms - context}, weights)
    around = _weighted(in_context, weights)
    asked_dates = full_dates(part.text)
    if asked_dates:
        told = [holds_date(date, sentence.text) for date in asked_dates]
        held = sum(each is True for each in told) / len(told)
        focus = held if focus is None else (1 - _DATE_SHARE) * focus + _DATE_SHARE * held
    parts = [(share, value) for share, value in ((_FOCUS, focus), (1 - _FOCUS, around)) if value is not None]
    covered = sum(share * value for share, value in parts) / (sum(share for share, _ in parts) or 1.0)
    is_of_kind = states(part.kind, sentence.text, question, keys) and _counts_what_is_asked(part, stating)
    factor = 1.0 if is_of_kind else _WRONG_KIND if part.kind in STRICT else _WEAK_KIND
    factor *= 1.0 if here or not named else _WRONG_KIND
    if part.kind == "number" and named and not _names_one_of(named, sentence, about):
        others = (name for name in names_in(sentence.text, keys) if not is_known(name, normal_name(question)))
        factor *= _OTHER_NAME if any(others) else 1.0
    factor *= _OTHER_DATE if asked_dates and held == 0 and False in told else 1.0
    own = sentence.terms & part.terms
    if sentence.halves and not all(half & part.terms - other for half, other in permutations(sentence.halves)):
        return replace(sentence, score=0.0)
    if not own and len(sentence.terms) < _LEAST_WITHOUT:
        return replace(sentence, score=0.0)
    factor *= 1.0 if own else _NO_TERM
    factor *= _WRONG_KIND if any(acts_itself(name.name, part.act, sentence.text) for name in here) else 1.0
    factor *= sentence.score
    score = covered * factor / (1 + _RANK_DECAY * sentence.place)
    return replace(
        sentence, score=score, coverage=covered, focus=covered if focus is None else focus, is_of_kind=is_of_kind
    )


def _counts_what_is_asked(part: QuestionPart, stating: frozenset[str]) -> bool:
    """Whether the clauses with a number hold what the part counts; a number of something else is no answer."""
    if part.kind != "number" or not part.counted:
        return True
    if part.counted & PERSONS:
        return bool(stating & PERSONS)
    return any(term in stating or has_form(term, stating) for term in part.counted)


def _names_one_of(named: Sequence[NamedThing], sentence: Sentence, about: frozenset[str]) -> bool:
    return any(name.terms <= sentence.terms | about for name in named)


def terms_of(named: Iterable[NamedThing]) -> frozenset[str]:
    """The terms of all names."""
    return frozenset().union(*(name.terms for name in named))


def _weighted(shares: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    total = sum(weights[term] for term in shares)
    return sum(weights[term] * share for term, share in shares.items()) / total if total else None


def _share(term: str, sentence: Sentence, about: frozenset[str], stating: frozenset[str]) -> float:
    if term in sentence.terms:
        return 1.0 if term in stating else _APART_SHARE
    if term in about:
        return _TITLE_SHARE
    if has_form(term, sentence.terms):
        return _FORM_SHARE
    return _NEAR_SHARE if term in sentence.near else 0.0


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


def acts_itself(name: str, act: frozenset[str], sentence: str) -> bool:
    """Whether a named thing does itself what is asked of somebody: `Acme founded Bolt` answers no `who founded Acme`.

    Example:
        >>> [acts_itself("acme", frozenset({"found"}), text) for text in ("Acme founded Bolt.", "Ann founded Acme.")]
        [True, False]
        >>> acts_itself("acme", frozenset({"found"}), "Acme was founded by Ann.")
        False

    """
    if not act:
        return False
    clauses = [clause for clause in _CLAUSE.split(sentence) if act & frozenset(tokens(clause))]
    return bool(clauses) and all(_precedes(name, act, clause) for clause in clauses)


def _precedes(name: str, act: frozenset[str], clause: str) -> bool:
    if _PASSIVE.search(clause) or names_agent(act, clause):
        return False
    at = next((match.start() for match in _WORD_OR_PAIR.finditer(clause) if act & frozenset(tokens(match[1]))), None)
    return at is not None and name in normal_name(clause[:at]) and name not in normal_name(clause[at:])


_FULL_SHARE = 0.6
_SIDE_SHARE = 0.5
_NEW_WEIGHT = 0.2


def chosen_sentences(
    part: QuestionPart, ranked: Sequence[Sentence], of_names: frozenset[str], weights: Mapping[str, float], limit: int
) -> list[Sentence]:
    """The best sentence, and those that hold what it leaves open; for a list also those that are nearly as good.

    Source:
        docs/algorithm.md §answers.3

    """
    chosen = list(ranked[:1])
    open_terms = part.terms - of_names
    total = sum(weights[term] for term in open_terms) or 1.0
    for sentence in ranked[1:]:
        if len(chosen) >= limit or sentence.score < _SIDE_SHARE * chosen[0].score:
            break
        if any(_overlaps(sentence, other) for other in chosen) or (part.kind in STRICT and not sentence.is_of_kind):
            continue
        known = frozenset().union(*(other.terms for other in chosen))
        new = sum(weights[term] for term in (sentence.terms & open_terms) - known) / total
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
