"""Of sentences that answer equally well the one that was said last, or first where the question is about the past."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.question import QuestionPart
from sag_retrieval.ask.sentences import Sentence
from sag_retrieval.ask.values import STRICT
from sag_retrieval.language.spans import first_day, is_weak, subject_terms
from sag_retrieval.language.words import fold
from sag_retrieval.search.revised import HitRevision, asked_day, asks_past

_EQUAL = 0.95
"""Share of the best sentence's coverage from which on another one answers as well."""
_RETOLD = 0.8
"""Share of the best sentence's words that a later one holds for it to tell the same and what became of it."""
_MOST_BESIDE: Final = 8
"""Words beside those of the question in a sentence that tells a value and little else; Chinese pairs count the same."""
_FROM_QUESTION: Final = 0.5
"""Share of the question's terms that such a sentence holds at least."""


def newest_first(
    question: str, ranked: Sequence[Sentence], hits: Sequence[FoundPassage], names: frozenset[str]
) -> list[Sentence]:
    """Sentences, best first, in which of those that answer equally well the one that was said last comes first.

    For a question about the past it is the one that was said first; for one about a day, if no sentence names it, the
    last one by that day. Rumours, proposals, quotations and drafts stand behind what is firm. Sentences that nobody
    knows a day of keep their place; those without the `names` of the question answer another one.

    Source: docs/algorithm.md §answers.10.
    """
    if not ranked:
        return list(ranked)
    best, is_past = ranked[0], asks_past(question)
    equal = [*_equal(ranked, hits, names, is_past=is_past)]
    firm = [s for s in equal if not _is_weak(s, hits, is_past=is_past)]
    dated = [(first_day(said), s) for s in firm if (said := _said(s, hits))]
    if len({said for said, _ in dated}) > 1:
        wanted = _wanted_day(question, [said for said, _ in dated], [s.text for s in firm], is_past=is_past)
        chosen = next(s for said, s in dated if said == wanted)
    else:
        chosen = firm[0] if firm else best
    if chosen is best:
        return list(ranked)
    return [replace(chosen, score=best.score), *(s for s in ranked if s is not chosen)]


def _equal(
    ranked: Sequence[Sentence], hits: Sequence[FoundPassage], names: frozenset[str], *, is_past: bool
) -> Iterator[Sentence]:
    """Sentences that answer as well as the best one; of the present also later ones that tell all of it and more."""
    best, said = ranked[0], first_day(_said(ranked[0], hits) or "9999")
    for s in ranked:
        is_about = s.is_of_kind >= best.is_of_kind and s.terms & names >= best.terms & names
        is_equal = s.focus >= _EQUAL * best.focus and s.coverage >= _EQUAL * best.coverage
        is_retold = not is_past and len(s.terms & best.terms) >= _RETOLD * len(best.terms) < _RETOLD * len(s.terms)
        if is_about and (is_equal or (is_retold and first_day(_said(s, hits) or "0001") > said)):
            yield s


def _wanted_day(question: str, days: Sequence[str], texts: Sequence[str], *, is_past: bool) -> str:
    """Which of the days on which sentences were said is meant."""
    day = asked_day(question)
    before = [said for said in days if said <= day]
    if before and not any(day[:4] in text for text in texts):
        return max(before)
    return (min if is_past else max)(days)


def others_said(
    part: QuestionPart, ranked: Sequence[Sentence], hits: Sequence[FoundPassage]
) -> list[tuple[str, HitRevision]]:
    """What other documents say in place of the first of the sentences: another value for the same question.

    Two that were said on one day, or nobody knows when, contradict each other; else the later one updates the other.
    Each comes with the document of the first sentence.

    Source: docs/algorithm.md §answers.10.
    """
    best, told = ranked[0], dict[str, HitRevision]()
    hit, own, said = hits[best.place], _beside(best, part), _said(best, hits)
    if best.coverage < _FROM_QUESTION or not own or _is_weak(best, hits, is_past=True):
        return []
    for s in ranked[1:]:
        other, theirs, day = hits[s.place], _beside(s, part), _said(s, hits)
        is_other = (
            other.document_id != hit.document_id and bool(theirs) and not own & theirs and bool(day) == bool(said)
        )
        is_equal = s.is_of_kind and s.focus >= _EQUAL * best.focus and s.coverage >= _EQUAL * best.coverage
        is_told = day == said or (part.kind != "statement" and bool(day and said))  # what somebody likes may be much
        if not (is_told and is_other and is_equal) or _is_weak(s, hits, is_past=True) or s.text in told:
            continue
        told[s.text] = HitRevision(
            kind="updates" if day != said else "contradicts",
            own_value="",
            other_value="",
            event_id="",
            start=hit.start + best.start,
            end=hit.start + best.end,
            said=day,
            other_event_id="",
            document_id=other.document_id,
            chunk_id=other.chunk_id,
            title=other.title,
            quote=s.text,
            other_start=other.start + s.start,
            other_end=other.start + s.end,
            evidence="",
            confidence=0.0,
            own_said=said,
        )
    return [(hit.document_id, one) for one in told.values()]


def _beside(sentence: Sentence, part: QuestionPart) -> frozenset[str]:
    """What a sentence says beside the question: of numbers and days the digits; empty if it says much else."""
    words = subject_terms(sentence.text) - part.terms
    digits = frozenset(term for term in sentence.terms - part.terms if any(map(str.isdigit, term)))
    if len(words) > _MOST_BESIDE:
        return frozenset()
    return digits if part.kind in STRICT and part.kind != "name" else words | digits


def _said(sentence: Sentence, hits: Sequence[FoundPassage]) -> str:
    """When a sentence of a passage was said: as its event, else as all events of the passage; empty: unknown."""
    events = [(fold(event.content), event.said or "") for event in getattr(hits[sentence.place], "events", ())]
    text = fold(sentence.text)
    own = {said for content, said in events if content in text or text in content} or {said for _, said in events}
    return next(iter(own)) if len(own) == 1 else ""


def _is_weak(sentence: Sentence, hits: Sequence[FoundPassage], *, is_past: bool) -> bool:
    hit = hits[sentence.place]
    return is_weak(sentence.text, hit.title, hit.document_id, is_past=is_past)
