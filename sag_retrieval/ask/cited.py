"""Cited texts: a model's answer with its citations checked, quotations, and answers to parts joined."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sag_retrieval.ask.answer import Citation
from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.passages import chunk_at
from sag_retrieval.ask.sentences import best_sentences, sentences_for
from sag_retrieval.language.data import patterns
from sag_retrieval.language.layout import Line, LineKind, logical_lines
from sag_retrieval.language.places import place_name
from sag_retrieval.language.words import is_cjk, words
from sag_retrieval.notebook import snippet
from sag_retrieval.prompts import shown_numbers
from sag_retrieval.statements.form import refers_back

_MARKER = r"[\[【［]\d++(?:\s*+[,，、]\s*+\d++)*+[\]】］]"
_MARKERS = re.compile(rf"(?<!\s)\s*+{_MARKER}(?:\s*+{_MARKER})*")
_NUMBER = re.compile(r"\d+")
_MOST_DIGITS = 9
_SPEAKER = patterns("all")["speaker_label"]
"""Who speaks, before a colon at the beginning of a line, perhaps after a time in brackets."""
_VERDICTS = frozenset({"yes", "no", "true", "false", "是", "的", "否", "不", "对", "有", "没"})


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's text with markers from 1 on, and their citations."""

    text: str
    citations: tuple[Citation, ...]
    is_generated: bool = False
    """Whether a model chose the citations; else rules did, which rank no better than the search."""


def cite(question: str, text: str, numbers: Iterable[int], hits: Sequence[FoundPassage]) -> Cited:
    """The text with its markers renumbered in order of appearance, and their citations; none where none is left.

    `numbers` are those of hits that the model used, from 1; those without a marker in the text follow at the end,
    those that it did not receive go. Question and text before a marker choose the quotation.

    Source: docs/algorithm.md §rag.4.
    """
    written = [n for found in _MARKERS.finditer(text) for n in _numbers(found[0])]
    used = shown_numbers([*written, *numbers], len(hits))
    marker: dict[tuple[int, int, int], int] = {}

    def marked(n: int, claim: str) -> list[int]:
        spans = sentences_for(claim, question, hits[n - 1].text)
        return [marker.setdefault((n, *span), len(marker) + 1) for span in spans]

    parts, start, said = list[str](), 0, ""
    for found in _MARKERS.finditer(text):
        said = text[start : found.start()].strip(" .。,，;；") or said
        kept = dict.fromkeys(one for n in _numbers(found[0]) if n in used for one in marked(n, said))
        parts += [text[start : found.start()], " " if found[0][0].isspace() and kept else "", _markers(kept)]
        start = found.end()
    renumbered = "".join([*parts, text[start:]]).strip()
    missing = _markers(dict.fromkeys(one for n in used if n not in written for one in marked(n, text)))
    full = f"{renumbered} {missing}".strip() if missing else renumbered
    citations = tuple(quotation(at, hits[n - 1], *span) for (n, *span), at in marker.items())
    return Cited(full, citations, is_generated=True)


def _markers(numbers: Iterable[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


def support(question: str, text: str, hits: Sequence[FoundPassage]) -> list[int]:
    """Number of the hit that best supports an answer without citations; none if no hit holds any of it.

    Passages do not contain a yes or no: for those answers the question's terms are searched for.
    """
    wanted = question if set(words(text)) <= _VERDICTS else text
    chosen = best_sentences(wanted, [hit.text for hit in hits], limit=1)
    return [sentence.place + 1 for sentence in chosen]


def _numbers(markers: str) -> list[int]:
    """The numbers in markers; a number with too many digits becomes 0, which no passage has."""
    return [int(digits) if len(digits) <= _MOST_DIGITS else 0 for digits in _NUMBER.findall(markers)]


def quotation(marker: int, hit: FoundPassage, start: int, end: int) -> Citation:
    """The citation of a stretch of a passage."""
    return Citation(
        marker,
        chunk_at(hit, hit.start + start),
        hit.document_id,
        hit.title,
        hit.start + start,
        hit.start + end,
        hit.text[start:end],
        place_name(getattr(hit, "places", ()), hit.start + start, hit.start + end),
    )


def quoted(question: str, spans: Sequence[tuple[FoundPassage, int, int]]) -> Cited:
    """Stretches of passages, each with its citation, and before it what its sense hangs on."""
    citations = tuple(quotation(n, *span) for n, span in enumerate(spans, start=1))
    joint = "" if is_cjk(question) else " "
    text = joint.join(
        f"{_in_context(*span)}{joint}[{citation.marker}]" for span, citation in zip(spans, citations, strict=True)
    )
    return Cited(text, citations)


def _in_context(hit: FoundPassage, start: int, end: int) -> str:
    """A quotation with what it hangs on: the header cells of a row, else its speaker, else the title if it refers back.

    Only what the passage itself holds is known: a table whose head stands in another passage stays as it is.
    """
    quote = snippet(hit.text[start:end])
    lines = logical_lines(hit.text)
    at = next((number for number, line in enumerate(lines) if line.start <= start < line.end), -1)
    if at >= 0 and lines[at].kind is LineKind.ROW and end <= lines[at].end:
        return _row(hit.text, lines, at) or quote
    speaker = _SPEAKER.match(hit.text, lines[at].start, start) if at >= 0 else None
    title = hit.title if refers_back(quote) else ""
    before = speaker[1] if speaker and lines[at].start < start else title
    return f"{before}{'：' if is_cjk(before) else ': '}{quote}" if before else quote


def _row(text: str, lines: Sequence[Line], at: int) -> str:
    """The cells of a row with the names of their columns; empty where the passage has no head for it."""
    first = at
    while first > 0 and lines[first].kind in (LineKind.ROW, LineKind.RULE):
        if lines[first].kind is LineKind.RULE and lines[first - 1].kind is LineKind.ROW:
            rows = (text[lines[each].start : lines[each].end].strip().strip("|") for each in (first - 1, at))
            names, cells = ([cell.strip() for cell in row.split("|")] for row in rows)
            pairs = zip(names, cells, strict=False)
            return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
        first -= 1
    return ""


_ONE_MARKER = re.compile(r"\[(\d+)\]")


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
    return Cited(joint.join(dict.fromkeys(texts)), tuple(citations.values()), is_written)


def without_markers(text: str) -> str:
    """The text without its citation markers, in any form that models write them.

    Example:
        >>> without_markers("It opened in 1931 [2], says the log【1，3】.")
        'It opened in 1931, says the log.'
    """
    return _MARKERS.sub("", text)


def _renumbered(marker: Mapping[str, int], found: re.Match[str]) -> str:
    return f"[{marker.get(found[1], found[1])}]"
