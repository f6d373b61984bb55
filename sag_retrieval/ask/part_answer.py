"""Answer one part of a question from found passages: what it names, which documents count, what is an answer."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any, Final

from sag_retrieval.ask.cited import Cited, quoted
from sag_retrieval.ask.extract import (
    NamedThing,
    chosen_sentences,
    further_sentences,
    keys_of,
    ranked_sentences,
    terms_of,
    title_terms,
)
from sag_retrieval.ask.forms import has_form
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, TermWeights, pool_weights, question_parts, question_terms
from sag_retrieval.ask.quotable import Sentence
from sag_retrieval.ask.values import NAME_TYPES, PLACE_TYPES, STRICT, is_known, names_in
from sag_retrieval.language.words import is_cjk, normal_name, tokens

CONSTANT: Final = -0.80
WEIGHTS: Final = (3.06, -0.35, -0.65, 0.87)
"""Of the features in their order, as `benchmarks/refusals.py` at v0.2.0 fitted them."""
LEAST_ANSWER: Final = 0.5
"""A less likely sentence is shown as the closest one, not as the answer."""
LEAST_CLOSEST: Final = 0.3
"""A less likely one is not shown: on the questions for development none of them held the answer."""


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


def features_of(
    part: QuestionPart,
    best: Sentence,
    hit: FoundPassage,
    named: Sequence[NamedThing],
    weights: Mapping[str, float],
) -> Features:
    """The features of a part's best sentence, which stands in `hit`."""
    wanted = part.terms - terms_of(named)
    there = frozenset(tokens(hit.text)) | title_terms(hit.title)
    total = math.fsum(weights[term] for term in wanted)
    held = math.fsum(weights[term] for term in wanted if term in there or has_form(term, there))
    return Features(best.score, held / total if total else 0.0, float(bool(named)), float(part.kind == "comparison"))


def likelihood(features: Features) -> float:
    """How likely the sentence answers, from 0 to 1.

    Source:
        docs/algorithm.md §answers.5

    """
    values = astuple(features)
    return 1 / (1 + math.exp(-CONSTANT - sum(w * value for w, value in zip(WEIGHTS, values, strict=True))))


LEAST_GROUP = 0.5
"""Score of a group's best sentence as a share of the best of all; lower ones are left out."""
LEAST_OPEN = 0.3
LEAST_BRIDGED = 0.3
"""Score of a sentence over a bridge that makes the answer likelier."""
BRIDGES = 4
_OF = re.compile(r" of (?:the )?")
_NOT_IN_WORDS = re.compile(r"[^\w.'’&+-]+")
_NAMED = "named: "
_UNNAMED_TYPES = frozenset({"date", "day", "quantity", "money", "percentage", "topic"})

Quotation = tuple[FoundPassage, int, int]
"""A passage, and where a stretch of it begins and ends."""


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """What was found for a part of a question, best sentence first, and how likely that answers it."""

    part: QuestionPart
    sentences: tuple[Sentence, ...]
    hits: tuple[FoundPassage, ...]
    features: Features | None = None
    chosen: int = 0
    """How many of the sentences were chosen as an answer; the rest are the closest ones beside them."""

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
    found = [
        (hit_places, ranked_sentences(own, own_hits, group, weights, question or part.text))
        for own, own_hits, hit_places, group in groups or [(part, list(hits), list(range(len(hits))), [])]
    ]
    best = max((ranked[0].score for _, ranked in found if ranked), default=0.0)
    chosen: list[Sentence] = []
    for places, ranked in sorted(found, key=lambda each: -each[1][0].score if each[1] else 0.0):
        if ranked and ranked[0].score >= LEAST_GROUP * best:
            own = chosen_sentences(part, ranked, terms_of(named), weights, limit if len(found) == 1 else 2)
            chosen.extend(replace(sentence, place=places[sentence.place]) for sentence in own)
    if not chosen:
        return PartAnswer(part, (), tuple(hits))
    features = features_of(part, chosen[0], hits[chosen[0].place], named, weights)
    answer = PartAnswer(part, tuple(chosen), tuple(hits), features, len(chosen))
    if answer.is_found or len(chosen) >= limit:
        return answer
    rest = [replace(s, place=places[s.place]) for places, ranked in found for s in ranked]
    return replace(answer, sentences=(*chosen, *further_sentences(chosen, rest, limit - len(chosen))))


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
    left = frozenset(term for term in part.terms if term not in best.terms | title_terms(hit.title))
    total = math.fsum(weights[term] for term in part.terms) or 1.0
    if math.fsum(weights[term] for term in left) < LEAST_OPEN * total or not best.terms & part.terms:
        return None
    asked = normal_name(question)
    found = [name for name in names_in(best.text, keys_of(hit), NAME_TYPES | PLACE_TYPES) if not is_known(name, asked)]
    found += [part for name in found if " of " in name for part in _OF.split(name) if len(part) > 1]
    names = tuple(sorted(set(found), key=lambda name: (best.text.lower().find(name), name))[:BRIDGES])
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
    fitting = (s for s in ranked if any(name.terms <= s.terms | title_terms(hits[s.place].title) for name in named))
    best = next(fitting, None)
    if best is None:
        return PartAnswer(rest, (), tuple(hits))
    if best.score < LEAST_BRIDGED or before.features is None:
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
    own = frozenset().union(*(name.terms for name in group))
    others = frozenset().union(*(name.terms for name in named if name.documents and name not in group))
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
    for name in _begun_titles(part.text, hits):
        if not any(name in other or other in name for other in found):
            found[name] = set()
    things = {name: _documents_of(name, own, hits) for name, own in found.items()}
    return [NamedThing(name, frozenset(tokens(name)), documents) for name, documents in things.items()]


def _begun_titles(question: str, hits: Sequence[FoundPassage]) -> list[str]:
    """The beginnings of Chinese titles that a question holds and few titles have, the longest first.

    Chinese has no capitals: that `清源` begins the title `清源水务公告` shows that it names something.
    """
    titles = {normal_name(hit.title) for hit in hits}
    asked = normal_name(question)
    begun = {_common_start(title, asked) for title in titles}
    found = [name for name in begun if name and sum(title.startswith(name) for title in titles) <= len(titles) / 2]
    return sorted(found, key=lambda name: (-len(name), name))


def _common_start(title: str, asked: str) -> str:
    """The longest beginning of a title, of two Chinese characters or more, that a text holds; else nothing."""
    length = 0
    while length < len(title) and is_cjk(title[length]) and title[: length + 1] in asked:
        length += 1
    return title[:length] if length > 1 and question_terms(title[:length]) else ""


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
    )


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


def quotations(question: str, answers: Sequence[PartAnswer]) -> Cited | None:
    """The sentences of answers in reading order: documents as the answers have them, places within a document."""
    spans: dict[tuple[str, int, int], Quotation] = {}
    for answer in answers:
        for hit, start, end in in_reading_order(answer):
            spans.setdefault((hit.document_id, hit.start + start, hit.start + end), (hit, start, end))
    return quoted(question, list(spans.values())) if spans else None


def in_reading_order(answer: PartAnswer) -> list[Quotation]:
    """The sentences of an answer: neighbouring ones of a document by place, the document of the best one first."""
    taken = [(answer.hits[sentence.place], sentence.start, sentence.end) for sentence in answer.sentences]
    documents = list(dict.fromkeys(hit.document_id for hit, _, _ in taken))
    return taken[:1] + sorted(
        taken[1:], key=lambda each: (documents.index(each[0].document_id), each[0].start + each[1])
    )
