"""Cited answers: written by a model, composed of sentences of the passages, or joined from the answers to parts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.evidence import ScoredSentence, best_sentences, coverage, sentence_for
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.session import Session
from sag_retrieval.core.errors import ModelError
from sag_retrieval.prompts import numbered, shown_numbers
from sag_retrieval.text.places import place_name
from sag_retrieval.text.words import is_cjk, words

_MARKER = r"[\[【［]\d++(?:\s*+[,，、]\s*+\d++)*+[\]】］]"
_MARKERS = re.compile(rf"(?<!\s)\s*+{_MARKER}(?:\s*+{_MARKER})*")
_NUMBER = re.compile(r"\d+")
_MOST_DIGITS = 9
_VERDICTS = frozenset({"yes", "no", "true", "false", "是", "的", "否", "不", "对", "有", "没"})


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's text with markers from 1 on, their citations, and the indices of the cited hits."""

    text: str
    citations: tuple[Citation, ...]
    places: tuple[int, ...]
    is_generated: bool = False
    """Whether a model chose the citations; else rules did, which rank no better than the search."""


def cite(question: str, text: str, numbers: Iterable[int], hits: Sequence[FoundPassage]) -> Cited:
    """The text with its markers renumbered in order of appearance, and their citations.

    Args:
        question: What was asked; together with the text before a marker it selects the quotation.
        text: The model's text, with markers such as `[2]` for the second hit, or without any.
        numbers: Numbers of the hits that the model used; those without a marker follow at the end.
        hits: The passages the model received, numbered from 1.

    Returns:
        Numbers the model did not receive are removed, from the text too. With none left there are no citations.

    Source:
        docs/algorithm.md §rag.4

    """
    written = [n for found in _MARKERS.finditer(text) for n in _numbers(found[0])]
    used = shown_numbers([*written, *numbers], len(hits))
    marker = {n: at for at, n in enumerate(used, start=1)}

    def renumber(found: re.Match[str]) -> str:
        kept = dict.fromkeys(marker[n] for n in _numbers(found[0]) if n in marker)
        return (" " if found[0][0].isspace() and kept else "") + "".join(f"[{n}]" for n in kept)

    renumbered = _MARKERS.sub(renumber, text).strip()
    missing = "".join(f"[{marker[n]}]" for n in used if n not in written)
    full = f"{renumbered} {missing}".strip() if missing else renumbered
    claims = _claims(text)
    citations = tuple(_citation(marker[n], claims.get(n, text), question, hits[n - 1]) for n in used)
    return Cited(full, citations, tuple(n - 1 for n in used), is_generated=True)


def support(question: str, text: str, hits: Sequence[FoundPassage]) -> list[int]:
    """Number of the hit that best supports an answer without citations; none if no hit holds any of it.

    Passages do not contain a yes or no: for those answers the question's terms are searched for.
    """
    wanted = question if set(words(text)) <= _VERDICTS else text
    chosen = best_sentences(wanted, [hit.text for hit in hits], limit=1)
    return [sentence.place + 1 for sentence in chosen]


def _claims(text: str) -> dict[int, str]:
    """For each number in the text: the words between its markers and the markers before."""
    claims: dict[int, list[str]] = {}
    start, said = 0, ""
    for found in _MARKERS.finditer(text):
        said = text[start : found.start()].strip(" .。,，;；") or said
        start = found.end()
        for number in _numbers(found[0]):
            claims.setdefault(number, []).append(said)
    return {number: " ".join(parts) for number, parts in claims.items()}


def _numbers(markers: str) -> list[int]:
    """The numbers in markers; a number with too many digits becomes 0, which no passage has."""
    return [int(digits) if len(digits) <= _MOST_DIGITS else 0 for digits in _NUMBER.findall(markers)]


def _citation(marker: int, claim: str, question: str, hit: FoundPassage) -> Citation:
    start, end = sentence_for(claim, question, hit.text)
    return Citation(
        marker,
        hit.chunk_id,
        hit.document_id,
        hit.title,
        hit.start + start,
        hit.start + end,
        hit.text[start:end],
        place_name(getattr(hit, "places", ()), hit.start + start, hit.start + end),
    )


LEAST_COVERAGE = 0.5
"""Share of the question's terms that the sentences with their titles must hold to count as an answer."""

LEAST_GAIN = 0.3
"""Least gain of a sentence as a share of the best one's; sentences with less are left out."""


def extractive_answer(
    question: str, hits: Sequence[FoundPassage], *, limit: int = 3, budget: int = 600
) -> Cited | None:
    """The best sentences in order of their hits, each with its citation; None where they cover too little.

    Source:
        docs/algorithm.md §rag.1

    """
    titles = [hit.title for hit in hits]
    found = best_sentences(question, [hit.text for hit in hits], titles=titles, limit=limit, budget=budget)
    chosen = [sentence for sentence in found if sentence.score >= LEAST_GAIN * found[0].score]
    if coverage(question, chosen, [titles[s.place] for s in chosen]) < LEAST_COVERAGE:
        return None
    citations = tuple(_quoted(n, sentence, hits[sentence.place]) for n, sentence in enumerate(chosen, start=1))
    joint = "" if is_cjk(question) else " "
    text = joint.join(f"{_one_line(s.text)}{joint}[{n}]" for n, s in enumerate(chosen, start=1))
    return Cited(text, citations, tuple(dict.fromkeys(s.place for s in chosen)))


def _quoted(marker: int, sentence: ScoredSentence, hit: FoundPassage) -> Citation:
    start, end = hit.start + sentence.start, hit.start + sentence.end
    place = place_name(getattr(hit, "places", ()), start, end)
    return Citation(marker, hit.chunk_id, hit.document_id, hit.title, start, end, sentence.text, place)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_ONE_MARKER = re.compile(r"\[(\d+)\]")
_MARKER_AND_GAP = re.compile(r"(?<!\s)\s*+\[\d++\]")


def merge_answers(question: str, parts: Sequence[Cited]) -> Cited | None:
    """The texts one after the other; a span that is cited twice keeps one marker. None without parts."""
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
        texts.append(_ONE_MARKER.sub(partial(_renumbered, marker), part.text))
    joint = "；" if is_cjk(question) else "; "
    is_written = all(part.is_generated for part in parts)
    return Cited(joint.join(dict.fromkeys(texts)), tuple(citations.values()), (), is_written)


def without_markers(text: str) -> str:
    """The text without its citation markers."""
    return _MARKER_AND_GAP.sub("", text)


def _renumbered(marker: Mapping[str, int], found: re.Match[str]) -> str:
    return f"[{marker.get(found[1], found[1])}]"


EVIDENCE_CHARACTERS = 24_000
"""Most characters of passages in one prompt."""


class ModelAnswer(BaseModel):
    """The model's answer to a question or a sub-question, and the numbers of the passages that support it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    is_found: bool = Field(description="whether the evidence holds the answer")
    answer: str = Field(description="the answer; empty if it is not in the evidence")
    cited: list[int] = Field(default_factory=list, description="numbers of the evidence lines used")


def write_answer(
    session: Session, hits: Sequence[FoundPassage], known: str = "", instead: Callable[[], Cited | None] | None = None
) -> Cited | None:
    """The cited answer to the session's question; None where the evidence does not hold it.

    Args:
        session: The question being answered.
        hits: Passages, best first; the model receives at most `evidence` of them.
        known: Earlier answers as the prompt shows them.
        instead: The answer where no model can be used; by default the best sentences.

    """
    shown = shown_hits(hits[: session.options.evidence])
    extract = instead or (lambda: extract_answer(session, shown))
    if session.chat is None or not shown:
        return extract()
    try:
        reply = session.ask("answer", ModelAnswer, evidence_values(session.question, shown, known), is_last=True)
    except ModelError as error:
        session.note(f"the answer was made without the model: {error}")
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
        session.note(f"an answer to {question!r} is supported by no passage: left out")
        return None
    return cite(question, reply.answer, numbers, shown)


def evidence_values(question: str, shown: Sequence[FoundPassage], known: str) -> dict[str, object]:
    """Values of the prompts `answer` and `sub_answer`."""
    evidence = numbered([hit.text for hit in shown], [hit.title for hit in shown])
    return {"evidence": evidence, "known": known or "-", "question": question}


def shown_hits(hits: Iterable[FoundPassage]) -> list[FoundPassage]:
    """The first hits whose texts fit into a prompt together; the first one always."""
    shown: list[FoundPassage] = []
    used = 0
    for hit in hits:
        used += len(hit.text)
        if shown and used > EVIDENCE_CHARACTERS:
            break
        shown.append(hit)
    return shown
