"""Passages as a model is shown them: a line each, with what stands around it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sag_retrieval.ask.options import FoundPassage
from sag_retrieval.ask.passages import chunks_of, document_row
from sag_retrieval.language.sentences import sentence_spans
from sag_retrieval.language.words import normal_name, tokens
from sag_retrieval.notebook import key_text, shown_keys
from sag_retrieval.release.arrays import Index

_LOOKED_AT: Final = 600
"""Characters before a passage in which its preceding sentence is looked for."""
_LONGEST_BEFORE: Final = 240
_EVENTS: Final = 4
_LONGEST_EVENT: Final = 200
_KEYS: Final = 6
_SAID: Final = 0.8
"""An event of whose words the passage holds this share is left out: it says nothing more."""


def evidence_lines(index: Index, hits: Sequence[FoundPassage]) -> Iterator[dict[str, object]]:
    """A line of evidence for each passage, numbered from 1; what is empty or already said is left out.

    Source:
        docs/algorithm.md §rag.8

    """
    shown = {chunk for hit in hits for chunk in chunks_of(hit)}
    for number, hit in enumerate(hits, start=1):
        row = _first_row(index, hit)
        found = {
            "title": hit.title,
            "heading": _heading(index, row, hit),
            "date": _date(index, row),
            "place": getattr(hit, "place", ""),
            "before": _before(index, row, hit, shown),
            "text": hit.text,
            "events": _events(hit),
            "keys": _keys(hit),
        }
        yield {"n": number} | {name: value for name, value in found.items() if value}


def _first_row(index: Index, hit: FoundPassage) -> int:
    """The row of the chunk in which a passage starts."""
    document = document_row(index, hit.document_id)
    first, last = index.arrays.document_chunks[document : document + 2].tolist()
    starts = index.rows["chunks"]["start"].slice(first, last - first).to_pylist()
    return int(first) + max((place for place, start in enumerate(starts) if start <= hit.start), default=0)


def _heading(index: Index, row: int, hit: FoundPassage) -> str:
    heading = str(index.rows["chunks"]["heading"][row].as_py() or "")
    folded = normal_name(heading)
    is_said = not folded or folded in normal_name(hit.title) or folded in normal_name(hit.text[: 2 * len(heading)])
    return "" if is_said else heading


def _date(index: Index, row: int) -> str:
    """The date that its events inherit from the document; dates of the text itself stand there."""
    first, last = index.arrays.chunk_events[row : row + 2].tolist()
    events = index.rows["events"].select(["date", "date_source"]).slice(first, last - first).to_pylist()
    return next((event["date"] for event in events if event["date"] and event["date_source"] != "text"), "")


def _before(index: Index, row: int, hit: FoundPassage, shown: set[str]) -> str:
    """The sentence before a passage that starts inside its section, unless the chunk with it is shown."""
    chunks = index.rows["chunks"]
    if not row or chunks["section_id"][row].as_py() != chunks["section_id"][row - 1].as_py():
        return ""
    if chunks["chunk_id"][row - 1].as_py() in shown:
        return ""
    document = document_row(index, hit.document_id)
    text = index.rows["documents"]["text"][document].as_py()[max(0, hit.start - _LOOKED_AT) : hit.start]
    spans = [text[start:end].strip() for start, end in sentence_spans(text)]
    last = next((sentence for sentence in reversed(spans) if sentence), "")
    return last if len(last) <= _LONGEST_BEFORE else "…" + last[1 - _LONGEST_BEFORE :]


def _events(hit: FoundPassage) -> list[str]:
    """The events that say more than the words of the passage, as those a model has written with full names."""
    held = set(tokens(f"{hit.title} {hit.text}"))
    found: list[str] = []
    for event in getattr(hit, "events", ()):
        terms = set(tokens(event.content))
        if terms and len(terms & held) < _SAID * len(terms):
            found.append(event.content[:_LONGEST_EVENT])
    return found[:_EVENTS]


def _keys(hit: FoundPassage) -> dict[str, list[str]]:
    """Keys by type, those first that the passage does not spell so: numbers and dates, read from its words."""
    folded = normal_name(hit.text)
    listed = [(key, key_text(key.value, key.unit, key.type)) for key in shown_keys(getattr(hit, "keys", ()), hit.title)]
    ordered = sorted(listed, key=lambda each: normal_name(each[1]) in folded)
    found: dict[str, list[Any]] = {}
    for key, text in ordered[:_KEYS]:
        found.setdefault(key.type, []).append(text)
    return found
