"""Read rows of tables as facts: every value with the name of its column, nothing for empty cells."""

from collections.abc import Iterator, Sequence

from sag_retrieval.language.data import patterns, word_lists
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
