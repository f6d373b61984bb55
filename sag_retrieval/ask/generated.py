"""Cited answers: written by a model, put together from sentences, or joined from the answers of parts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.cited import Cited, cite, support
from sag_retrieval.ask.evidence import ScoredSentence, best_sentences, coverage
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.session import Session
from sag_retrieval.core.errors import ModelError
from sag_retrieval.prompts import numbered
from sag_retrieval.text.words import is_cjk

LEAST_COVERAGE = 0.5
"""Share of the question's terms that the sentences with their titles must hold to count as an answer."""

LEAST_GAIN = 0.3
"""Gain of a sentence beside that of the best one; what adds less is left out."""


def extractive_answer(
    question: str, hits: Sequence[FoundPassage], *, limit: int = 3, budget: int = 600
) -> Cited | None:
    """The best sentences in order of their hits, each with its citation; None where they say too little.

    Source:
        docs/algorithm.md §rag.1

    """
    titles = [hit.title for hit in hits]
    found = best_sentences(question, [hit.text for hit in hits], titles=titles, limit=limit, budget=budget)
    chosen = [sentence for sentence in found if sentence.score >= LEAST_GAIN * found[0].score]
    if coverage(question, chosen, [titles[s.place] for s in chosen]) < LEAST_COVERAGE:
        return None
    citations = tuple(_citation(n, sentence, hits[sentence.place]) for n, sentence in enumerate(chosen, start=1))
    joint = "" if is_cjk(question) else " "
    text = joint.join(f"{_one_line(s.text)}{joint}[{n}]" for n, s in enumerate(chosen, start=1))
    return Cited(text, citations, tuple(dict.fromkeys(s.place for s in chosen)))


def _citation(marker: int, sentence: ScoredSentence, hit: FoundPassage) -> Citation:
    start, end = hit.start + sentence.start, hit.start + sentence.end
    return Citation(marker, hit.chunk_id, hit.document_id, hit.title, start, end, sentence.text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_MARKER = re.compile(r"\[(\d+)\]")
_MARKER_AND_GAP = re.compile(r"(?<!\s)\s*+\[\d++\]")


def merge_answers(question: str, parts: Sequence[Cited]) -> Cited | None:
    """The texts one after the other; a place that is cited twice keeps one marker. None without parts."""
    if not parts:
        return None
    citations: dict[tuple[str, int, int], Citation] = {}
    texts: list[str] = []
    for part in parts:
        marker: dict[str, int] = {}
        for citation in part.citations:
            place = (citation.chunk_id, citation.start, citation.end)
            kept = citations.setdefault(place, replace(citation, marker=len(citations) + 1))
            marker[str(citation.marker)] = kept.marker
        texts.append(_MARKER.sub(partial(_renumbered, marker), part.text))
    joint = "；" if is_cjk(question) else "; "
    is_written = all(part.is_generated for part in parts)
    return Cited(joint.join(dict.fromkeys(texts)), tuple(citations.values()), (), is_written)


def without_markers(text: str) -> str:
    """The text as it reads without its citations."""
    return _MARKER_AND_GAP.sub("", text)


def _renumbered(marker: Mapping[str, int], found: re.Match[str]) -> str:
    return f"[{marker.get(found[1], found[1])}]"


EVIDENCE_CHARACTERS = 24_000
"""Most characters of passages in one prompt."""


class ModelAnswer(BaseModel):
    """The model's answer to a question or a sub-question, and the numbers of the passages it rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_found: bool = Field(description="whether the evidence holds the answer")
    answer: str = Field(description="the answer; empty if it is not in the evidence")
    cited: list[int] = Field(default_factory=list, description="numbers of the evidence lines used")


def write_answer(
    session: Session, hits: Sequence[FoundPassage], known: str = "", instead: Callable[[], Cited | None] | None = None
) -> Cited | None:
    """The cited answer to the session's question; None where the evidence does not hold it.

    Args:
        session: The asking.
        hits: Passages, best first; as many are shown as the options allow.
        known: Earlier answers as the prompt shows them.
        instead: What answers when no model can; by default the best sentences.

    """
    shown = shown_hits(hits[: session.options.evidence])
    extract = instead or (lambda: extract_answer(session, shown))
    if session.chat is None or not shown:
        return extract()
    try:
        reply = session.ask("answer", ModelAnswer, evidence_values(session.question, shown, known), is_last=True)
    except ModelError as error:
        session.note(f"the answer was put together without the model: {error}")
        return extract()
    return cited_answer(session, session.question, reply, shown)


def extract_answer(session: Session, hits: Sequence[FoundPassage]) -> Cited | None:
    """The best sentences for the session's question."""
    return extractive_answer(session.question, hits, limit=session.options.sentences)


def cited_answer(session: Session, question: str, reply: ModelAnswer, shown: Sequence[FoundPassage]) -> Cited | None:
    """The model's answer with its citations; None if it found nothing, or no passage holds any of it."""
    if not reply.is_found or not reply.answer.strip():
        return None
    cited = cite(question, reply.answer, reply.cited, shown)
    if cited.citations:
        return cited
    numbers = support(question, reply.answer, shown)
    if not numbers:
        session.note(f"an answer to {question!r} rests on no passage: left out")
        return None
    return cite(question, reply.answer, numbers, shown)


def evidence_values(question: str, shown: Sequence[FoundPassage], known: str) -> dict[str, object]:
    """Values of the prompts `answer` and `sub_answer`."""
    evidence = numbered([hit.text for hit in shown], [hit.title for hit in shown])
    return {"evidence": evidence, "known": known or "-", "question": question}


def shown_hits(hits: Iterable[FoundPassage]) -> list[FoundPassage]:
    """The first hits whose texts fit into a prompt together; the first in any case."""
    shown: list[FoundPassage] = []
    used = 0
    for hit in hits:
        used += len(hit.text)
        if shown and used > EVIDENCE_CHARACTERS:
            break
        shown.append(hit)
    return shown
