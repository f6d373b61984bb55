"""Divide documents into sections with a language model: the requests, and sections from its replies."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from sag_retrieval.core.errors import ModelError, SettingsError
from sag_retrieval.core.options import Bounds, Internal, check_options
from sag_retrieval.core.records import Document, Section, make_id
from sag_retrieval.language.data import patterns
from sag_retrieval.language.layout import Span, physical_lines
from sag_retrieval.language.words import fold, normal_form
from sag_retrieval.models.protocols import AnswerShape, Reply, Request
from sag_retrieval.prompts import as_lines, load_prompt

LINE_LENGTH = 200
"""Default length of the longest line, in characters."""
_WINDOW_FILL = 0.9

_SAYS = patterns("all")


class Window(NamedTuple):
    """Lines `first` to `last`, both included."""

    first: int
    last: int


def lines_of(text: str, limit: int = LINE_LENGTH) -> list[Span]:
    """Lines of at most `limit` characters, trailing white space not counted; together they partition the text.

    A longer line is cut after the last space or Chinese sentence mark within the limit, else after the last other
    mark, else at the limit.

    Source: docs/algorithm.md §sections.1.
    """
    return [piece for start, end in physical_lines(text) for piece in _cut(text, start, min(end + 1, len(text)), limit)]


def line_text(text: str, line: Span) -> str:
    """The line without the white space at its end."""
    return text[line.start : line.end].rstrip()


def windows_of(lengths: Sequence[int], max_characters: int) -> list[Window]:
    """Consecutive windows of lines; a window ends once its lines have nine tenths of `max_characters`.

    Source: docs/algorithm.md §sections.2.
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
    marks = max((found.end() for found in _SAYS["sentence_marks"].finditer(piece)), default=0)
    stop = max(start + marks, _after_space(text, start + 1, start + reach))
    if stop > start:
        return stop
    return start + max((found.end() for found in _SAYS["clause_marks"].finditer(piece)), default=limit)


def _after_space(text: str, start: int, last: int) -> int:
    """The place after the last white space that begins in `start` to `last`; 0 if there is none."""
    places = range(min(last, len(text) - 1), start - 1, -1)
    place = next((place for place in places if text[place].isspace()), 0)
    while place and place < len(text) and text[place].isspace():
        place += 1
    return place


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

    Source: docs/algorithm.md §sections.3.
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

    Source: docs/algorithm.md §sections.4.
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

    Source: docs/algorithm.md §sections.5.
    """
    return section_count > 1 and character_count / section_count < least_average


def join_windows(windows: Sequence[Sequence[LineRun]], continued: Sequence[bool]) -> list[LineRun]:
    """The runs of all windows; those on both sides of a border are one if they have one title or the first continues.

    Source: docs/algorithm.md §sections.6.
    """
    joined: list[LineRun] = []
    for (first, *rest), goes_on in zip(windows, continued, strict=True):
        if joined and (goes_on or fold(joined[-1].title) == fold(first.title) != ""):
            ahead = joined.pop()
            first = LineRun(ahead.title or first.title, ahead.first, first.last)  # noqa: PLW2901  the joined run
        joined += [first, *rest]
    return joined


_TITLE_LENGTH = 200
_NUMBER = re.compile(r"[-+]?\d+")
_GAP = re.compile(r"\s+")
_LONGEST_NUMBER = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOptions:
    """How documents are divided into sections; lengths are in characters."""

    min_length: Annotated[int, Bounds(0)] = 1_000
    """A shorter document is one untitled section, and no model is asked."""
    max_characters: Annotated[int, Bounds(1), Internal()] = 20_000
    """A longer document is read in windows of about this size."""
    line_length: Annotated[int, Bounds(10), Internal()] = LINE_LENGTH
    """Longer lines are cut, so that a section can begin inside a long paragraph."""
    min_average: Annotated[int, Bounds(0), Internal()] = 500
    """A window with sections that would be shorter on average stays one section."""
    min_section: Annotated[int, Bounds(0)] = 400
    """Without a model: a shorter section joins its neighbour; half of it in Chinese."""
    max_section: Annotated[int, Bounds(1)] = 6_000
    """Without a model: a longer section is divided where its words change; half of it in Chinese."""

    def __post_init__(self) -> None:
        """Refuse values out of bounds, with the value and the bound."""
        check_options(self)
        if self.max_section < max(2 * self.min_section, 1):
            raise SettingsError(f"max_section={self.max_section} is below twice min_section={self.min_section}")


def _line_number(given: object) -> int | None:
    """The first whole number in what a model wrote for a line, or None."""
    if isinstance(given, float) and not given.is_integer():
        return None
    found = _NUMBER.search(normal_form("NFKC", str(given)[:_LONGEST_NUMBER])) if given is not None else None
    return int(found[0][:12]) if found else None


class SectionMark(AnswerShape):
    """Where a section lies."""

    title: str = Field(description="what the section is about")
    start_index: Annotated[int | None, BeforeValidator(_line_number)] = Field(description="number of its first line")
    end_index: Annotated[int | None, BeforeValidator(_line_number)] = Field(
        default=None, description="number of its last line; may be left out"
    )


class SectionMarks(AnswerShape):
    """The model's answer for one window."""

    sections: list[SectionMark]
    first_continues: bool = Field(default=False, description="whether the first lines go on from before")


def section_requests(document: Document, options: SectionOptions | None = None) -> list[Request[SectionMarks]]:
    """One request per window of a document; none for a document shorter than `min_length`."""
    chosen = options or SectionOptions()
    if len(document.text) < chosen.min_length:
        return []
    lines, windows = _divided(document.text, chosen)
    prompt = load_prompt("sections", document.language, "sag_pipeline.llm.prompts")
    return [
        Request(
            prompt=prompt.fill(
                first_line=window.first, last_line=window.last, lines=as_lines(lines_in(document.text, lines, window))
            ),
            answer=SectionMarks,
            step="sections",
            system=prompt.system,
            document_id=document.document_id,
        )
        for window in windows
    ]


def sections_from_replies(
    document: Document, replies: Sequence[Reply[SectionMarks] | ModelError], options: SectionOptions | None = None
) -> list[Section]:
    """The sections of a document, a partition of its text for any replies.

    Args:
        document: The document.
        replies: One for every request of `section_requests`, in order; a window with an error as reply becomes one
            untitled section. Without replies the whole document does.
        options: The same as in `section_requests`.

    Source: docs/algorithm.md §sections.3 to 7.
    """
    chosen = options or SectionOptions()
    if not replies:
        return untitled(document)
    lines, windows = _divided(document.text, chosen)
    answers = [reply.value if isinstance(reply, Reply) else None for reply in replies]
    runs = [
        _runs(document.text, lines, window, answer, chosen.min_average)
        for window, answer in zip(windows, answers, strict=True)
    ]
    continued = [answer is not None and answer.first_continues for answer in answers]
    joined = join_windows(runs, continued)
    spans = [(run.title, lines[run.first].start, lines[run.last].end) for run in joined]
    return section_records(document, spans)


def untitled(document: Document) -> list[Section]:
    """The whole document as one section without a title; no section for an empty text."""
    return section_records(document, [("", 0, len(document.text))])


def section_records(document: Document, spans: Sequence[tuple[str, int, int]]) -> list[Section]:
    """Titled spans that partition the text, as records; a span of white space alone joins the span before it.

    An id depends on document, title and text, so it stays the same when other sections change.
    """
    kept: list[tuple[str, int, int]] = []
    for title, start, end in spans:
        if kept and not (document.text[start:end].strip() and document.text[kept[-1][1] : start].strip()):
            before = kept.pop()
            kept.append((before[0] if document.text[before[1] : start].strip() else title, before[1], end))
        elif start < end:
            kept.append((title, start, end))
    seen: Counter[tuple[str, str]] = Counter()
    sections = []
    for number, (title, start, end) in enumerate(kept):
        named = (_GAP.sub(" ", title).strip()[:_TITLE_LENGTH].strip(), document.text[start:end])
        identity = make_id("s", document.document_id, *named, seen[named])
        sections.append(Section(identity, document.document_id, number, named[0], "", start, end))
        seen[named] += 1
    return sections


def _divided(text: str, options: SectionOptions) -> tuple[list[Span], list[Window]]:
    lines = lines_of(text, options.line_length)
    lengths = [len(line_text(text, line)) for line in lines]
    return lines, windows_of(lengths, options.max_characters)


def _runs(
    text: str, lines: Sequence[Span], window: Window, answer: SectionMarks | None, least_average: int
) -> list[LineRun]:
    if answer is None:
        return [LineRun("", *window)]
    marks = [mark for mark in answer.sections if mark.start_index is not None]
    read = "\n".join(f"[{number}] {line}" for number, line in lines_in(text, lines, window))
    if is_splintered(len(marks), len(read), least_average):
        return [LineRun("", *window)]
    if marks and all(mark.end_index is not None for mark in marks):
        return runs_from_ranges([(m.title, m.start_index or 0, m.end_index or 0) for m in marks], window)
    return runs_from_starts([(m.title, m.start_index or 0) for m in marks], window)
