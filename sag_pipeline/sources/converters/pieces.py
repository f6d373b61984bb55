"""Represent converted text as pieces that name their page, slide, sheet or heading; tables as one line per row."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise

from sag_retrieval.language.dates import dates
from sag_retrieval.statements.header_classes import header_class

_CJK = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_CJK_BREAK = re.compile(rf"(?<=[{_CJK}])\s*\n\s*(?=[{_CJK}])")
_HYPHEN_BREAK = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[a-zà-ÿ])")


class BoundError(ValueError):
    """A file is larger than a converter may receive."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A part of a document's text; pieces are concatenated as they are."""

    text: str
    place: str = ""
    """Where it stands, as a citation shows it: `p. 4`, `slide 2`, `sheet Costs`; empty if unknown."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Title, where the file names one, and the text; pieces may be made while they are read."""

    title: str | None
    pieces: Iterable[TextPiece]
    metadata: Mapping[str, str] = field(default_factory=dict)


def one_paragraph(text: str, *, is_hyphenated: bool = False) -> str:
    r"""A paragraph without its soft line breaks: a space for each, none between Chinese or Japanese characters.

    Example:
        >>> one_paragraph("Seals are\n  replaced. 密封圈\n已更换。")
        'Seals are replaced. 密封圈已更换。'
    """
    text = text.strip().replace("\u200b", "")
    if "\n" in text:
        text = _CJK_BREAK.sub("", text)
        text = _HYPHEN_BREAK.sub("", text) if is_hyphenated else text
    return " ".join(text.split())


def joined(blocks: Sequence[str]) -> str:
    """Blocks with an empty line between them, but for rows of a table and items of a list."""
    parts = list(blocks[:1])
    for before, block in pairwise(blocks):
        is_tight = before[:2] == block[:2] and block.startswith(("| ", "- "))
        parts += ["\n" if is_tight else "\n\n", block]
    return "".join(parts)


Cells = Sequence[str]
_SEEN = 50
"""Rows of a block from which its header is recognised."""
_MOST_TIERS = 3
_NAME_LENGTH = 60
"""A longer column name is cut: it is repeated in every row."""
_LONG_CELL = 300
"""A row with a longer cell is written as paragraphs."""
_EMPTY = frozenset({"nan", "null", "#n/a", "#div/0!", "#ref!", "#value!", "#name?", "#null!", "#num!"})
_LEAST_CLASSES = 2
"""Cells of a row of words that name an owner, a status, …: then it is a header also where the file marks none."""
_LONGEST_DATE = 30
_PERIOD = re.compile(r"(?:[A-Za-z]{1,4}\.?[ '-]?\d{0,2}[ /'-]?)?(?:19|20)\d\d(?:[/-]\d\d)?|[A-Za-z]{1,3}\d")
"""`2024`, `FY2023/24`, `Q1`: has digits, but names a column as well as it fills a cell."""


def table_lines(rows: Iterable[Cells], *, header: int | None = None, is_titled: bool = True) -> Iterator[str]:
    """One line per row that has content; `| Item: pump | Price: 3.50 |`. Linear in the cells.

    Blank rows divide a table into blocks. A block without a header of its own has the columns of the block before.

    Args:
        rows: Cells as text.
        header: Rows of the header where the file marks them; None: they are recognised.
        is_titled: Whether the first row of a table of words alone names its columns.
    """
    names: list[str] = []
    for block in _blocks(rows):
        first = list(islice(block, _SEEN))
        captions = _captions(first)
        yield from (next(filter(None, row)) for row in first[:captions])
        first = first[captions:]
        count = _header_rows(first, is_titled=is_titled) if header is None else min(header, len(first) - 1)
        if count > 0:
            names = _names(first[:count])
        for row in chain(first[max(count, 0) :], block):
            yield from row_lines(names, row)
        header = None if header is None else 0


def _blocks(rows: Iterable[Cells]) -> Iterator[Iterator[list[str]]]:
    """Runs of rows with content, as iterators over one stream."""
    stream = (list(map(_cell, row)) for row in rows)

    def block(first: list[str]) -> Iterator[list[str]]:
        yield first
        for row in stream:
            if not any(row):
                return
            yield row

    for row in stream:
        if any(row):
            current = block(row)
            yield current
            for _ in current:  # whatever the caller left
                pass


def _cell(text: str) -> str:
    bare = one_paragraph(text)
    return "" if bare.lower() in _EMPTY else bare


def _captions(rows: Sequence[Cells]) -> int:
    """Leading rows of a single cell, in the first column of the table, above wider rows."""
    first = min((next(n for n, cell in enumerate(row) if cell) for row in rows), default=0)
    lone = [sum(map(bool, row)) == 1 and bool(row[first]) for row in rows]
    return next((n for n, is_lone in enumerate(lone) if not is_lone), len(rows))


def _header_rows(rows: Sequence[Cells], *, is_titled: bool) -> int:
    """How many rows name the columns: rows of words above values, until every column has a name."""
    width = max(map(len, rows), default=0)
    valued = {column for column in range(width) if _is_valued(rows, column)}
    if not valued:
        filled = list(filter(None, rows[0])) if rows else []
        is_titled = is_titled or sum(header_class(cell) is not None for cell in filled) >= _LEAST_CLASSES
        is_full = len(filled) == width > 1 and len(set(filled)) == width and max(map(len, filled)) <= _NAME_LENGTH
        return int(is_titled and len(rows) > 1 and is_full and _can_name(rows[0], is_first=True))
    count = 0
    while count < min(_MOST_TIERS, len(rows) - 1) and _can_name(rows[count], is_first=not count):
        if count and not _adds_names(rows[:count], rows[count]):
            break
        count += 1
    return count


def _is_valued(rows: Sequence[Cells], column: int) -> bool:
    cells = [row[column] for row in rows[1:] if column < len(row) and row[column]]
    return bool(cells) and sum(map(_is_value, cells)) * 2 > len(cells)


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or a date; `18 February 2026` is half letters."""
    digits = sum(map(str.isdigit, cell))
    if 0 < digits < len(cell) <= _LONGEST_DATE and any(each.end - each.start == len(cell) for each in dates(cell)):
        return True
    return digits > 0 and digits * 2 >= sum(map(str.isalnum, cell)) and not cell[0].isalpha()


def _can_name(row: Cells, *, is_first: bool) -> bool:
    cells = list(filter(None, row))
    is_wide = is_first or len(cells) > 1
    return is_wide and all(not _is_value(cell) or _PERIOD.fullmatch(cell) for cell in cells)


def _adds_names(above: Sequence[Cells], row: Cells) -> bool:
    """Whether a row names columns that the rows above it leave without a name."""
    named = {column for other in above for column, cell in enumerate(other) if cell}
    return any(cell and column not in named for column, cell in enumerate(row))


def _names(rows: Sequence[Cells]) -> list[str]:
    """A name per column: the tiers above it, where a cell over several columns names each of them.

    A mark alone, such as `#` over the numbers of the rows, names nothing.
    """
    width = max(map(len, rows))
    tiers = [[*row, *[""] * (width - len(row))] for row in rows]
    for upper, lower in pairwise(tiers):
        for column in range(1, width):
            if not upper[column] and lower[column] and lower[column - 1]:
                upper[column] = upper[column - 1]
    names = (" ".join(dict.fromkeys(filter(None, cells))) for cells in zip(*tiers, strict=True))
    return [name[:_NAME_LENGTH].strip(" :：") if any(map(str.isalnum, name)) else "" for name in names]


def row_lines(names: Sequence[str], row: Cells) -> Iterator[str]:
    """A row as a line of named cells; as paragraphs if it has one cell or a long one."""
    parts = [
        f"{names[column]}: {cell}" if column < len(names) and names[column] and names[column] != cell else cell
        for column, cell in enumerate(row)
        if cell
    ]
    if len(parts) > 1 and max(map(len, parts)) <= _LONG_CELL:
        yield f"| {' | '.join(parts)} |"
    else:
        yield from parts
