"""The tables of a document as rows of cells, each with the name of its column and, of amounts, number and unit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from sag_pipeline.extract.rules.tables import cells_of, columns_of, is_empty, is_second_header, joined_headers
from sag_retrieval.language.amounts import WrittenAmount, read_amount
from sag_retrieval.language.data import patterns
from sag_retrieval.language.dates import DATE, dates
from sag_retrieval.language.layout import Line, LineKind, logical_lines
from sag_retrieval.language.quantities import quantities

_SAYS = patterns("all")


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
