"""Of sentences that answer equally well the one that was said last, or first where the question is about the past."""

from collections.abc import Sequence
from dataclasses import replace

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.sentences import Sentence
from sag_retrieval.language.spans import first_day, is_weak
from sag_retrieval.language.words import fold
from sag_retrieval.search.revised import asks_past

_EQUAL = 0.95
"""Share of the best sentence's coverage from which on another one answers as well."""


def newest_first(
    question: str, ranked: Sequence[Sentence], hits: Sequence[FoundPassage], names: frozenset[str]
) -> list[Sentence]:
    """Sentences, best first, in which of those that answer equally well the one that was said last comes first.

    For a question about the past it is the one that was said first. Rumours, proposals, quotations and drafts stand
    behind what is firm. Sentences that nobody knows a day of keep their place.

    Args:
        question: What is asked.
        ranked: Sentences, best first.
        hits: The passages that they stand in.
        names: Terms of the names of the question; who says as much of another thing answers another question.

    Source:
        docs/algorithm.md §answers.10

    """
    if not ranked:
        return list(ranked)
    best = ranked[0]
    equal = [s for s in ranked if s.focus >= _EQUAL * best.focus and s.coverage >= _EQUAL * best.coverage]
    equal = [s for s in equal if s.is_of_kind >= best.is_of_kind and s.terms & names >= best.terms & names]
    is_past = asks_past(question)
    firm = [s for s in equal if not is_weak(s.text, hits[s.place].title, hits[s.place].document_id, is_past=is_past)]
    dated = [(said, s) for s in firm if (said := _said(s, hits[s.place]))]
    if len({said for said, _ in dated}) > 1:
        day = (min if is_past else max)(first_day(said) for said, _ in dated)
        chosen = next(s for said, s in dated if first_day(said) == day)
    else:
        chosen = firm[0] if firm else best
    if chosen is best:
        return list(ranked)
    return [replace(chosen, score=best.score), *(s for s in ranked if s is not chosen)]


def _said(sentence: Sentence, hit: FoundPassage) -> str:
    """When a sentence of a passage was said: as its event, else as all events of the passage; empty: unknown."""
    events = [(fold(event.content), event.said or "") for event in getattr(hit, "events", ())]
    text = fold(sentence.text)
    own = {said for content, said in events if content in text or text in content} or {said for _, said in events}
    return next(iter(own)) if len(own) == 1 else ""
