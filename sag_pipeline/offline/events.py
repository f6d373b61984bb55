"""Events without a model: each sentence of a chunk is one; short lines of forms are joined."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sag_retrieval.layout import Kind, Line, logical_lines, marker_length
from sag_retrieval.records import Chunk, Document, Event, make_id
from sag_retrieval.sentences import spans_within

FINGERPRINT = "offline-events-1"
LEAST_LENGTH = 40
"""Neighbouring lines of a form are joined until they have so many characters."""
_FRAGMENT = 8
"""A sentence of fewer characters says nothing alone and joins its neighbour."""

_CJK_MARK = "\u3000-\u303f\u3400-\u9fff\uff00-\uffef"
_BREAK_IN_CHINESE = re.compile(rf"(?<=[{_CJK_MARK}])\s*\n\s*(?=[{_CJK_MARK}])")
_GAP = re.compile(r"\s+")
_ENDED = re.compile(r"[.!?。！？；…]['\"”’」』)）\]】*_]*$")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    is_line: bool
    """A short line without an end mark: part of a form."""
    is_label: bool = False


def offline_events(document: Document, chunks: Sequence[Chunk]) -> list[list[Event]]:
    """The events of each chunk, in order; none for a chunk without letters.

    Headings and rules are no events, unless the chunk has nothing else. `document.text[start:end]` is the content, but
    for white space.

    Source:
        docs/algorithm.md §extraction.4.

    """
    return [list(_events_of(document, chunk)) for chunk in chunks]


def one_line(text: str) -> str:
    """The text with every run of white space as one space, and none where a line of Chinese was broken."""
    return _GAP.sub(" ", _BREAK_IN_CHINESE.sub("", text)).strip()


def make_events(document: Document, chunk: Chunk, spans: Iterator[tuple[int, int]]) -> Iterator[Event]:
    """Events of a chunk from spans in its text."""
    seen: Counter[str] = Counter()
    for index, (start, end) in enumerate(spans):
        content = one_line(chunk.text[start:end])
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


def _events_of(document: Document, chunk: Chunk) -> Iterator[Event]:
    lines = logical_lines(chunk.text)
    pieces = [piece for piece in _pieces(chunk.text, lines) if _says_something(chunk.text, piece)]
    if not pieces:
        pieces = [_Piece(line.start, line.end, is_line=True) for line in lines]
        pieces = [piece for piece in pieces if _says_something(chunk.text, piece)]
    return make_events(document, chunk, ((piece.start, piece.end) for piece in _joined(pieces)))


def _says_something(text: str, piece: _Piece) -> bool:
    return any(character.isalpha() for character in text[piece.start : piece.end])


def _pieces(text: str, lines: Sequence[Line]) -> Iterator[_Piece]:
    for number, line in enumerate(lines):
        after = lines[number + 1].kind if number + 1 < len(lines) else None
        if line.kind in (Kind.HEADING, Kind.RULE) or (line.kind is Kind.ROW and after is Kind.RULE):
            continue
        if line.kind is Kind.LABEL:
            yield _Piece(line.start, line.end, is_line=True, is_label=True)
        elif line.kind is Kind.ROW:
            yield _row(text, line)
        else:
            yield from _sentences(text, line)


def _row(text: str, line: Line) -> _Piece:
    cells = text[line.start : line.end]
    left = len(cells) - len(cells.lstrip("| \t"))
    right = len(cells.rstrip("| \t"))
    return _Piece(line.start + left, max(line.start + right, line.start + left), is_line=False)


def _sentences(text: str, line: Line) -> Iterator[_Piece]:
    spans = list(spans_within(text, line.start + marker_length(text, line), line.end))
    for start, end in spans:
        is_line = len(spans) == 1 and not _ENDED.search(text, max(start, end - _FRAGMENT), end)
        yield _Piece(start, end, is_line)


def _joined(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    held: _Piece | None = None
    for piece in pieces:
        if held is None:
            held = piece
        elif _joins(held, piece):
            held = replace(held, end=piece.end, is_line=held.is_line and piece.is_line, is_label=False)
        else:
            yield held
            held = piece
    if held is not None:
        yield held


def _joins(held: _Piece, piece: _Piece) -> bool:
    length = held.end - held.start
    if held.is_label:
        return not piece.is_label or length < LEAST_LENGTH
    if held.is_line and piece.is_line and not piece.is_label:
        return length < LEAST_LENGTH
    return min(length, piece.end - piece.start) < _FRAGMENT and not piece.is_label
