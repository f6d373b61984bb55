"""Fast mode: search for each part of a question and quote the sentences that answer it, without a model."""

from collections.abc import Sequence
from dataclasses import asdict, replace

from sag_retrieval.ask.answer import CLOSEST_TO
from sag_retrieval.ask.cited import Cited, merge_answers
from sag_retrieval.ask.extract import keys_of
from sag_retrieval.ask.modes import ModeResult
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.part_answer import PartAnswer, answer_over_bridge, answer_part, open_part, quotations
from sag_retrieval.ask.passages import merge_hits
from sag_retrieval.ask.question import QuestionPart, pool_weights, question_parts
from sag_retrieval.ask.session import Session, documents_of
from sag_retrieval.ask.values import NAME_TYPES, is_known, names_in
from sag_retrieval.language.words import normal_name

_WIDER = 2
"""Passages that are read for each that the options ask for: an answer often stands below the first ten."""
_PARTS = 4
_NAMES = 3
_CLOSEST = 2
"""Closest sentences for a part without an answer."""


def ask_fast(session: Session) -> ModeResult:
    """The quotations that answer the parts of a question; else the closest ones, marked as such.

    Source:
        docs/algorithm.md §answers.1

    """
    answers: list[PartAnswer] = []
    parts = question_parts(session.question)[:_PARTS]
    for part in parts:
        answers.extend(_answered(session, part, answers, is_only=len(parts) == 1))
    found, is_close = [a for a in answers if a.is_found], any(a.is_close for a in answers)
    answered = {answer.part.text for answer in found}
    hits = merge_hits(*(answer.hits for answer in answers)) if answers else ()
    session.tell("background", documents=documents_of(hits), keys=[])
    trace = {"parts": [_told(answer) for answer in answers]}
    if not found:
        return ModeResult(None, hits, trace, quotations(session.question, answers if is_close else ()))
    cited = [quotations(session.question, found)]
    for part in parts:
        if part.text not in answered:
            session.note(f"no sentence clearly answers {part.text!r}")
            cited.append(_closest_to(session, [a for a in answers if a.part.text == part.text and a.is_close][:1]))
    return ModeResult(merge_answers(session.question, [each for each in cited if each]), hits, trace)


def _closest_to(session: Session, answers: Sequence[PartAnswer]) -> Cited | None:
    """The closest sentences for a part that has no answer where another part has one, with words that say so."""
    shown = [replace(answer, sentences=answer.sentences[:_CLOSEST]) for answer in answers]
    cited = quotations(session.question, shown)
    if cited is None:
        return None
    lead = CLOSEST_TO["zh" if session.language.startswith("zh") else "en"].format(asked=shown[0].part.text)
    return replace(cited, text=lead + cited.text)


def _answered(session: Session, part: QuestionPart, before: Sequence[PartAnswer], *, is_only: bool) -> list[PartAnswer]:
    """The answer to a part; where its best sentence leaves something open, the answer over a name in it comes first."""
    names = _names_of(before, session.question) if part.points_back else ()
    top_k = session.options.top_k * _WIDER
    result = session.find(" ".join([part.text, *names]), names, top_k=top_k)
    hits: tuple[FoundPassage, ...] = tuple(result.hits)
    if not is_only:
        hits = merge_hits((), hits, tuple(session.find(session.question, top_k=top_k).hits))
    weigh = session.weigh or pool_weights([hit.text for hit in hits])
    limit = session.options.sentences
    answer = answer_part(part, hits, keys=result.keys, weigh=weigh, question=session.question, limit=limit)
    left = open_part(answer, part.weights(weigh(part.terms)), session.question)
    if left is None:
        return [answer]
    rest, bridges = left
    further = session.find(" ".join([part.text, *bridges]), bridges, top_k=top_k)
    weights = part.weights(weigh(part.terms))
    over = answer_over_bridge(answer, rest, bridges, tuple(further.hits), weights, session.question)
    if over.is_found:
        answer = answer.found_by(over)
    is_better = over.is_found and over.sentences[0].score >= answer.sentences[0].score
    return [over, answer] if is_better else [answer, over]


def _names_of(answers: Sequence[PartAnswer], question: str) -> tuple[str, ...]:
    """New names in the sentences that answer the part before."""
    if not answers:
        return ()
    last, asked = answers[-1], normal_name(question)
    found = [
        name
        for sentence in last.sentences
        for name in sorted(names_in(sentence.text, keys_of(last.hits[sentence.place]), NAME_TYPES))
        if not is_known(name, asked)
    ]
    return tuple(dict.fromkeys(found))[:_NAMES]


def _told(answer: PartAnswer) -> dict[str, object]:
    """A part as the trace holds it."""
    return {
        "question": answer.part.text,
        "kind": answer.part.kind,
        "is_found": answer.is_found,
        "likelihood": answer.likelihood,
        "features": asdict(answer.features) if answer.features else None,
        "sentences": [
            {
                "chunk_id": answer.hits[sentence.place].chunk_id,
                "text": sentence.text,
                "score": sentence.score,
                "coverage": sentence.coverage,
                "focus": sentence.focus,
                "is_of_kind": sentence.is_of_kind,
            }
            for sentence in answer.sentences
        ],
    }
