"""Lines and windows: how a long text is numbered and cut into pieces that a model can read."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sag_retrieval.text.layout import Span, physical_lines

LINE_LENGTH = 200
"""Characters of the longest line."""
_WINDOW_FILL = 0.9

_SENTENCE_MARK = re.compile(r"[。！？；…]+[”’」』）》]*")
_CLAUSE_MARK = re.compile(r"[，、：,;:.!?)\]}>/&|=-]+")


class Window(NamedTuple):
    """Lines `first` to `last`, both included."""

    first: int
    last: int


def lines_of(text: str, limit: int = LINE_LENGTH) -> list[Span]:
    """Lines of at most `limit` characters, white space at their ends not counted; with line feeds they tile the text.

    A longer line is cut behind its last space or Chinese sentence mark within the limit, else behind its last
    other mark, else at the limit.

    Source:
        docs/algorithm.md §sections.1

    """
    return [piece for start, end in physical_lines(text) for piece in _cut(text, start, min(end + 1, len(text)), limit)]


def line_text(text: str, line: Span) -> str:
    """The line without the white space at its end."""
    return text[line.start : line.end].rstrip()


def windows_of(lengths: Sequence[int], max_characters: int) -> list[Window]:
    """Consecutive windows, each closed once its lines hold nine tenths of `max_characters`.

    Source:
        docs/algorithm.md §sections.2

    """
    windows: list[Window] = []
    first = size = 0
    for number, length in enumerate(lengths):
        size += length
        if size >= _WINDOW_FILL * max_characters or number == len(lengths) - 1:
            windows.append(Window(first, number))
            first, size = number + 1, 0
    return windows


def numbered(text: str, lines: Sequence[Span], window: Window) -> str:
    """What a model reads: `[number] line` for every line of the window."""
    chosen = range(window.first, window.last + 1)
    return "\n".join(f"[{number}] {line_text(text, lines[number])}" for number in chosen)


def _cut(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    last = start + len(text[start:end].rstrip())
    reach = limit - 1  # a first piece keeps room for its space, as the method this follows does
    while last - start > limit:
        stop = _break(text, start, limit, reach)
        yield Span(start, stop)
        start, reach = stop, limit
    yield Span(start, end)


def _break(text: str, start: int, limit: int, reach: int) -> int:
    piece = text[start : start + limit]
    marks = max((found.end() for found in _SENTENCE_MARK.finditer(piece)), default=0)
    stop = max(start + marks, _after_space(text, start + 1, start + reach))
    if stop > start:
        return stop
    return start + max((found.end() for found in _CLAUSE_MARK.finditer(piece)), default=limit)


def _after_space(text: str, start: int, last: int) -> int:
    """Behind the last white space that begins in `start` to `last`; 0 where there is none."""
    places = range(min(last, len(text) - 1), start - 1, -1)
    place = next((place for place in places if text[place].isspace()), 0)
    while place and place < len(text) and text[place].isspace():
        place += 1
    return place
