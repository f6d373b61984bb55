"""Cut documents into chunks: whole sentences packed up to a size, within one section and under its heading."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise, takewhile
from typing import Annotated, Final, NamedTuple

from sag_pipeline.extract.headers import HeaderOptions, chunk_header
from sag_retrieval.core.options import Bounds, CheckedOptions, Internal
from sag_retrieval.core.records import Chunk, Document, Section, Summary, make_id
from sag_retrieval.language.layout import Line, LineKind, bare_heading, is_rule, logical_lines, physical_lines, trimmed
from sag_retrieval.language.sentences import spans_within

_LEAST_SIZE: Final = 40
_TITLES: Final = (LineKind.HEADING, LineKind.LABEL)
_BLOCKS: Final = (LineKind.ROW, LineKind.RULE, LineKind.CODE)
_HEADER: Final = ((LineKind.ROW, LineKind.RULE), (LineKind.RULE, LineKind.ROW))
"""Lines that stay together: the head of a table, the rule below it and its first row."""
_SEEN: Final = 40
"""Characters on either side of a border that rank it."""
_REACH: Final = 0.5
"""A border that ranks first within this many sizes on either side always ends a chunk."""
_LONGEST: Final = 1.35
"""A run of this many sizes between two such borders is divided into parts of about equal length."""
_LONG_SENTENCE: Final = 2
"""A sentence longer than this many sizes is cut."""


class _Border(NamedTuple):
    place: int
    """The unit that begins here."""
    start: int
    rank: tuple[bool, bytes]
    """Headings first, then by the hash of the text on both sides."""


def runs_of(text: str, units: Sequence[Line], size: int) -> list[list[Line]]:
    """The units of a section in runs of about a size, a heading and the head of a table with what follows.

    Source: docs/algorithm.md §extraction.2.
    """
    borders = [
        _Border(place, unit.start, _rank(text, before, unit))
        for place, (before, unit) in enumerate(pairwise(units), 1)
        if before.kind not in _TITLES and (before.kind, unit.kind) not in _HEADER
    ]
    places = [0, *(one.place for one in _first_of(borders, _REACH * size)), len(units)]
    starts = [one.place for one in borders]
    found: list[list[Line]] = []
    for first, last in pairwise(places):
        inside = starts[bisect_right(starts, first) : bisect_left(starts, last)]
        found.extend(_divided(units[first:last], [place - first for place in inside], size))
    return [run for run in found if run]


def _rank(text: str, before: Line, unit: Line) -> tuple[bool, bytes]:
    seen = (
        text[max(before.start, before.end - _SEEN) : before.end]
        + "\n"
        + text[unit.start : min(unit.end, unit.start + _SEEN)]
    )
    digest = blake2b(" ".join(seen.split()).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return unit.kind not in _TITLES, digest


def _first_of(borders: Sequence[_Border], reach: float) -> list[_Border]:
    """The borders that rank before every other one within reach."""
    found: list[_Border] = []
    low = 0
    for place, one in enumerate(borders):
        while borders[low].start < one.start - reach:
            low += 1
        high = place + 1
        while high < len(borders) and borders[high].start <= one.start + reach:
            high += 1
        near = (*borders[low:place], *borders[place + 1 : high])
        if all(one.rank < other.rank for other in near):
            found.append(one)
    return found


def _divided(units: Sequence[Line], borders: Sequence[int], size: int) -> list[list[Line]]:
    """Units between two borders in parts of about equal length, one where they are short enough."""
    if not units:
        return []
    start, length = units[0].start, units[-1].end - units[0].start
    if length <= _LONGEST * size:
        return [list(units)]
    count = max(2, round(length / size))
    chosen = sorted({_nearest(units, borders, start + part * length / count) for part in range(1, count)} - {0})
    return [list(units[first:last]) for first, last in pairwise([0, *chosen, len(units)])]


def _nearest(units: Sequence[Line], borders: Sequence[int], wanted: float) -> int:
    """The border nearest to a place in the text; 0 without any."""
    behind = bisect_left(borders, wanted, key=lambda place: units[place].start)
    near = borders[max(0, behind - 1) : behind + 1]
    return min(near, key=lambda place: abs(units[place].start - wanted), default=0)


class Passage(NamedTuple):
    """`text[start:end]` and the last heading at its start; empty if it starts without a heading."""

    start: int
    end: int
    heading: str


class Sizes(NamedTuple):
    """Lengths in characters for one document."""

    passage: int
    """Of a passage."""
    block: int
    """A table or fenced block up to this length stays whole."""
    tail: int
    """A last passage shorter than this joins the one before it."""
    part: int
    """A heading ends a passage of at least this length."""
    is_short: bool
    """Whether the document is one passage between its headings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkOptions(CheckedOptions):
    """How long chunks are, in characters."""

    zh_size: Annotated[int, Bounds(_LEAST_SIZE)] = 300
    """Characters of a chunk of a Chinese document."""
    en_size: Annotated[int, Bounds(_LEAST_SIZE)] = 400
    """Characters of a chunk of any other document."""
    whole_factor: Annotated[float, Bounds(0), Internal()] = 4.0
    """A document up to this many times the size is one passage between its headings: siblings that share all their keys
    do not help a ranking (R@5 on `musique_train` 80 against 78)."""
    block_factor: Annotated[float, Bounds(1), Internal()] = 3.0
    """A table or a fenced block stays whole up to this many times the size."""
    heading_factor: Annotated[float, Bounds(0, 1, below=True), Internal()] = 0.4
    """A heading starts a new chunk once the chunk before has this part of the size; 0: always."""
    tail_factor: Annotated[float, Bounds(0, 1, below=True), Internal()] = 0.25
    """A last chunk shorter than this part of the size joins the one before it."""

    def sizes(self, language: str, length: int) -> Sizes:
        """The sizes for a document of this language and length."""
        size = self.zh_size if language == "zh" else self.en_size
        is_short = length <= size * self.whole_factor
        passage = max(size, length) if is_short else size
        return Sizes(
            passage=passage,
            block=max(passage, int(size * self.block_factor)),
            tail=int(size * self.tail_factor),
            part=int(size * self.heading_factor),
            is_short=is_short,
        )


def split_chunks(
    document: Document,
    sections: Sequence[Section],
    options: ChunkOptions | None = None,
    summary: Summary | None = None,
    header: HeaderOptions | None = None,
) -> list[Chunk]:
    """Cut a document into chunks, in order: disjoint, within one section each, covering everything but white space.

    Each has the header of its section (`chunk_header`), in which a title that a model wrote takes the place of the
    document's own; without `header` the document's title.

    Source: docs/algorithm.md §extraction.2.
    """
    sizes = (options or ChunkOptions()).sizes(document.language, len(document.text))
    units = text_units(document.text)
    seen: Counter[str] = Counter()
    chunks: list[Chunk] = []
    heading, title, said = "", document.title, ""
    if summary:
        title, said = summary.made_title or title, summary.summary
    for section in sections:
        parts = (title, said, section.title, section.summary, document.language)
        above = document.title if header is None else chunk_header(*parts, header)
        for passage in pack(document.text, clip(document.text, units, section.start, section.end), sizes):
            heading = passage.heading or heading
            text = document.text[passage.start : passage.end]
            chunks.append(
                Chunk(
                    chunk_id=make_id("c", document.document_id, text, seen[text]),
                    document_id=document.document_id,
                    section_id=section.section_id,
                    chunk_index=len(chunks),
                    start=passage.start,
                    end=passage.end,
                    text=text,
                    header=above,
                    heading=heading,
                )
            )
            seen[text] += 1
    return chunks


def text_units(text: str) -> list[Line]:
    """The units of a text that packing keeps whole, in order: headings, sentences, tables, fenced blocks."""
    units: list[Line] = []
    for line in logical_lines(text):
        if line.kind not in (*_BLOCKS, *_TITLES):
            units.extend(Line(line.kind, *span) for span in spans_within(text, line.start, line.end))
        elif units and _is_one_block(units[-1], line):
            units[-1] = replace(units[-1], end=line.end)
        else:
            units.append(line)
    return units


def _is_one_block(before: Line, line: Line) -> bool:
    is_code = line.kind is LineKind.CODE
    return line.kind in _BLOCKS and before.kind in _BLOCKS and (before.kind is LineKind.CODE) == is_code


def pack(text: str, units: Sequence[Line], sizes: Sizes) -> list[Passage]:
    """Pack the units of one section into passages; a short last one joins the one before it."""
    parts = [part for unit in units for part in _parts(text, unit, sizes)]
    done: list[Passage] = []
    for run in _below_headings(parts, sizes.part) if sizes.is_short else runs_of(text, parts, sizes.passage):
        start, end = run[0].start, run[-1].end
        titles = list(takewhile(lambda unit: unit.kind in _TITLES, run))
        if done and not titles and end - start < sizes.tail and end - done[-1].start <= sizes.passage + sizes.tail:
            done[-1] = done[-1]._replace(end=end)
        else:
            heading = bare_heading(text[titles[-1].start : titles[-1].end]) if titles else ""
            done.append(Passage(start, end, heading))
    return done


def _below_headings(units: Sequence[Line], least: int) -> Iterator[list[Line]]:
    """Runs of units, each below its headings; one of fewer than `least` characters goes on below the next heading."""
    held: list[Line] = []
    for unit in units:
        body = next((row for row in range(len(held), 0, -1) if held[row - 1].kind not in _TITLES), 0)
        if unit.kind in _TITLES and body and held[-1].end - held[0].start >= least:
            yield held[:body]
            held = held[body:]
        held.append(unit)
    if held:
        yield held


def clip(text: str, units: Sequence[Line], start: int, end: int) -> list[Line]:
    """The units inside `text[start:end]`; a unit that crosses the border is cut there and trimmed of white space."""
    found: list[Line] = []
    first = bisect_left(units, start, key=lambda unit: unit.end)
    for unit in units[first:]:
        if unit.start >= end:
            break
        left, right = trimmed(text, (max(unit.start, start), min(unit.end, end)))
        if right > left:
            found.append(replace(unit, start=left, end=right))
    return found


def _parts(text: str, unit: Line, sizes: Sizes) -> Iterator[Line]:
    length = unit.end - unit.start
    if unit.kind in _BLOCKS and length > sizes.block:
        for line in physical_lines(text, unit.start, unit.end):
            start, end = trimmed(text, line)
            if start < end:
                is_head = unit.kind is LineKind.ROW and is_rule(text[start:end])
                kind = LineKind.RULE if is_head else unit.kind
                yield from _cut(text, Line(kind, start, end), sizes)
    elif unit.kind in _BLOCKS or length <= _LONG_SENTENCE * sizes.passage:
        yield unit
    else:
        yield from _cut(text, unit, sizes)


def _cut(text: str, unit: Line, sizes: Sizes) -> Iterator[Line]:
    """Pieces up to a passage's size, each cut after the last space or comma in its second half, if there is one."""
    start = unit.start
    while unit.end - start > sizes.passage * _LONG_SENTENCE:
        stop = start + sizes.passage
        half = start + sizes.passage // 2
        stop = max(text.rfind(mark, half, stop) + 1 for mark in " ，、,；;\n\t") or stop
        piece = text[start:stop].rstrip()
        yield replace(unit, start=start, end=start + len(piece))
        start = stop
        while text[start].isspace():
            start += 1
    yield replace(unit, start=start)
