"""Answer one part of a question from found passages: what it names, which sentences answer, and how likely they do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sag_retrieval.ask.cited import Cited, quoted
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart, TermWeights, pool_weights, question_parts
from sag_retrieval.ask.revised import newest_first, others_said
from sag_retrieval.ask.scorer import AnswerScorer, Asked, by_features, ranked_sentences
from sag_retrieval.ask.sentences import LEAST_ANSWER, LEAST_CLOSEST, PartAnswer, Sentence, quotable_sentences
from sag_retrieval.ask.values import STRICT, names_in
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk, normal_name, tokens

_SIDE_SHARE = 0.5
"""Of the best probability, for a further sentence and for the best one of a further group."""
_NOT_IN_WORDS = patterns("all")["not_in_words"]
_NAMED = "named: "
_UNNAMED_TYPES = frozenset({"date", "day", "quantity", "money", "percentage", "topic"})

Quotation = tuple[FoundPassage, int, int]
"""A passage, and where a stretch of it begins and ends."""


@dataclass(frozen=True, slots=True)
class NamedThing:
    """A thing that the question names: its words, and the documents that are about it or mention it."""

    name: str
    terms: frozenset[str]
    documents: frozenset[str]


def answer_part(  # noqa: PLR0913  what is asked, where, and how it is measured
    part: QuestionPart,
    hits: Sequence[FoundPassage],
    *,
    keys: Sequence[Any] = (),
    weigh: TermWeights | None = None,
    question: str = "",
    limit: int = 3,
    scorer: AnswerScorer = by_features,
) -> PartAnswer:
    """The sentences of passages, best first, that answer a part.

    `keys` took part in the search: those that the part names decide which documents are about it. Without `weigh` the
    idf is that of the passages; values of the whole question are no answers. Source: docs/algorithm.md §answers.1.
    """
    weigh, asked = weigh or pool_weights([hit.text for hit in hits]), question or part.text
    named = named_things(part, keys, hits)
    pools = [quotable_sentences(place, hit.text, hit.title) for place, hit in enumerate(hits)]
    found: list[list[Sentence]] = []
    for group in groups_of(named) or [[]]:
        others = terms_of(name for name in named if name.documents and name not in group)
        own = replace(part, terms=part.terms - (others - terms_of(group)))  # without the names of other groups
        documents = frozenset().union(*(name.documents for name in group))
        of_group = [pool for pool, hit in zip(pools, hits, strict=True) if not group or hit.document_id in documents]
        wanted = Asked(own, asked, own.weights(weigh(own.terms)), weigh, terms_of(group))
        ranked = ranked_sentences(wanted, hits, of_group, scorer)
        found.append(newest_first(asked, ranked, hits, terms_of(named)))
    found.sort(key=lambda ranked: -ranked[0].score if ranked else 0.0)
    if not found[0]:
        return PartAnswer(part, (), tuple(hits))
    least = _SIDE_SHARE * found[0][0].score
    most = limit if len(found) == 1 else 2
    chosen = [
        s for ranked in found if ranked and ranked[0].score >= least for s in chosen_sentences(part, ranked, most)
    ]
    return PartAnswer(part, tuple(chosen), tuple(hits), tuple(others_said(part, found[0], hits)))


def chosen_sentences(part: QuestionPart, ranked: Sequence[Sentence], limit: int) -> list[Sentence]:
    """The best sentence, and those that answer as well; a name, day or number that is asked for stands alone.

    Source: docs/algorithm.md §answers.3.
    """
    best, chosen = ranked[0], list[Sentence]()
    is_one = part.kind in STRICT and not part.is_list and best.score >= LEAST_ANSWER
    least = max(LEAST_ANSWER, _SIDE_SHARE * best.score) if best.score >= LEAST_ANSWER else LEAST_CLOSEST
    for sentence in ranked[: 1 if is_one else None]:
        if len(chosen) == limit or (chosen and sentence.score < least):
            break
        beside = (other for other in chosen if other.place == sentence.place)
        overlaps = any(sentence.start < other.end and other.start < sentence.end for other in beside)
        if not overlaps and all(sentence.text != other.text for other in chosen):
            chosen.append(sentence)
    return chosen


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


def extractive_answer(
    question: str, hits: Sequence[FoundPassage], *, weigh: TermWeights | None = None, limit: int = 3
) -> Cited | None:
    """The sentences of passages that answer a question, each with its citation; None where they do not.

    Source: docs/algorithm.md §answers.1.
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
