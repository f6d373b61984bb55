"""Answer one part of a question from found passages: what it names, which sentences answer, and how likely they do."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from sag_retrieval.ask.cited import Cited, quoted
from sag_retrieval.ask.newest import newest_first, others_said
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, TermWeights, alike, pool_weights, question_parts
from sag_retrieval.ask.sentences import Sentence, quotable_sentences
from sag_retrieval.ask.values import (
    NAME_TYPES,
    PLACE_TYPES,
    STRICT,
    counts,
    full_dates,
    has_new_name,
    holds_another_date,
    holds_date,
    is_known,
    names_in,
    states,
    stating_clauses,
)
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk, normal_name, tokens
from sag_retrieval.search.revised import HitRevision
from sag_retrieval.statements.form import refers_back

_APART, _TITLE, _NEIGHBOUR = 0.6, 0.8, 0.4
"""What a term counts that stands in another clause than the number, in the title, in a neighbouring sentence."""
_NAMED_SHARE = 0.8
"""What a term of a name counts in a document that belongs to it."""
_FOCUS, _DATE_SHARE = 0.7, 0.3
"""Part of the terms that name nothing in the coverage, and of asked dates in theirs."""
_WRONG_KIND, _WEAK_KIND, _NO_TERM, _OTHER_DATE, _OTHER_NAME, _NO_SLOT = 0.35, 0.75, 0.5, 0.6, 0.6, 0.35
"""Factors of the score: docs/algorithm.md §answers.2 lists when they apply."""
_RANK_DECAY = 0.03
_LEAST_WITHOUT = 8
"""Terms of a sentence that may be quoted without a term of the part."""
_SIDE_SHARE, _EQUAL_SHARE, _NEW_WEIGHT = 0.5, 0.6, 0.2
"""Of the best score for a further sentence and for an equal of a list; weight of new terms that the former brings."""
_YEAR = patterns("all")["year"]
_LEAST_GROUP = 0.5
"""Score of a group's best sentence as a share of the best of all; lower ones are left out."""
_LEAST_OPEN, _LEAST_BRIDGED, _BRIDGES = 0.3, 0.3, 4
"""Weight that is left open, for a bridge; score of a sentence over it that makes the answer likelier; names tried."""
_OF = patterns("en")["of"]
_NOT_IN_WORDS = patterns("all")["not_in_words"]
_NAMED = "named: "
_UNNAMED_TYPES = frozenset({"date", "day", "quantity", "money", "percentage", "topic"})

_CONSTANT, _OF_SCORE, _OF_PASSAGE, _OF_NAMED, _OF_COMPARED = -0.80, 3.06, -0.35, -0.65, 0.87
"""Of the logistic, as `benchmarks/refusals.py` at v0.2.0 fitted them."""
LEAST_ANSWER: Final = 0.5
"""A less likely sentence is shown as the closest one, not as the answer."""
LEAST_CLOSEST: Final = 0.3
"""A less likely one is not shown: on the questions for development none of them held the answer."""

Quotation = tuple[FoundPassage, int, int]
"""A passage, and where a stretch of it begins and ends."""


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that the question names: its words, and the documents that are about it or mention it."""

    name: str
    terms: frozenset[str]
    documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class Features:
    """What tells an answer from a sentence that only shares words with the question; each from 0 to 1."""

    score: float
    """Of the best sentence (docs/algorithm.md §answers.2)."""
    in_passage: float
    """Idf share of the terms that name nothing which its passage or title holds: scattered words are no answer."""
    is_named: float
    """Whether the part names something: names are shared by every sentence about them."""
    is_compared: float
    """Whether it compares: each side holds but a part of what is asked."""


def likelihood(features: Features) -> float:
    """How likely the sentence answers, from 0 to 1.

    Source:
        docs/algorithm.md §answers.5

    """
    total = _CONSTANT + _OF_SCORE * features.score + _OF_PASSAGE * features.in_passage
    return 1 / (1 + math.exp(-total - _OF_NAMED * features.is_named - _OF_COMPARED * features.is_compared))


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """What was found for a part of a question, best sentence first, and how likely that answers it."""

    part: QuestionPart
    sentences: tuple[Sentence, ...]
    hits: tuple[FoundPassage, ...]
    features: Features | None = None
    chosen: int = 0
    """How many of the sentences were chosen as an answer; the rest are the closest ones beside them."""
    others: tuple[tuple[str, HitRevision], ...] = ()
    """What other documents say in place of the best sentence, each with the document of that."""

    @property
    def likelihood(self) -> float:
        """How likely the best sentence answers the part; 0 without one."""
        return likelihood(self.features) if self.features else 0.0

    @property
    def is_found(self) -> bool:
        """Whether the sentences answer; else they are only the closest ones."""
        states_kind = self.part.kind not in STRICT or any(sentence.is_of_kind for sentence in self.sentences)
        return states_kind and self.likelihood >= LEAST_ANSWER

    def found_by(self, other: "PartAnswer") -> "PartAnswer":
        """The same answer with the likelihood of another that rests on it, without sentences that were only close."""
        return replace(self, features=other.features, sentences=self.sentences[: self.chosen])

    @property
    def is_close(self) -> bool:
        """Whether they may be shown as the closest ones."""
        return self.likelihood >= LEAST_CLOSEST


def answer_part(
    part: QuestionPart,
    hits: Sequence[FoundPassage],
    *,
    keys: Sequence[Any] = (),
    weigh: TermWeights | None = None,
    question: str = "",
    limit: int = 3,
) -> PartAnswer:
    """The sentences of passages that answer a part.

    Args:
        part: What is asked.
        hits: Passages, best first.
        keys: Keys that took part in the search; those it names decide which documents are about the question.
        weigh: The idf of terms; by the passages themselves if not given.
        question: The whole question, whose values are no answers; that of the part if not given.
        limit: Most sentences.

    Source:
        docs/algorithm.md §answers.1

    """
    weights = part.weights((weigh or pool_weights([hit.text for hit in hits]))(part.terms))
    named = named_things(part, keys, hits)
    groups = [_about(group, named, part, hits) for group in groups_of(named)]
    asked, names = question or part.text, terms_of(named)
    by_group = [
        (hit_places, own_hits, ranked_sentences(own, own_hits, group, weights, asked))
        for own, own_hits, hit_places, group in groups or [(part, list(hits), list(range(len(hits))), [])]
    ]
    found = [(places, newest_first(asked, sentences, own, names)) for places, own, sentences in by_group]
    best = max((ranked[0].score for _, ranked in found if ranked), default=0.0)
    chosen: list[Sentence] = []
    order = sorted(found, key=lambda each: -each[1][0].score if each[1] else 0.0)
    for places, ranked in order:
        if ranked and ranked[0].score >= _LEAST_GROUP * best:
            own = chosen_sentences(part, ranked, terms_of(named), weights, limit if len(found) == 1 else 2)
            chosen.extend(replace(sentence, place=places[sentence.place]) for sentence in own)
    if not chosen:
        return PartAnswer(part, (), tuple(hits))
    features = _features_of(part, chosen[0], hits[chosen[0].place], named, weights)
    others = [
        one for own_places, ranked in order[:1] for one in others_said(part, ranked, [hits[n] for n in own_places])
    ]
    answer = PartAnswer(part, tuple(chosen), tuple(hits), features, len(chosen), tuple(others))
    if answer.is_found or len(chosen) >= limit:
        return answer
    rest = [replace(s, place=places[s.place]) for places, ranked in found for s in ranked]
    return replace(answer, sentences=(*chosen, *_further(chosen, rest, limit - len(chosen))))


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
    titled = _named_in_title(hits)
    scored = [
        _scored(sentence, part, hit, named, weights, question)
        for place, hit in enumerate(hits)
        for sentence in quotable_sentences(place, hit.text, hit.title)
        if hit.document_id in titled or not refers_back(sentence.text)
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
    if sentence.text.rstrip('"”’ ').endswith(("?", "？")):
        return replace(sentence, score=0.0)  # who asks answers nothing
    if not own and len(sentence.terms) < _LEAST_WITHOUT:
        return replace(sentence, score=0.0)
    here = [name for name in named if hit.document_id in name.documents]
    about, keys = _title_terms(hit.title), keys_of(hit)
    stating = frozenset(tokens(stating_clauses(part.kind, sentence.text, question, keys)))
    shares = {term: _share(term, sentence, about, stating) for term in part.terms}
    covered, focus = _coverage(shares, terms_of(named), terms_of(here), _held_dates(part, sentence), weights)
    is_counted = part.kind != "number" or not part.counted or counts(sentence.text, part.counted)
    is_of_kind = is_counted and states(part.kind, sentence.text, question, keys)
    factors = [
        1.0 if is_of_kind else _WRONG_KIND if part.kind in STRICT else _WEAK_KIND,
        1.0 if here or not named else _WRONG_KIND,
        _OTHER_NAME if part.kind == "number" and _is_of_another(sentence, named, about, keys, question) else 1.0,
        _OTHER_DATE if full_dates(part.text) and holds_another_date(part.text, sentence.text) else 1.0,
        1.0 if own else _NO_TERM,
        _NO_SLOT if _lacks_slot(part, sentence.terms | sentence.near | about) else 1.0,
    ]
    score = covered * math.prod(factors) * sentence.score / (1 + _RANK_DECAY * sentence.place)
    return replace(sentence, score=score, coverage=covered, focus=focus, is_of_kind=is_of_kind)


def _lacks_slot(part: QuestionPart, here: frozenset[str]) -> bool:
    """Whether a sentence with what stands around it is of other years alone, or does not name what is asked of a thing.

    `2024年的采收` is not answered by the harvest of 2025, nor the landlord of the stables by what else is said of them.
    """
    years, own = ({term for term in terms if _YEAR.fullmatch(term)} for terms in (part.terms, here))
    is_unnamed = bool(part.head) and not any(alike(term, other) for term in part.head for other in here)
    return is_unnamed or (bool(years and own) and not years & own)


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
    is_about = not named or any(name.terms <= sentence.terms | about for name in named)
    return not is_about and has_new_name(sentence.text, question, keys)


def _share(term: str, sentence: Sentence, about: frozenset[str], stating: frozenset[str]) -> float:
    if term in sentence.terms:
        return 1.0 if term in stating else _APART
    return _TITLE if term in about else _NEIGHBOUR if term in sentence.near else 0.0


def _weighted(shares: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    total = math.fsum(weights[term] for term in shares)
    return math.fsum(weights[term] * share for term, share in shares.items()) / total if total else None


def _features_of(
    part: QuestionPart, best: Sentence, hit: FoundPassage, named: Sequence[NamedThing], weights: Mapping[str, float]
) -> Features:
    there = frozenset(tokens(hit.text)) | _title_terms(hit.title)
    held = _weighted({term: float(term in there) for term in part.terms - terms_of(named)}, weights)
    return Features(best.score, held or 0.0, float(bool(named)), float(part.kind == "comparison"))


def chosen_sentences(
    part: QuestionPart, ranked: Sequence[Sentence], of_names: frozenset[str], weights: Mapping[str, float], limit: int
) -> list[Sentence]:
    """The best sentence, and those that hold what it leaves open; for a list also those that are nearly as good.

    Where it states the name, day or number that is asked for, it stands alone.

    Source:
        docs/algorithm.md §answers.3

    """
    chosen = list(ranked[:1])
    states_value = part.kind in STRICT and any(best.is_of_kind for best in chosen)
    open_terms = part.terms - of_names
    total = math.fsum(weights[term] for term in open_terms) or 1.0
    for sentence in ranked[1:]:
        if len(chosen) >= limit or sentence.score < _SIDE_SHARE * chosen[0].score:
            break
        if any(_overlaps(sentence, other) for other in chosen) or (part.kind in STRICT and not sentence.is_of_kind):
            continue
        known = frozenset().union(*(other.terms for other in chosen))
        new = math.fsum(weights[term] for term in (sentence.terms & open_terms) - known) / total
        is_equal = part.is_list and sentence.is_of_kind and sentence.score >= _EQUAL_SHARE * chosen[0].score
        if (new >= _NEW_WEIGHT and not states_value) or is_equal:
            chosen.append(sentence)
    return chosen


def _further(chosen: Sequence[Sentence], others: Iterable[Sentence], count: int) -> list[Sentence]:
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


def open_part(
    answer: PartAnswer, weights: Mapping[str, float], question: str
) -> tuple[QuestionPart, tuple[str, ...]] | None:
    """What the best sentence leaves open, to be asked of the new names in it; None where it leaves little, or no name.

    Source:
        docs/algorithm.md §answers.4

    """
    if not answer.sentences:
        return None
    best, part = answer.sentences[0], answer.part
    hit = answer.hits[best.place]
    left = part.terms - best.terms - _title_terms(hit.title)
    total = math.fsum(weights[term] for term in part.terms) or 1.0
    if math.fsum(weights[term] for term in left) < _LEAST_OPEN * total or not best.terms & part.terms:
        return None
    asked = normal_name(question)
    found = [name for name in names_in(best.text, keys_of(hit), NAME_TYPES | PLACE_TYPES) if not is_known(name, asked)]
    found += [part for name in found if " of " in name for part in _OF.split(name) if len(part) > 1]
    names = tuple(sorted(set(found), key=lambda name: (best.text.lower().find(name), name))[:_BRIDGES])
    return (replace(part, terms=left), names) if names else None


def answer_over_bridge(
    before: PartAnswer,
    rest: QuestionPart,
    names: Sequence[str],
    hits: Sequence[FoundPassage],
    weights: Mapping[str, float],
    question: str,
) -> PartAnswer:
    """The sentence about one of the names that answers what was left open; with the one before it is likelier.

    Source:
        docs/algorithm.md §answers.4

    """
    named = [NamedThing(name, frozenset(tokens(name)), _documents_of(name, set(), hits)) for name in names]
    ranked = ranked_sentences(rest, hits, named, weights, question)
    fitting = (s for s in ranked if any(name.terms <= s.terms | _title_terms(hits[s.place].title) for name in named))
    best = next(fitting, None)
    if best is None:
        return PartAnswer(rest, (), tuple(hits))
    if best.score < _LEAST_BRIDGED or before.features is None:
        return PartAnswer(rest, (best,), tuple(hits))
    score = 1 - (1 - before.features.score) * (1 - best.score)
    return PartAnswer(rest, (best,), tuple(hits), replace(before.features, score=score))


def groups_of(named: Sequence[NamedThing]) -> list[list[NamedThing]]:
    """Things that documents have in common, together; a thing of no document belongs to all groups.

    A question about two firms has two groups, each to be answered from its own documents.
    """
    groups: list[list[NamedThing]] = []
    for name in named:
        touching = [group for group in groups if any(name.documents & other.documents for other in group)]
        groups = [group for group in groups if group not in touching]
        if name.documents:
            groups.append([*(other for group in touching for other in group), name])
    return groups


def _about(
    group: list[NamedThing], named: Sequence[NamedThing], part: QuestionPart, hits: Sequence[FoundPassage]
) -> tuple[QuestionPart, list[FoundPassage], list[int], list[NamedThing]]:
    """A part as asked of one group: without the names of the others, and with the passages of its documents."""
    own = terms_of(group)
    others = terms_of(name for name in named if name.documents and name not in group)
    documents = frozenset().union(*(name.documents for name in group))
    places = [place for place, hit in enumerate(hits) if hit.document_id in documents]
    return replace(part, terms=part.terms - (others - own)), [hits[place] for place in places], places, group


def named_things(part: QuestionPart, keys: Sequence[Any], hits: Sequence[FoundPassage]) -> list[NamedThing]:
    """What a part names: keys that the search recognised, and capitalised names; each with its documents."""
    asked = normal_name(part.text)
    found: dict[str, set[tuple[str, str]]] = {}
    for key in keys:
        reason = getattr(key, "reason", "")
        name = normal_name(reason.removeprefix(_NAMED)) if reason.startswith(_NAMED) else ""
        if name and key.type not in _UNNAMED_TYPES and name in asked and _is_written_as_name(name, part.text):
            found.setdefault(name, set()).add((str(key.type), str(key.value)))
    for name in names_in(part.text, ()):
        if not any(name in other or other in name for other in found):
            found[name] = set()
    things = {name: _documents_of(name, own, hits) for name, own in found.items()}
    return [NamedThing(name, frozenset(tokens(name)), documents) for name, documents in things.items()]


def _is_written_as_name(name: str, question: str) -> bool:
    """Whether Latin words stand capitalised or with a digit in the question; anything where nothing is capitalised."""
    if is_cjk(name) or question == question.lower():
        return True
    wanted = set(name.split())
    written = [word for word in _NOT_IN_WORDS.split(question) if wanted & set(normal_name(word).split())]
    return any(word[:1].isupper() or any(map(str.isdigit, word)) for word in written)


def _documents_of(name: str, keys: set[tuple[str, str]], hits: Sequence[FoundPassage]) -> frozenset[str]:
    return frozenset(
        hit.document_id
        for hit in hits
        if any((str(key.type), str(key.value)) in keys for key in getattr(hit, "keys", ()))
        or name in normal_name(hit.title)
        or name in normal_name(hit.text)
        or f"@{name.replace(' ', '')}." in hit.text.lower()  # who writes from its address writes of it
    )


def terms_of(named: Iterable[NamedThing]) -> frozenset[str]:
    """The terms of all names."""
    return frozenset().union(*(name.terms for name in named))


def keys_of(hit: FoundPassage) -> list[tuple[str, str]]:
    """Type and value of the text keys of a passage; none where a search brings no keys."""
    return [(str(key.type), str(key.value)) for key in getattr(hit, "keys", ()) if isinstance(key.value, str)]


@lru_cache(maxsize=4096)
def _title_terms(title: str) -> frozenset[str]:
    return frozenset(tokens(title))


def _named_in_title(hits: Sequence[FoundPassage]) -> frozenset[str]:
    """Documents whose title holds a name, which a pronoun in their text may stand for."""
    keys = [key for hit in hits for key in keys_of(hit)]
    titles = {hit.document_id: hit.title for hit in hits}
    return frozenset(document for document, title in titles.items() if names_in(title, keys))


def extractive_answer(
    question: str, hits: Sequence[FoundPassage], *, weigh: TermWeights | None = None, limit: int = 3
) -> Cited | None:
    """The sentences of passages that answer a question, each with its citation; None where they do not.

    Source:
        docs/algorithm.md §answers.1

    """
    parts = question_parts(question) if hits else []
    answers = [answer_part(part, hits, weigh=weigh, question=question, limit=limit) for part in parts]
    return quotations(question, [answer for answer in answers if answer.is_found])


def quotations(question: str, answers: Sequence[PartAnswer], most: int | None = None) -> Cited | None:
    """The sentences of answers in reading order: documents as the answers have them, places within a document."""
    spans: dict[tuple[str, int, int], Quotation] = {}
    for answer in answers:
        for hit, start, end in _in_reading_order(answer):
            spans.setdefault((hit.document_id, hit.start + start, hit.start + end), (hit, start, end))
    return quoted(question, list(spans.values())[:most]) if spans else None


def _in_reading_order(answer: PartAnswer) -> list[Quotation]:
    """The best sentence, then the others: the document of the best one first, neighbouring ones by place."""
    taken = [(answer.hits[sentence.place], sentence.start, sentence.end) for sentence in answer.sentences]
    documents = list(dict.fromkeys(hit.document_id for hit, _, _ in taken))
    return taken[:1] + sorted(
        taken[1:], key=lambda each: (documents.index(each[0].document_id), each[0].start + each[1])
    )
