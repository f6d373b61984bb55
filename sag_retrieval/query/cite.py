"""Citations of a model's answer: only passages it was shown, each down to the sentence that speaks for it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sag_retrieval.prompts.passages import shown_numbers
from sag_retrieval.query.answer import Citation
from sag_retrieval.query.evidence import best_sentences
from sag_retrieval.query.protocols import Hit

_MARKER = r"[\[【［]\d+(?:\s*[,，、]\s*\d+)*[\]】］]"
_MARKERS = re.compile(rf"\s*{_MARKER}(?:\s*{_MARKER})*")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's text with markers from 1 on, what they point to, and the places of the cited hits."""

    text: str
    citations: tuple[Citation, ...]
    places: tuple[int, ...]
    is_written: bool = False
    """Whether a model chose what is cited; else rules did, which rank no better than the search."""


def cite(question: str, text: str, numbers: Iterable[int], hits: Sequence[Hit]) -> Cited:
    """The text with its markers renumbered in order of appearance, and their citations.

    Args:
        question: What was asked; with the text it chooses the sentence that is quoted.
        text: The model's text, with markers such as `[2]` for the second hit, or without any.
        numbers: Numbers of hits the model says it used; those without a marker follow at the end.
        hits: What the model was shown, numbered from 1.

    Returns:
        Numbers that were not shown disappear, from the text too. With none left there are no citations.

    Source:
        docs/algorithm.md §rag.4

    """
    written = [int(n) for found in _MARKERS.finditer(text) for n in _NUMBER.findall(found[0])]
    used = shown_numbers([*written, *numbers], len(hits))
    marker = {n: at for at, n in enumerate(used, start=1)}

    def renumber(found: re.Match[str]) -> str:
        kept = dict.fromkeys(marker[n] for n in map(int, _NUMBER.findall(found[0])) if n in marker)
        return (" " if found[0][0].isspace() and kept else "") + "".join(f"[{n}]" for n in kept)

    renumbered = _MARKERS.sub(renumber, text).strip()
    missing = "".join(f"[{marker[n]}]" for n in used if n not in written)
    full = f"{renumbered} {missing}".strip() if missing else renumbered
    quoted = f"{question} {_MARKERS.sub('', text)}"
    citations = tuple(_citation(marker[n], quoted, hits[n - 1]) for n in used)
    return Cited(full, citations, tuple(n - 1 for n in used), is_written=True)


def support(text: str, hits: Sequence[Hit]) -> list[int]:
    """Number of the hit that holds most words of an answer which cites nothing; none if no hit holds any."""
    chosen = best_sentences(text, [hit.text for hit in hits], limit=1)
    return [sentence.place + 1 for sentence in chosen]


def _citation(marker: int, wanted: str, hit: Hit) -> Citation:
    chosen = best_sentences(wanted, [hit.text], limit=1)
    start, end = (chosen[0].start, chosen[0].end) if chosen else (0, len(hit.text))
    return Citation(
        marker,
        hit.chunk_id,
        hit.document_id,
        hit.title,
        hit.start + start,
        hit.start + end,
        hit.text[start:end],
    )
