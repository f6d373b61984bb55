"""Sentences, headings, tables and code of a text packed to passages of a size."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sag_retrieval.text.layout import Line, LineKind, bare_heading, logical_lines, physical_lines, trimmed
from sag_retrieval.text.sentences import spans_within

_TITLES = (LineKind.HEADING, LineKind.LABEL)
_BLOCKS = (LineKind.ROW, LineKind.RULE, LineKind.CODE)
_LONG_SENTENCE = 2
"""A sentence longer than this many sizes is cut."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`text[start:end]` and the last heading at its start; empty where it starts without one."""

    start: int
    end: int
    heading: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths in characters.

    Of a passage, of a block that stays whole, of a last passage that joins the one before, and of the least passage
    that a heading ends.
    """

    passage: int
    block: int
    tail: int
    part: int


def text_units(text: str) -> list[Line]:
    """What of a text is never cut while packing, in order: a heading, a sentence, a table or a fenced block."""
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
    """Passages of one section's units, each as full as its size allows.

    A heading starts a passage and goes with what follows, unless the passage before is still short.
    """
    packing = _Packing(text, sizes)
    for unit in units:
        for part in _parts(text, unit, sizes):
            packing.add(part)
    return packing.finish()


def clip(text: str, units: Sequence[Line], start: int, end: int) -> list[Line]:
    """The units inside `text[start:end]`; one over a border is cut there and trimmed of white space."""
    found: list[Line] = []
    first = bisect_left(units, start, key=lambda unit: unit.end)
    for unit in units[first:]:
        if unit.start >= end:
            break
        left, right = trimmed(text, (max(unit.start, start), min(unit.end, end)))
        if right > left:
            found.append(replace(unit, start=left, end=right))
    return found


@dataclass(slots=True)
class _Packing:
    text: str
    sizes: Sizes
    done: list[Passage] = field(default_factory=list)
    held: list[Line] = field(default_factory=list)

    def add(self, unit: Line) -> None:
        if self.held and self._must_close(unit):
            self.close()
        self.held.append(unit)

    def _must_close(self, unit: Line) -> bool:
        if all(held.kind in _TITLES for held in self.held):
            return False
        length = self.held[-1].end - self.held[0].start
        if unit.kind in _TITLES and length >= self.sizes.part:
            return True
        return unit.end - self.held[0].start > self.sizes.passage

    def close(self) -> None:
        """End the passage; titles at its end, which name what follows, stay held."""
        body = len(self.held)
        while body > 0 and self.held[body - 1].kind in _TITLES:
            body -= 1
        body = body or len(self.held)
        self._keep(self.held[:body])
        self.held = self.held[body:]

    def _keep(self, units: Sequence[Line]) -> None:
        start, end, heading = units[0].start, units[-1].end, ""
        for unit in units:
            if unit.kind not in _TITLES:
                break
            heading = bare_heading(self.text[unit.start : unit.end])
        if self._joins_last(start, end, units[0].kind):
            self.done[-1] = replace(self.done[-1], end=end)
        else:
            self.done.append(Passage(start, end, heading))

    def _joins_last(self, start: int, end: int, kind: LineKind) -> bool:
        if not self.done or kind in _TITLES or end - start >= self.sizes.tail:
            return False
        return end - self.done[-1].start <= self.sizes.passage + self.sizes.tail

    def finish(self) -> list[Passage]:
        if self.held:
            self._keep(self.held)
            self.held = []
        return self.done


def _parts(text: str, unit: Line, sizes: Sizes) -> Iterator[Line]:
    length = unit.end - unit.start
    if unit.kind in _BLOCKS and length > sizes.block:
        for line in physical_lines(text, unit.start, unit.end):
            start, end = trimmed(text, line)
            if start < end:
                yield from _cut(text, replace(unit, start=start, end=end), sizes)
    elif unit.kind in _BLOCKS or length <= _LONG_SENTENCE * sizes.passage:
        yield unit
    else:
        yield from _cut(text, unit, sizes)


def _cut(text: str, unit: Line, sizes: Sizes) -> Iterator[Line]:
    """Pieces of at most a passage's size, cut behind the last space or comma of their second half if there is one."""
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
