"""The tables of a document as rows of cells, each with the name of its column and, of amounts, number and unit."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sag_pipeline.extract.rules.tables import cells_of, columns_of, is_empty, is_second_header, joined_headers
from sag_retrieval.language.amounts import WrittenAmount, read_amount
from sag_retrieval.language.data import patterns
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
    start: int
    """Where its row stands in the document: first character, and after the last."""
    end: int


def table_cells(text: str, language: str = "en") -> Iterator[TableCell]:
    r"""The filled cells below the headers of the Markdown tables of a text, in order.

    Examples:
        >>> [cell[2:7] for cell in table_cells("| Site | EUR |\n|---|---|\n| Oslo | 1,200 |\n")]
        [(0, 'Site', 'Oslo', None, None), (1, 'EUR', '1,200', 1200.0, 'EUR')]

    """
    if "|" not in text:
        return
    for index, (header, rows) in enumerate(_tables(logical_lines(text))):
        columns, first = columns_of(cells_of(text[header.start : header.end])), 0
        for number, row in enumerate(rows):
            cells = cells_of(text[row.start : row.end])
            if not number and is_second_header(columns, cells):
                columns, first = joined_headers(columns, cells), 1
                continue
            for place, cell in enumerate(cells):
                if not is_empty(cell):
                    name = columns[place] if place < len(columns) else ""
                    amount = _amount(cell, name, language)
                    value = amount.low if amount and amount.low == amount.high else None
                    unit = amount.unit or None if amount else None
                    said = cell.replace("\\|", "|")
                    yield TableCell(index, number - first, place, name, said, value, unit, row.start, row.end)


def _tables(lines: Sequence[Line]) -> Iterator[tuple[Line, list[Line]]]:
    """The header and the rows of each table: a row above a rule begins one."""
    header: Line | None = None
    rows: list[Line] = []
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        is_row = line.kind is LineKind.ROW
        is_header = is_row and after is not None and after.kind is LineKind.RULE
        if header is not None and (is_header or not (is_row or line.kind is LineKind.RULE)):
            yield header, rows
            header = None
        if is_header:
            header, rows = line, []
        elif is_row:
            rows.append(line)
    if header is not None:
        yield header, rows


def _amount(cell: str, column: str, language: str) -> WrittenAmount | None:
    """The amount that a cell is, with the unit of its column where it has none itself."""
    found = read_amount(cell, language)
    if found is None or found.unit:
        return found
    unit = _unit_of(column)
    return (unit and read_amount(f"{cell} {unit}", language)) or found


@lru_cache(maxsize=4096)
def _unit_of(column: str) -> str:
    """The currency or unit that a header is, or has in brackets; empty if it is none."""
    in_brackets = _SAYS["unit_in_brackets"].search(column)
    for unit in (in_brackets[1] if in_brackets else "", column):
        written = f"1 {unit}"
        amount = next(quantities(written), None) if unit else None
        if amount is not None and amount.start == 0:
            return unit
    return ""
