"""Divide documents into sections with a language model: the requests, and sections from its replies."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sag_pipeline.extract.section_windows import (
    LINE_LENGTH,
    LineRun,
    Merging,
    Window,
    is_splintered,
    join_windows,
    length_of,
    line_text,
    lines_in,
    lines_of,
    runs_from_ranges,
    runs_from_starts,
    windows_of,
)
from sag_retrieval.core.errors import ModelError, SettingsError
from sag_retrieval.core.options import Bounds, Internal, check_options
from sag_retrieval.core.records import Document, Section, make_id
from sag_retrieval.language.layout import Span
from sag_retrieval.language.words import normal_form
from sag_retrieval.models.protocols import Reply, Request
from sag_retrieval.prompts import as_lines, load_prompt

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
    merge_windows: Annotated[Merging, Internal()] = "same_title"
    """When the sections on both sides of a window's border are joined."""
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


class SectionMark(BaseModel):
    """Where a section lies."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(description="what the section is about")
    start_index: Annotated[int | None, BeforeValidator(_line_number)] = Field(description="number of its first line")
    end_index: Annotated[int | None, BeforeValidator(_line_number)] = Field(
        default=None, description="number of its last line; may be left out"
    )


class SectionMarks(BaseModel):
    """The model's answer for one window."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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
                first_line=window.first,
                last_line=window.last,
                lines=as_lines(lines_in(document.text, lines, window)),
            ),
            answer=SectionMarks,
            step="sections",
            system=prompt.system,
            document_id=document.document_id,
        )
        for window in windows
    ]


def sections_from_replies(
    document: Document,
    replies: Sequence[Reply[SectionMarks] | ModelError],
    options: SectionOptions | None = None,
) -> list[Section]:
    """The sections of a document, a partition of its text for any replies.

    Args:
        document: The document.
        replies: One for every request of `section_requests`, in order; a window with an error as reply becomes one
            untitled section. Without replies the whole document does.
        options: The same as in `section_requests`.

    Source:
        docs/algorithm.md §sections.3 to 7

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
    joined = join_windows(runs, chosen.merge_windows, continued)
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
    if is_splintered(len(marks), length_of(text, lines, window), least_average):
        return [LineRun("", *window)]
    if marks and all(mark.end_index is not None for mark in marks):
        return runs_from_ranges([(m.title, m.start_index or 0, m.end_index or 0) for m in marks], window)
    return runs_from_starts([(m.title, m.start_index or 0) for m in marks], window)
