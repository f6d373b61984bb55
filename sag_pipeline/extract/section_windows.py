"""Number a text's lines, cut them into windows, and turn a model's section marks into a partition of the lines."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from sag_retrieval.language.layout import Span, physical_lines
from sag_retrieval.language.words import fold

LINE_LENGTH = 200
"""Default length of the longest line, in characters."""
_WINDOW_FILL = 0.9

_SENTENCE_MARK = re.compile(r"[。！？；…]+[”’」』）》]*")
_CLAUSE_MARK = re.compile(r"[，、：,;:.!?)\]}>/&|=-]+")


class Window(NamedTuple):
    """Lines `first` to `last`, both included."""

    first: int
    last: int


def lines_of(text: str, limit: int = LINE_LENGTH) -> list[Span]:
    """Lines of at most `limit` characters, trailing white space not counted; together they partition the text.

    A longer line is cut after the last space or Chinese sentence mark within the limit, else after the last other
    mark, else at the limit.

    Source:
        docs/algorithm.md §sections.1

    """
    return [piece for start, end in physical_lines(text) for piece in _cut(text, start, min(end + 1, len(text)), limit)]


def line_text(text: str, line: Span) -> str:
    """The line without the white space at its end."""
    return text[line.start : line.end].rstrip()


def windows_of(lengths: Sequence[int], max_characters: int) -> list[Window]:
    """Consecutive windows of lines; a window ends once its lines have nine tenths of `max_characters`.

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


def lines_in(text: str, lines: Sequence[Span], window: Window) -> list[tuple[int, str]]:
    """The window as a model reads it: every line with its number."""
    return [(number, line_text(text, lines[number])) for number in range(window.first, window.last + 1)]


def length_of(text: str, lines: Sequence[Span], window: Window) -> int:
    """Characters of a window with the number of every line in brackets, as the published method counts them."""
    return len("\n".join(f"[{number}] {line}" for number, line in lines_in(text, lines, window)))


def _cut(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    last = start + len(text[start:end].rstrip())
    reach = limit - 1  # the first piece counts its trailing space, as the published method does
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
    """The place after the last white space that begins in `start` to `last`; 0 if there is none."""
    places = range(min(last, len(text) - 1), start - 1, -1)
    place = next((place for place in places if text[place].isspace()), 0)
    while place and place < len(text) and text[place].isspace():
        place += 1
    return place


Merging = Literal["always", "same_title", "never"]


class LineRun(NamedTuple):
    """Lines `first` to `last`, both included, under a title, which may be empty."""

    title: str
    first: int
    last: int


def runs_from_starts(starts: Sequence[tuple[str, int]], window: Window) -> list[LineRun]:
    """Partition a window by titles with first lines.

    Of equal starts the first is kept; starts after the window are dropped; the first run begins with the window; a run
    that would begin at or before the run ahead of it begins one line after that start. If nothing is left: one
    untitled run.

    Source:
        docs/algorithm.md §sections.3

    """
    kept = {start: title for title, start in reversed(starts) if start <= window.last}
    if not kept:
        return [LineRun("", *window)]
    places: list[tuple[str, int]] = []
    for start in sorted(kept):
        place = max(start, places[-1][1] + 1) if places else window.first
        if place <= window.last:
            places.append((kept[start], place))
    ends = [start - 1 for _, start in places[1:]] + [window.last]
    return [LineRun(title, start, end) for (title, start), end in zip(places, ends, strict=True)]


def runs_from_ranges(ranges: Sequence[tuple[str, int, int]], window: Window) -> list[LineRun]:
    """Partition a window by titles with first and last lines.

    Ranges are clipped to the window; reversed ranges and ranges outside it are dropped, then ranges inside another. A
    run ends before the next begins, and lines outside every range become untitled runs.

    Source:
        docs/algorithm.md §sections.4

    """
    clipped = [LineRun(title, max(first, window.first), min(last, window.last)) for title, first, last in ranges]
    ordered = sorted((run for run in clipped if run.first <= run.last), key=lambda run: (run.first, -run.last))
    outer: list[LineRun] = []
    for run in ordered:
        if not outer or run.last > outer[-1].last:
            outer.append(run)
    runs: list[LineRun] = []
    following = [run.first for run in outer[1:]] + [window.last + 1]
    place = window.first
    for run, limit in zip(outer, following, strict=False):
        if run.first > place:
            runs.append(LineRun("", place, run.first - 1))
        runs.append(run._replace(last=min(run.last, limit - 1)))
        place = runs[-1].last + 1
    if place <= window.last:
        runs.append(LineRun("", place, window.last))
    return runs


def is_splintered(section_count: int, character_count: int, least_average: float) -> bool:
    """Whether a reply names several sections with fewer than `least_average` characters on average.

    Characters are counted in the text that the model read, including line numbers.

    Source:
        docs/algorithm.md §sections.5

    """
    return section_count > 1 and character_count / section_count < least_average


def join_windows(
    windows: Sequence[Sequence[LineRun]], merging: Merging = "same_title", continued: Sequence[bool] = ()
) -> list[LineRun]:
    """The runs of all windows; the runs on both sides of a window border are joined if they belong together.

    Args:
        windows: Runs of each window, none empty.
        merging: `always`: where the window before has more than one run, titles joined by ` / `;
            `same_title`: where both have the same title or the model said that the first run continues;
            `never`: nowhere.
        continued: For every window, whether its first run continues the window before; empty: no window does.

    Source:
        docs/algorithm.md §sections.6

    """
    goes_on = [*continued, *[False] * (len(windows) - len(continued))]
    joined = list(windows[0]) if windows else []
    for number, (ahead, runs) in enumerate(pairwise(windows), start=1):
        rest = list(runs)
        if _belong_together(joined[-1], rest[0], len(ahead), merging, said=goes_on[number]):
            joined[-1] = LineRun(_joined_title(joined[-1], rest[0], merging), joined[-1].first, rest[0].last)
            rest = rest[1:]
        joined.extend(rest)
    return joined


def _belong_together(last: LineRun, first: LineRun, runs_ahead: int, merging: Merging, *, said: bool) -> bool:
    if merging == "always":
        return runs_ahead > 1
    return merging == "same_title" and (said or fold(last.title) == fold(first.title) != "")


def _joined_title(last: LineRun, first: LineRun, merging: Merging) -> str:
    if merging != "always" or fold(last.title) == fold(first.title):
        return last.title or first.title
    return " / ".join(title for title in (last.title, first.title) if title)
