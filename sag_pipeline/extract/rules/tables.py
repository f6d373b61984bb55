"""Read tables: rows as facts, every value with the name of its column, and the cells of a document's tables."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from sag_retrieval.language.amounts import WrittenAmount, read_amount
from sag_retrieval.language.data import patterns, word_lists
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.layout import Line, LineKind, logical_lines
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.quantities import quantities
from sag_retrieval.language.sentences import one_line

_EMPTY = word_lists("en")["EMPTY_CELLS"]
_SAYS = patterns("all")


def cells_of(row: str) -> list[str]:
    """The cells of a row of a Markdown table, empty ones included."""
    bare = row.strip()
    bare = bare.removeprefix("|").removesuffix("|")
    return [one_line(cell) for cell in _SAYS["cell_border"].split(bare)]


def is_empty(cell: str) -> bool:
    """Whether a cell says that nothing is known, as `NaN` does."""
    return cell.lower().strip(" .-–—/") in _EMPTY or not any(map(str.isalnum, cell))


def columns_of(header: Sequence[str]) -> list[str]:
    """The names of columns, empty where a table leaves one unnamed."""
    return ["" if _SAYS["unnamed_column"].fullmatch(cell) or is_empty(cell) else cell for cell in header]


def is_second_header(columns: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether the first row below a header goes on naming columns: no number, and names for unnamed columns."""
    filled = [row for row, cell in enumerate(cells) if not is_empty(cell)]
    if not filled or any(_SAYS["number_of_cell"].fullmatch(cells[row]) for row in filled):
        return False
    unnamed = [row for row in filled if row >= len(columns) or not columns[row]]
    is_sparse = len(filled) < len(cells) or len(unnamed) == len(filled)
    return is_sparse and 2 * len(unnamed) >= len(filled)


def joined_headers(columns: Sequence[str], second: Sequence[str]) -> list[str]:
    """Names from both rows of a header; a name above several columns holds for those on its right too."""
    joined: list[str] = []
    above = ""
    for row, cell in enumerate(second):
        own = columns[row] if row < len(columns) else ""
        above = own or above
        joined.append(own if is_empty(cell) else f"{above} {cell}".strip())
    return joined


def row_fact(columns: Sequence[str], cells: Sequence[str]) -> str:
    """What a row states: `Site: Oslo; EUR: 351.67`."""
    names = [*columns, *[""] * len(cells)]
    return "; ".join(
        f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if not is_empty(cell)
    )


def is_unnamed_row(row: str) -> bool:
    """Whether a row has no name for its numbers: its first cell is empty, and none has a letter."""
    cells = cells_of(row)
    return is_empty(cells[0]) and not any(map(str.isalpha, row))


def amounts_of_columns(fact: str) -> Iterator[Mention]:
    """Amounts whose currency or unit the column names: `EUR: 351.67`, `Length (km): 12`; placed in the fact."""
    for found in _SAYS["value_of_column"].finditer(fact):
        in_brackets = _SAYS["unit_in_brackets"].search(found["column"])
        for unit in (in_brackets[1] if in_brackets else "", found["column"]):
            written = f"{found['number']} {unit}"
            amount = next(quantities(written), None) if unit else None
            if amount is not None and amount.start == 0:
                yield amount._replace(start=found.start("number"), end=found.end("number"))
                break


class TableCell(NamedTuple):
    """A filled cell; indices count from 0, below the header and with empty cells."""

    table_index: int
    row_index: int
    column_index: int
    header: str
    text: str
    number: float | None
    unit: str | None
    date: str | None
    """The day, month or year that the cell is, ISO."""
    start: int
    """Where its row stands in the document: first character, and after the last."""
    end: int


def table_cells(text: str, language: str = "en") -> Iterator[TableCell]:
    r"""The filled cells of the tables of a text, in order: Markdown below a rule, or rows that repeat their headers.

    Examples:
        >>> [cell[2:7] for cell in table_cells("| Site | EUR |\n|---|---|\n| Oslo | 1,200 |\n")]
        [(0, 'Site', 'Oslo', None, None), (1, 'EUR', '1,200', 1200.0, 'EUR')]
        >>> [cell[1:5] for cell in table_cells("| Site: Oslo | EUR: 3 |\n| Site: Bonn | EUR: 5 |\n")][2:]
        [(1, 0, 'Site', 'Bonn'), (1, 1, 'EUR', '5')]
    """
    if "|" not in text:
        return
    for index, rows in enumerate(_tables(text, logical_lines(text))):
        for number, (row, cells) in enumerate(rows):
            for place, name, cell in cells:
                if is_empty(cell):
                    continue
                amount = _amount(cell, name, language)
                value = amount.low if amount and amount.low == amount.high else None
                unit = amount.unit or None if amount else None
                day = None if amount else _date(cell, language)
                said = cell.replace("\\|", "|")
                yield TableCell(index, number, place, name, said, value, unit, day, row.start, row.end)


_Cells = list[tuple[int, str, str]]
"""Column, its name, and what the cell says."""


def _tables(text: str, lines: Sequence[Line]) -> Iterator[list[tuple[Line, _Cells]]]:
    """The rows of each table with their cells."""
    for header, rows in _runs(lines):
        cells = [cells_of(text[row.start : row.end]) for row in rows]
        if header is None:
            yield from filter(None, [_labelled(rows, cells)])
            continue
        columns, first = columns_of(cells_of(text[header.start : header.end])), 0
        if cells and is_second_header(columns, cells[0]):
            columns, first = joined_headers(columns, cells[0]), 1
        names = [*columns, *[""] * max(map(len, cells), default=0)]
        yield [
            (row, [(place, names[place], cell) for place, cell in enumerate(own)])
            for row, own in zip(rows[first:], cells[first:], strict=True)
        ]


def _labelled(rows: Sequence[Line], cells: Sequence[Sequence[str]]) -> list[tuple[Line, _Cells]]:
    """Rows whose cells repeat the names of their columns, as converters write them; none where few do.

    A column that few rows fill is one where every cell has a name.
    """
    split = [[cell.partition(": ") for cell in own] for own in cells]
    counts = Counter(name for own in split for name, mark, _ in own if mark)
    names = [name for name, count in counts.items() if 2 * count > len(rows)]
    if sum(counts[name] for name in names) * 2 <= sum(map(len, cells)):
        return []
    if all(mark for own in split for _, mark, _ in own):
        names = list(counts)
    place = {name: number for number, name in enumerate(names)}
    return [
        (row, [(place[name], name, cell) for name, mark, cell in own if mark and name in place])
        for row, own in zip(rows, split, strict=True)
    ]


def _runs(lines: Sequence[Line]) -> Iterator[tuple[Line | None, list[Line]]]:
    """The rows of each table: a row above a rule is its header; rows in a run without one have none."""
    for is_table, group in groupby(lines, key=lambda line: line.kind in (LineKind.ROW, LineKind.RULE)):
        run = list(group)
        if not is_table:
            continue
        kinds = [line.kind for line in run]
        heads = [n for n, pair in enumerate(pairwise(kinds)) if pair == (LineKind.ROW, LineKind.RULE)]
        for start, end in pairwise(sorted({0, *heads, len(run)})):
            header = run[start] if start in heads else None
            rows = [line for line in run[start:end] if line.kind is LineKind.ROW and line is not header]
            if header or rows:
                yield header, rows


def _amount(cell: str, column: str, language: str) -> WrittenAmount | None:
    """The amount that a cell is, with the unit of its column where it has none itself."""
    found = read_amount(cell, language)
    if found is None or found.unit:
        return found
    unit = _unit_of(column)
    return (unit and read_amount(f"{cell} {unit}", language)) or found


def _date(cell: str, language: str) -> str | None:
    """The day, month or year that a cell is; None for anything else."""
    if not any(map(str.isdigit, cell)):
        return None
    found = [each for each in dates(cell, language) if (each.start, each.end) == (0, len(cell))]
    return max((str(each.value) for each in found if each.key_type == DATE), key=len, default=None)


@lru_cache(maxsize=4096)
def _unit_of(column: str) -> str:
    """The currency or unit that a header is, or has in brackets; empty if it is none."""
    in_brackets = _SAYS["unit_in_brackets"].search(column)
    for unit in (in_brackets[1] if in_brackets else "", column):
        written = f"1 {unit}"
        amount = next(quantities(written), None) if unit else None
        if amount is not None and (amount.start, amount.end) == (0, len(written)):
            return unit
    return ""
