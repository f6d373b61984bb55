"""Extract events without a model: one per sentence; short lines of forms are joined."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sag_pipeline.rules.tables import cells_of, columns_of, is_second_header, joined_headers, row_fact
from sag_retrieval.core.records import Chunk, Document, Event, make_id
from sag_retrieval.text.layout import Line, LineKind, logical_lines, marker_length
from sag_retrieval.text.sentences import one_line, spans_within

LEAST_LENGTH = 40
"""Neighbouring lines of a form are joined until they have this number of characters."""
_FRAGMENT = 16
"""A narrower sentence (a Chinese character counts 2) carries no statement and joins its neighbour."""

_WIDE = re.compile("[\u3400-\u9fff\uff00-\uff60\u3000-\u303f]")
_ONLY_DATE = re.compile(
    r"(?=.*(?:[年月]|\d{4}|[A-Z][a-z]{2}))(?:[\d\s年月日号时分.,/:，、（）()–-]|(?:st|nd|rd|th)\b"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)[a-z]*)+[。.:：]?",
)
_ENDED = re.compile(r"[.!?。！？；…]['\"”’」』)）\]】*_]*$")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    is_line: bool
    """A short line without an end mark: part of a form."""
    is_label: bool = False
    """Names what follows: `Diagnosis:`, or a date alone."""
    is_short: bool = False
    fact: str = ""
    """What a row of a table states, where that is not its text."""


class _Table:
    """The columns of the table that is being read; a table may go on in the next chunk."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self._is_first = False

    def begin(self, header: str) -> None:
        """Take the names of the columns from a header row."""
        self.columns, self._is_first = columns_of(cells_of(header)), True

    def read(self, row: str) -> str | None:
        """What a row states; None for one that goes on naming columns."""
        cells = cells_of(row)
        is_first, self._is_first = self._is_first, False
        if is_first and is_second_header(self.columns, cells):
            self.columns = joined_headers(self.columns, cells)
            return None
        return row_fact(self.columns, cells)


def offline_events(document: Document, chunks: Sequence[Chunk]) -> list[list[Event]]:
    """The events of each chunk, in order; none for a chunk without letters.

    Headings and rules give no events, unless the chunk has nothing else. `document.text[start:end]` is the content, but
    for white space; a row of a table states its values with the names of their columns.

    Source:
        docs/algorithm.md §extraction.4.

    """
    table = _Table()
    return [list(_events_of(document, chunk, table)) for chunk in chunks]


def _make_events(document: Document, chunk: Chunk, pieces: Sequence[_Piece]) -> Iterator[Event]:
    seen: Counter[str] = Counter()
    for index, piece in enumerate(pieces):
        start, end = piece.start, piece.end
        content = piece.fact or one_line(chunk.text[start:end])
        yield Event(
            event_id=make_id("e", chunk.chunk_id, content, seen[content]),
            document_id=document.document_id,
            chunk_id=chunk.chunk_id,
            event_index=index,
            content=content,
            title=document.title,
            start=chunk.start + start,
            end=chunk.start + end,
        )
        seen[content] += 1


def _events_of(document: Document, chunk: Chunk, table: _Table) -> Iterator[Event]:
    text = chunk.text
    lines = logical_lines(text)
    spans = _joined(
        text, [piece for piece in _pieces(text, lines, table) if piece.is_label or _says_something(text, piece)]
    )
    kept = [piece for piece in spans if _says_something(text, piece)]
    if not kept:
        kept = [_Piece(line.start, line.end, is_line=True) for line in lines if line.kind is not LineKind.RULE]
        kept = list(_joined(text, [piece for piece in kept if _says_something(text, piece)]))
    return _make_events(document, chunk, kept)


def _says_something(text: str, piece: _Piece) -> bool:
    return any(map(str.isalpha, piece.fact or text[piece.start : piece.end]))


def _pieces(text: str, lines: Sequence[Line], table: _Table) -> Iterator[_Piece]:
    for number, line in enumerate(lines):
        after = lines[number + 1].kind if number + 1 < len(lines) else None
        if line.kind is not LineKind.ROW and line.kind is not LineKind.RULE:
            table.columns = []
        if line.kind is LineKind.ROW and after is LineKind.RULE:
            table.begin(text[line.start : line.end])
        if line.kind in (LineKind.HEADING, LineKind.RULE) or (line.kind is LineKind.ROW and after is LineKind.RULE):
            continue
        if line.kind is LineKind.LABEL:
            yield _Piece(line.start, line.end, is_line=True, is_label=True)
        elif line.kind is LineKind.ROW:
            yield from _row(text, line, table)
        else:
            yield from _sentences(text, line)


def _row(text: str, line: Line, table: _Table) -> Iterator[_Piece]:
    fact = table.read(text[line.start : line.end])
    if not fact:
        return
    cells = text[line.start : line.end]
    left = len(cells) - len(cells.lstrip("| \t"))
    right = len(cells.rstrip("| \t"))
    yield _Piece(line.start + left, max(line.start + right, line.start + left), is_line=False, fact=fact)


def _sentences(text: str, line: Line) -> Iterator[_Piece]:
    spans = list(spans_within(text, line.start + marker_length(text, line), line.end))
    for start, end in spans:
        is_line = len(spans) == 1 and not _ENDED.search(text, max(start, end - _FRAGMENT), end)
        is_date = end - start <= LEAST_LENGTH and bool(_ONLY_DATE.fullmatch(text, start, end))
        yield _Piece(start, end, is_line, is_date, is_short=_is_narrow(text, start, end))


def _is_narrow(text: str, start: int, end: int) -> bool:
    return end - start < _FRAGMENT and end - start + len(_WIDE.findall(text, start, end)) < _FRAGMENT


def _joined(text: str, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    held: _Piece | None = None
    for piece in pieces:
        if held is None:
            held = piece
        elif _joins(held, piece):
            held = _one(text, held, piece)
        else:
            yield held
            held = piece
    if held is not None:
        yield held


def _one(text: str, held: _Piece, piece: _Piece) -> _Piece:
    fact = ""
    if held.fact or piece.fact:
        fact = one_line(" ".join(each.fact or text[each.start : each.end] for each in (held, piece)))
    is_line = held.is_line and piece.is_line
    return replace(piece, start=held.start, is_line=is_line, is_short=False, fact=fact)


def _joins(held: _Piece, piece: _Piece) -> bool:
    if held.is_label:
        return not piece.is_label
    if piece.is_label:
        return False
    if held.is_line and piece.is_line:
        return held.end - held.start < LEAST_LENGTH
    return held.is_short or piece.is_short
