"""Extract events without a model: one per sentence; short lines of forms are joined."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sag_pipeline.extract.events import make_event
from sag_pipeline.extract.rules.lines import Page, Utterance, is_field_line, words_said
from sag_pipeline.extract.rules.name_types import PERSON
from sag_pipeline.extract.rules.names_latin import latin_names
from sag_pipeline.extract.rules.names_zh import chinese_names
from sag_pipeline.extract.rules.tables import (
    cells_of,
    columns_of,
    is_second_header,
    is_unnamed_row,
    joined_headers,
    row_fact,
)
from sag_retrieval.core.records import Chunk, Document, Event
from sag_retrieval.language.data import pattern_of_all, patterns
from sag_retrieval.language.layout import Line, LineKind, marker_length
from sag_retrieval.language.sentences import one_line, spans_within
from sag_retrieval.language.words import is_cjk

_PRONOUN = pattern_of_all("pronoun")
_BACK: Final = 2
"""Sentences in front of a pronoun in which a person is looked for; the nearest one that names any decides."""
_FAR: Final = 200
"""Further away no sentence is the one before: a table or a picture stands between."""
_LONGEST: Final = 600
"""Characters of a sentence that are read for names."""


LEAST_LENGTH = 40
"""Neighbouring lines of a form are joined until they have this number of characters."""
_FORM = 240
"""Neighbouring fields of a form are joined until they have this number of characters."""
_LONGEST_TITLES = 160
"""Headings and labels that follow one another are joined until they have this number of characters."""
_FEW_WORDS = 3
"""A turn of so few words that do not only greet or agree joins its neighbour: a reply means little without it."""
_SHORTEST_STAMP = 5
"""Characters of a time before who speaks."""
_LONGEST_TURN = 400
"""A longer turn of a conversation is divided between sentences."""
_FRAGMENT = 16
"""A narrower sentence (a Chinese character counts 2) carries no statement and joins its neighbour."""

_SAYS = patterns("all")
_ONLY_DATE = patterns("en")["only_date"]


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    is_line: bool
    """A short line without an end mark: part of a form."""
    is_label: bool = False
    """Names what follows: `Diagnosis:`, or a date alone."""
    is_short: bool = False
    is_field: bool = False
    """A label with its value: `Born: 8 June 1998`."""
    opens: bool = False
    """Stands first below a heading."""
    fact: str = ""
    """What a row of a table states, where that is not its text."""


class _Table:
    """What goes on in the next chunk: the columns of a table, and what announces a list or what follows."""

    def __init__(self) -> None:
        self.columns: list[str] = []
        self.announced = ""
        self.lead = ""
        self.is_begun = False
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

    Headings, rules, running heads and turns of a conversation that only greet give no events, unless the chunk has
    nothing else; what announces something joins what follows. `document.text[start:end]` is the content, but for
    white space; a row of a table states its values with the names of their columns, and the later parts of a long turn
    state who speaks.

    Source: docs/algorithm.md §extraction.4.
    """
    page = Page(document.text, document.language)
    table = _Table()
    last = chunks[-1] if chunks else None
    return [list(_events_of(document, chunk, page, table, is_last=chunk is last)) for chunk in chunks]


def _events_of(document: Document, chunk: Chunk, page: Page, table: _Table, *, is_last: bool) -> Iterator[Event]:
    text = document.text
    lines = page.within(chunk.start, chunk.end)
    spans = _joined(text, [piece for piece in _pieces(page, lines, table) if piece.is_label or _says(text, piece)])
    kept = [piece for piece in spans if _says(text, piece)]
    announced, table.announced = table.announced, ""
    if kept and announced:
        kept[0] = replace(kept[0], fact=one_line(f"{announced} {kept[0].fact or text[kept[0].start : kept[0].end]}"))
    if kept and not is_last and kept[-1].is_label and not _is_date(text, kept[-1].start, kept[-1].end):
        label = kept.pop()
        table.announced = (label.fact or one_line(text[label.start : label.end]))[-_LONGEST_TITLES:]
    kept = [piece for piece in kept if not piece.is_label or _is_date(text, piece.start, piece.end)] or kept
    if not kept and not table.announced:
        own = [line for line in lines if line.kind is not LineKind.RULE and not page.is_head(line)]
        kept = [_Piece(line.start, line.end, is_line=True) for line in own]
        kept = list(_joined(text, [piece for piece in kept if _says(text, piece)]))
    seen: Counter[str] = Counter()
    for index, piece in enumerate(_with_names(text, kept)):
        content = piece.fact or one_line(text[piece.start : piece.end])
        yield make_event(document, chunk, index, content, seen[content], (piece.start, piece.end))
        seen[content] += 1


def _with_names(text: str, pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """Pieces that begin with a pronoun, with the name of the person whom they speak of in its place."""
    names: dict[int, str] = {}
    for row, piece in enumerate(pieces):
        found = _PRONOUN.match(text, piece.start, piece.end)
        name = _person_before(text, pieces, names, row) if found else None
        if found and name:
            names[row] = name
            owner = f"{name}’s" if found["of_en"] else f"{name}的" if found["of_zh"] else name
            yield piece if piece.fact else replace(piece, fact=one_line(f"{owner}{text[found.end() : piece.end]}"))
        else:
            yield piece


def _person_before(text: str, pieces: Sequence[_Piece], names: dict[int, str], row: int) -> str | None:
    """The one person whom the nearest piece before a row names; None where that is below another heading, or far."""
    for before in range(row - 1, max(-1, row - 1 - _BACK), -1):
        if pieces[before + 1].opens or pieces[before + 1].start - pieces[before].end > _FAR:
            return None
        persons = _persons(text[pieces[before].start : pieces[before].end][:_LONGEST])
        persons |= {names[before]} if before in names else set()
        if persons:
            return persons.pop() if len(persons) == 1 else None
    return None


def _persons(sentence: str) -> set[str]:
    found = {name.text for name in latin_names(sentence, [0]) if name.key_type == PERSON}
    if is_cjk(sentence):
        found |= {str(name.value) for name in chinese_names(sentence) if name.key_type == PERSON}
    return found


def _says(text: str, piece: _Piece) -> bool:
    return any(map(str.isalpha, piece.fact or text[piece.start : piece.end]))


def _is_date(text: str, start: int, end: int) -> bool:
    return end - start <= LEAST_LENGTH and bool(_ONLY_DATE.fullmatch(text, start, end))


def _pieces(page: Page, lines: Sequence[Line], table: _Table) -> Iterator[_Piece]:
    text = page.text
    opens = False
    for number, line in enumerate(lines):
        after = lines[number + 1].kind if number + 1 < len(lines) else None
        if line.kind is not LineKind.ROW and line.kind is not LineKind.RULE:
            table.columns = []
        is_header = line.kind is LineKind.ROW and after is LineKind.RULE
        if is_header:
            table.begin(text[line.start : line.end])
        if line.kind in (LineKind.HEADING, LineKind.RULE) or is_header or page.is_head(line) or page.is_furniture(line):
            opens = opens or line.kind is LineKind.HEADING
            continue
        for piece in _with_lead(text, line, list(_of_line(page, line, table)), table):
            yield replace(piece, opens=True) if opens else piece
            opens = False


def _with_lead(text: str, line: Line, pieces: Sequence[_Piece], table: _Table) -> Sequence[_Piece]:
    """The pieces of a line; an item of a list that is no sentence states what announces the list.

    The first item joins what announces it anyway, and short ones join each other.
    """
    is_item = line.kind is LineKind.ITEM
    if is_item and table.lead and len(pieces) == 1:
        own = one_line(text[pieces[0].start : pieces[0].end])
        is_fragment = not pieces[0].is_label and len(own) >= LEAST_LENGTH and not _SAYS["states"].search(own)
        if is_fragment and table.is_begun:
            pieces = [replace(pieces[0], fact=f"{table.lead} {own}", is_line=False)]
    table.is_begun = is_item
    if not is_item:
        last = pieces[-1] if pieces else None
        is_lead = (
            last is not None
            and last.is_label
            and _SAYS["announces"].search(text, max(last.start, last.end - 4), last.end)
        )
        own = one_line(text[last.start : last.end]) if last and is_lead else ""
        table.lead = own if len(own) <= _LONGEST_TITLES else ""
    return pieces


def _of_line(page: Page, line: Line, table: _Table) -> Iterator[_Piece]:
    text = page.text
    turn = page.turn(line)
    if turn is not None:
        yield from _parts_of_turn(page, line, turn)
    elif line.kind is LineKind.ROW:
        yield from _row(text, line, table)
    elif (
        line.kind is LineKind.LABEL
        or page.is_title(line)
        or (page.speakers and not page.has_head and is_field_line(text, line))
    ):
        yield _Piece(line.start, line.end, is_line=True, is_label=True)
    else:
        yield from _sentences(text, line)


def _parts_of_turn(page: Page, line: Line, turn: Utterance) -> Iterator[_Piece]:
    """A turn as one piece, a long one as several, of which the later ones state the speaker."""
    text = page.text
    said = max(turn.said, line.start)
    count = words_said(text[said : line.end], page.speakers)
    if not count:
        return
    first = min(turn.start, line.start) if turn.said >= line.start else said
    end = first
    is_whole = turn.said >= line.start
    for _, stop in spans_within(text, said, line.end):
        if end > first and stop - first > _LONGEST_TURN:
            yield _spoken(text, (first, end), turn, is_whole=is_whole, is_short=False)
            first = end + len(text[end:stop]) - len(text[end:stop].lstrip())
            is_whole = False
        end = stop
    is_stamped = turn.start - line.start >= _SHORTEST_STAMP  # a reply of another time joins no neighbour
    yield _spoken(text, (first, end), turn, is_whole=is_whole, is_short=count <= _FEW_WORDS and not is_stamped)


def _spoken(text: str, span: tuple[int, int], turn: Utterance, *, is_whole: bool, is_short: bool) -> _Piece:
    fact = "" if is_whole else f"{turn.speaker}: {one_line(text[slice(*span)])}"
    return _Piece(*span, is_line=False, is_short=is_short, fact=fact)


def _row(text: str, line: Line, table: _Table) -> Iterator[_Piece]:
    cells = text[line.start : line.end]
    fact = table.read(cells)
    if not fact or is_unnamed_row(cells):
        return
    left = len(cells) - len(cells.lstrip("| \t"))
    right = len(cells.rstrip("| \t"))
    yield _Piece(line.start + left, max(line.start + right, line.start + left), is_line=False, fact=fact)


def _sentences(text: str, line: Line) -> Iterator[_Piece]:
    spans = list(spans_within(text, line.start + marker_length(text, line), line.end))
    is_field = len(spans) == 1 and is_field_line(text, line)
    for row, (start, end) in enumerate(spans):
        is_line = len(spans) == 1 and not _SAYS["ended"].search(text, max(start, end - _FRAGMENT), end)
        is_label = bool(_SAYS["announces"].search(text, max(start, end - _FRAGMENT), end))
        is_label = is_label or _is_date(text, start, end)
        is_short = end - start < _FRAGMENT and end - start + len(_SAYS["wide"].findall(text, start, end)) < _FRAGMENT
        is_brief = is_short or (
            len(text[start:end].split()) <= _FEW_WORDS and not _SAYS["wide"].search(text, start, end)
        )
        if is_brief and row == 0 and len(spans) > 1:
            is_label = True  # `2. Night duty. From May on …`: what the sentences after it are about
        yield _Piece(start, end, is_line, is_label, is_short=is_short, is_field=is_field and is_line)


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
    is_field = held.is_field and piece.is_field
    return replace(
        piece, start=held.start, is_line=is_line, is_short=False, is_field=is_field, opens=held.opens, fact=fact
    )


def _joins(held: _Piece, piece: _Piece) -> bool:
    length = held.end - held.start
    if held.is_label:
        return not piece.is_label or (length < _LONGEST_TITLES and not piece.opens)
    if piece.is_label:
        return False
    if held.is_field and piece.is_field and not piece.opens:
        return length < _FORM
    if held.is_line and piece.is_line:
        return length < LEAST_LENGTH
    return held.is_short or piece.is_short
