"""Statements with citations: numbered in reading order, passages cut to the cited sentences."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

from sag_retrieval.ask.sentences import sentences_for
from sag_retrieval.clusters.events import EventTable
from sag_retrieval.language.data import patterns

_AROUND = 80
_WORD_END = patterns("all")["word_end"]


@dataclass(frozen=True, slots=True)
class Reference:
    """A citation before it has a number: the cited event's row and the name of the citing place."""

    row: int
    place: str


@dataclass(frozen=True, slots=True)
class Cite:
    """One numbered citation: its source, the mark in the source, and its own number in the page."""

    source: int
    mark: int
    reference: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence and the events that it cites; `cites` is empty until the finished report is numbered."""

    text: str
    references: tuple[Reference, ...] = ()
    cites: tuple[Cite, ...] = ()
    date: str = ""
    row: int = -1
    """Row of the event; -1 for a sentence of a summary."""
    is_new: bool = False
    lang: str = ""
    """Set where it is in another language than the page."""
    revised: str = ""
    """What a later statement says in place of it."""

    @property
    def notes(self) -> list[int]:
        """Numbers of the cited passages, each once."""
        return list(dict.fromkeys(cite.source for cite in self.cites))


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of a passage; `marks` begin here; text that belongs to no cited sentence is not `cited`."""

    text: str
    marks: tuple[int, ...] = ()
    cited: bool = False


@dataclass(frozen=True, slots=True)
class Citing:
    """A place that cites a source: its reference number, and what to call it."""

    reference: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """A cited passage."""

    number: int
    title: str
    document_id: str
    chunk_id: str
    language: str
    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    approximate: bool
    cited_by: tuple[Citing, ...]
    place: str = ""
    """Page, slide or sheet; empty where the file has none."""

    @property
    def cited_text(self) -> str:
        """The cited sentences."""
        return " … ".join(piece.text for piece in self.pieces if piece.cited)


def number_statements(value: Any, cite: Callable[[Reference], Cite]) -> Any:  # noqa: ANN401  content of any section
    """The same content with every reference numbered, walked in the order of fields and items.

    Content consists of dataclasses, tuples, lists, mappings and plain values; other values are returned unchanged.
    """
    if isinstance(value, Statement):
        return replace(value, cites=tuple(cite(each) for each in value.references))
    if isinstance(value, tuple | list):
        return type(value)([number_statements(each, cite) for each in value])
    if isinstance(value, Mapping):
        return {name: number_statements(each, cite) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        numbered = {name: number_statements(part, cite) for name, part in parts.items()}
        return replace(value, **numbered)
    return value


class Citations:
    """Numbers passages, marks and citations in the order in which `cite` is called."""

    def __init__(self, events: EventTable) -> None:
        """Start without any citation."""
        self._events = events
        self._numbers: dict[int, int] = {}
        self._marks: defaultdict[int, dict[tuple[int, int], int]] = defaultdict(dict)
        self._citing: defaultdict[int, list[Citing]] = defaultdict(list)
        self._spans: dict[int, tuple[list[tuple[int, int]], bool]] = {}
        self._approximate: set[int] = set()
        self.count = 0

    def cite(self, reference: Reference) -> Cite:
        """The next citation: of the passage that holds the event."""
        row = reference.row
        chunk = int(self._events.chunk[row])
        number = self._numbers.setdefault(chunk, len(self._numbers) + 1)
        spans, approximate = self.spans(row)
        marks = self._marks[chunk]
        mark, *_ = (marks.setdefault(span, len(marks) + 1) for span in spans)
        self.count += 1
        name = " · ".join(filter(None, (reference.place, self._events.dates[row])))
        self._citing[chunk].append(Citing(self.count, name))
        if approximate:
            self._approximate.add(chunk)
        return Cite(number, mark, self.count)

    def spans(self, row: int) -> tuple[list[tuple[int, int]], bool]:
        """Spans of the event in its chunk's text, the best first, and whether these are sentences that support it."""
        if row not in self._spans:
            text = self._events.chunks.texts[int(self._events.chunk[row])]
            start, end = (int(place) for place in self._events.spans[row])
            is_known = 0 <= start < end <= len(text)
            found = [(start, end)] if is_known else sentences_for(self._events.contents[row], "", text)
            self._spans[row] = found, not is_known
        return self._spans[row]

    @property
    def numbers(self) -> dict[str, int]:
        """Number of each cited passage by chunk id."""
        return {self._events.chunks.chunk_ids[chunk]: number for chunk, number in self._numbers.items()}

    def sources(self) -> tuple[CitedSource, ...]:
        """The cited passages by number."""
        events, found = self._events, []
        for chunk, number in self._numbers.items():
            document = int(events.chunks.document[chunk])
            marks = self._marks[chunk]
            found.append(
                CitedSource(
                    number=number,
                    title=events.documents.titles[document],
                    document_id=events.documents.document_ids[document],
                    chunk_id=events.chunks.chunk_ids[chunk],
                    language=events.documents.languages[document],
                    pieces=tuple(cut(events.chunks.texts[chunk], marks)),
                    spans=tuple(marks),
                    approximate=chunk in self._approximate,
                    cited_by=tuple(self._citing[chunk]),
                    place=events.chunks.places[chunk] if events.chunks.places else "",
                )
            )
        return tuple(found)


def cut(text: str, marks: dict[tuple[int, int], int]) -> list[Piece]:
    """The cited spans with about 80 characters around each, `…` where something is left out."""
    pieces: list[Piece] = []
    shown_to = 0
    for start, end in _windows(text, list(marks)):
        if start > shown_to or (not pieces and start > 0):
            pieces.append(Piece("… "))
        pieces.extend(_pieces(text, start, end, marks))
        shown_to = end
    pieces += [Piece("", (mark,), cited=True) for (start, end), mark in marks.items() if start == end]
    if shown_to < len(text.rstrip()):
        pieces.append(Piece(" …"))
    return pieces


def _windows(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    windows: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        low, high = _loosen(text, start, end)
        if windows and low <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], max(high, windows[-1][1]))
        else:
            windows.append((low, high))
    return windows


def _loosen(text: str, start: int, end: int) -> tuple[int, int]:
    low, high = max(start - _AROUND, 0), min(end + _AROUND, len(text))
    if low:
        ends = [match.end() + low for match in _WORD_END.finditer(text[low:start])]
        low = next(iter(ends), low)
    if high < len(text):
        stops = [match.start() + end for match in _WORD_END.finditer(text[end:high])]
        high = stops[-1] if stops else high
    return low, max(high, end)


def _pieces(text: str, low: int, high: int, marks: dict[tuple[int, int], int]) -> list[Piece]:
    inside = [(start, end, mark) for (start, end), mark in marks.items() if low <= start and end <= high]
    edges = sorted({low, high, *(edge for start, end, _ in inside for edge in (start, end))})
    pieces = []
    for start, end in pairwise(edges):
        begun = tuple(mark for first, _, mark in inside if first == start)
        cited = any(first <= start and end <= last for first, last, _ in inside)
        pieces.append(Piece(text[start:end], begun, cited))
    return pieces
