"""The lines of a text and what each is: heading, list item, table row, rule, code or prose."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sag_retrieval.language.data import patterns

_WRAPPED_WIDTH = 44
"""A line at least this wide (a Chinese character counts 2) without an end mark goes on in the next one."""
_HEADING_LENGTH = 80

_SAYS = patterns("all")
_RULE = _SAYS["rule"]
_FENCE = _SAYS["fence"]
_HASHES = _SAYS["heading_marks"]
_ITEM = _SAYS["item"]
_BULLET = _SAYS["bullet"]
_CHAPTER = _SAYS["chapter"]
_COUNTED_PART = _SAYS["counted_part"]
_BOLD_LINE = _SAYS["bold_line"]
_ENDS_SENTENCE = _SAYS["line_ends_sentence"]
"""A mark or an emoji at the end of a line."""
_STOP = _SAYS["short_stop"]
"""A full stop of an acronym or a short abbreviation."""
_SPOKEN = _SAYS["spoken"]
"""A name and a colon, as before what somebody says or a value, or the time of a message."""
_LABEL = _SAYS["label"]
_SENTENCE_MARK = _SAYS["mark_in_line"]
_CAPITALS = _SAYS["capitals"]
_WIDE = _SAYS["wide_character"]


class Span(NamedTuple):
    """A stretch of a text, `text[start:end]`."""

    start: int
    end: int


class LineKind(Enum):
    """What a line is."""

    HEADING = "heading"
    LABEL = "label"
    """A short line that names what follows: `Diagnosis:`, a bold line, a line of capitals."""
    ITEM = "item"
    ROW = "row"
    RULE = "rule"
    """A line of marks alone: `---`, `|---|---|`."""
    CODE = "code"
    PROSE = "prose"


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line, `text[start:end]`: a physical one, or a wrapped paragraph; no white space at its ends."""

    kind: LineKind
    start: int
    end: int


def is_rule(line: str) -> bool:
    """Whether a line is of marks alone, such as the one below the head of a table."""
    return bool(_RULE.fullmatch(line.strip()))


def is_counted_part(line: str) -> bool:
    """Whether a line is one word and a number written out or in Roman: a part, whatever its book calls it.

    Examples:
        >>> [is_counted_part(line) for line in ("Canto IV", "LETTER TWO", "Henry the Fourth")]
        [True, True, False]
    """
    return _COUNTED_PART.fullmatch(line) is not None


def logical_lines(text: str) -> list[Line]:
    """The lines that hold anything, in order; between them stands white space only. Linear in the text.

    A line break inside wrapped prose does not end a line: the line before is wide and ends without a mark, and the
    next one is prose too.
    """
    lines: list[Line] = []
    open_until = ""
    for line in _kinds_of_lines(text):
        last = lines[-1] if lines else None
        is_next = last and open_until and text.count("\n", last.end, line.start) == 1
        if last and is_next and line.kind is LineKind.PROSE and _continues(text, line, open_until):
            lines[-1] = Line(last.kind, last.start, line.end)
        else:
            lines.append(line)
        open_until = _openness(text, line) if lines[-1].kind in (LineKind.PROSE, LineKind.ITEM) else ""
    return lines


def bare_heading(line: str) -> str:
    """A heading's words, without its marks, its closing colon and emphasis.

    Examples:
        >>> bare_heading("## **Results** ##")
        'Results'
    """
    words = line.strip().lstrip("#").strip()
    head, _, hashes = words.rpartition(" ")
    words = head if hashes and not hashes.strip("#") else words
    words = words.rstrip(":： ")
    words = words.replace("**", "")
    if words.startswith("__") and words.endswith("__"):
        words = words.strip("_")
    return words.rstrip(":： ").strip()


def marker_length(text: str, line: Line) -> int:
    """How many characters at the line's start are its bullet or heading marks; numbers of items are text."""
    if line.kind is LineKind.ITEM:
        found = _BULLET.match(text, line.start, line.end)
        return found.end() - line.start if found else 0
    words = text[line.start : line.end]
    return len(words) - len(words.lstrip("# ")) if line.kind is LineKind.HEADING else 0


def physical_lines(text: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """The lines of `text[start:end]` as they stand, without their line feeds; empty ones too."""
    end = len(text) if end is None else end
    while start < end:
        found = text.find("\n", start, end)
        stop = end if found < 0 else found
        yield Span(start, stop)
        start = stop + 1


def trimmed(text: str, span: tuple[int, int]) -> Span:
    """The span without white space at its ends; an empty one at its start if nothing is left."""
    piece = text[slice(*span)]
    bare = piece.strip()
    start = span[0] + (len(piece) - len(piece.lstrip()) if bare else 0)
    return Span(start, start + len(bare))


def _kinds_of_lines(text: str) -> Iterator[Line]:
    fence = ""
    for line in physical_lines(text):
        span = trimmed(text, line)
        bare = text[slice(*span)]
        if bare:
            mark = _FENCE.match(bare)
            is_code = bool(fence or mark)
            if mark and not fence:
                fence = mark[1]
            elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
            yield Line(LineKind.CODE if is_code else _kind_of(bare), *span)


def _kind_of(bare: str) -> LineKind:
    if _HASHES.match(bare):
        return LineKind.HEADING
    if bare[0] == "|" or (bare[-1] == "|" and bare.count("|") > 1):
        return LineKind.RULE if _RULE.fullmatch(bare) else LineKind.ROW
    if len(bare) > _HEADING_LENGTH:
        return LineKind.ITEM if _ITEM.match(bare) else LineKind.PROSE
    return _kind_of_short(bare)


def _kind_of_short(bare: str) -> LineKind:
    if _RULE.fullmatch(bare):
        return LineKind.RULE
    if is_counted_part(bare) or (_CHAPTER.match(bare) and not _SENTENCE_MARK.search(bare)):
        return LineKind.HEADING
    if _BOLD_LINE.fullmatch(bare) or _LABEL.fullmatch(bare):
        return LineKind.LABEL
    if _CAPITALS.fullmatch(bare) and " " in bare and not bare.endswith((".", ",")):
        return LineKind.LABEL
    return LineKind.ITEM if _ITEM.match(bare) else LineKind.PROSE


def _openness(text: str, line: Line) -> str:
    """Whether a wide line may go on: `any` without a mark at its end, `lower` behind an abbreviation, else empty."""
    start = max(line.start, text.rfind("\n", line.start, line.end) + 1)
    tail = text[max(start, line.end - 200) : line.end]
    if len(tail) + len(_WIDE.findall(tail)) < _WRAPPED_WIDTH:
        return ""
    if not _ENDS_SENTENCE.search(tail[-8:]):
        return "any"
    return "lower" if _STOP.search(tail[-8:]) else ""


def _continues(text: str, line: Line, openness: str) -> bool:
    """Whether a line goes on with the one before: behind an abbreviation only in lower case."""
    if openness == "lower":
        return text[line.start].islower()
    return not _SPOKEN.match(text, line.start, line.end)
