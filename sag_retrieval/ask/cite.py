"""Citations of a model's answer: only passages it was shown, each down to the sentence that speaks for it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.evidence import best_sentences, sentence_for
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.prompts import shown_numbers
from sag_retrieval.text.words import words

_MARKER = r"[\[【［]\d++(?:\s*+[,，、]\s*+\d++)*+[\]】］]"
_MARKERS = re.compile(rf"(?<!\s)\s*+{_MARKER}(?:\s*+{_MARKER})*")
_NUMBER = re.compile(r"\d+")
_MOST_DIGITS = 9
_VERDICTS = frozenset({"yes", "no", "true", "false", "是", "的", "否", "不", "对", "有", "没"})


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's text with markers from 1 on, what they point to, and the places of the cited hits."""

    text: str
    citations: tuple[Citation, ...]
    places: tuple[int, ...]
    is_generated: bool = False
    """Whether a model chose what is cited; else rules did, which rank no better than the search."""


def cite(question: str, text: str, numbers: Iterable[int], hits: Sequence[FoundPassage]) -> Cited:
    """The text with its markers renumbered in order of appearance, and their citations.

    Args:
        question: What was asked; with what the text says before a marker it chooses the quotation.
        text: The model's text, with markers such as `[2]` for the second hit, or without any.
        numbers: Numbers of hits the model says it used; those without a marker follow at the end.
        hits: What the model was shown, numbered from 1.

    Returns:
        Numbers that were not shown disappear, from the text too. With none left there are no citations.

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
    """Number of the hit that speaks most for an answer which cites nothing; none if no hit holds any of it.

    Yes and no stand in no passage: for them the question's own terms are looked for.
    """
    wanted = question if set(words(text)) <= _VERDICTS else text
    chosen = best_sentences(wanted, [hit.text for hit in hits], limit=1)
    return [sentence.place + 1 for sentence in chosen]


def _claims(text: str) -> dict[int, str]:
    """For each number in the text what is said before its markers, since the markers before."""
    claims: dict[int, list[str]] = {}
    start, said = 0, ""
    for found in _MARKERS.finditer(text):
        said = text[start : found.start()].strip(" .。,，;；") or said
        start = found.end()
        for number in _numbers(found[0]):
            claims.setdefault(number, []).append(said)
    return {number: " ".join(parts) for number, parts in claims.items()}


def _numbers(markers: str) -> list[int]:
    """The numbers in markers; one of more digits than any passage has is 0, which stands for none."""
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
    )
