"""The tables of documents as relations: those with the same columns are one, whose rows a question may filter."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.language.data import asked_words
from sag_retrieval.language.layout import LineKind, logical_lines
from sag_retrieval.language.units import is_currency, unit_name
from sag_retrieval.language.words import fold, tokens
from sag_retrieval.release.arrays import Index
from sag_retrieval.statements.header_classes import HeaderClass, header_class

CellKind = Literal["number", "date", "text"]
_LEAST_SHARE: Final = 0.6
"""Of the cells of a column, that are numbers or dates: a few may say `open` or `n/a`."""
_YEARS: Final = (1500, 2100)
_LONGEST_NAME: Final = 30
"""Mean characters of cells that name something."""
_LONGEST_BANNER: Final = 80
"""Characters of a line right above a table that says what it is."""
_LEAST_TITLES: Final = 2
"""Titles of a folder that have a term which tells what the folder is about."""
_MOST_CELLS: Final = 500_000
"""Cells of a release beyond which its tables are not read for questions: they would take seconds."""


@dataclass(frozen=True, slots=True)
class CellValue:
    """What a cell says, and the number with its unit or the day that it is."""

    text: str
    number: float | None
    unit: str | None
    date: str | None


@dataclass(frozen=True, slots=True)
class RelationRow:
    """A row: the characters `start` to before `end` of its document, and its filled cells by column."""

    document_id: str
    start: int
    end: int
    cells: dict[str, CellValue]


@dataclass(frozen=True)
class RelationColumn:
    """A column of a relation: its name, what its cells are, and what its name names."""

    header: str
    kind: CellKind
    cells: tuple[CellValue, ...]

    @property
    def of_class(self) -> HeaderClass | None:
        """What the header names: an owner, a deadline, an amount, …."""
        return header_class(self.header)

    @property
    def holds_years(self) -> bool:
        """Whether its numbers are years."""
        numbers = [cell.number for cell in self.cells if cell.number is not None]
        is_plain = all(cell.unit is None and cell.text.isdigit() for cell in self.cells if cell.number is not None)
        return bool(numbers) and is_plain and _YEARS[0] <= min(numbers) and max(numbers) < _YEARS[1]

    @property
    def is_repeated(self) -> bool:
        """Whether several rows have the same value, as those of one supplier."""
        return len(self.values) < len(self.cells)

    @property
    def holds_names(self) -> bool:
        """Whether its texts are names, not sentences."""
        return bool(self.cells) and sum(len(cell.text) for cell in self.cells) <= _LONGEST_NAME * len(self.cells)

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Each different text, by its folded form."""
        return {fold(cell.text): cell.text for cell in self.cells}


@dataclass(frozen=True)
class Relation:
    """The rows of all tables with the same columns; a table that stands twice counts once."""

    tables: tuple[tuple[str, int], ...]
    titles: tuple[str, ...]
    rows: tuple[RelationRow, ...]
    headers: tuple[str, ...]
    folder: frozenset[str] = frozenset()
    """The terms of the folder of all its tables, and those that only titles of its documents have, two at least."""

    @cached_property
    def columns(self) -> tuple[RelationColumn, ...]:
        """Its columns, in order."""
        return tuple(_column(header, [row.cells[header] for row in self.rows if header in row.cells])
                     for header in self.headers)  # fmt: skip

    @cached_property
    def totals(self) -> tuple[str, ...]:
        """What the first column says of rows that add up the others."""
        words = {fold(word) for word in asked_words("totals")}
        return tuple(text for folded, text in self.first.values.items() if folded.strip(" :：") in words)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The terms of the titles, headings and file names above its rows."""
        return frozenset(term for title in self.titles for term in tokens(title))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of its columns and titles, and the classes that its columns are of."""
        classes = {column.of_class for column in self.columns}
        return self.subjects.union(*(tokens(header) for header in self.headers), filter(None, classes))

    @cached_property
    def currency(self) -> RelationColumn | None:
        """The column that says in which currency the amounts of a row are, such as `EUR` or `美元`."""
        for column in self.columns:
            if column.values and all(is_currency(unit_name(text)) for text in column.values.values()):
                return column
        return None

    @cached_property
    def first(self) -> RelationColumn:
        """The column that names its rows: not one that only counts them, where words stand behind it."""
        numbers = [cell.number or 0 for cell in self.columns[0].cells if cell.text.strip(".) ").isdigit()]
        is_counter = len(numbers) == len(self.columns[0].cells) > 0 and max(numbers) <= len(self.rows)
        return next((each for each in self.columns[1:] if is_counter and each.kind == "text"), self.columns[0])


def _column(header: str, cells: Sequence[CellValue]) -> RelationColumn:
    least = max(1.0, _LEAST_SHARE * len(cells))
    kind: CellKind = "text"
    if sum(cell.date is not None for cell in cells) >= least:
        kind = "date"
    elif sum(cell.number is not None for cell in cells) >= least:
        kind = "number"
    return RelationColumn(header, kind, tuple(cells))


def read_relations(index: Index) -> tuple[Relation, ...]:
    """The relations of a release, those of most rows first; none of a release with more than half a million cells."""
    cells = index.rows["tables"]
    if not 0 < cells.num_rows <= _MOST_CELLS:
        return ()
    cells = cells.filter(pc.cast(pc.binary_length(cells["header"]), pa.bool_()))  # a scalar would import pandas
    tables = _tables(cells)
    titles, about = _titles(index, {document for document, _ in tables}), _folders(index)
    by_headers: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for place, rows in tables.items():
        headers = tuple(dict.fromkeys(header for row in rows for header in row.cells))
        if len({header.casefold() for header in headers}) == len(headers) > 1:
            by_headers.setdefault(tuple(sorted(headers)), []).append(place)
    made = [_relation(places, tables, titles, about) for places in by_headers.values()]
    return tuple(sorted(made, key=lambda each: (-len(each.rows), each.tables)))


def _tables(cells: pa.Table) -> dict[tuple[str, int], list[RelationRow]]:
    found: dict[tuple[str, int], dict[int, RelationRow]] = {}
    for cell in cells.to_pylist():
        rows = found.setdefault((cell["document_id"], cell["table_index"]), {})
        row = rows.get(cell["row_index"])
        if row is None:
            row = rows[cell["row_index"]] = RelationRow(cell["document_id"], cell["start"], cell["end"], {})
        value = CellValue(cell["text"], cell["number"], cell["unit"], cell["date"])
        row.cells.setdefault(cell["header"], value)
    return {place: list(rows.values()) for place, rows in found.items()}


def _relation(
    places: Iterable[tuple[str, int]],
    tables: Mapping[tuple[str, int], Sequence[RelationRow]],
    titles: Mapping[str, "_Headings"],
    about: Mapping[str, frozenset[str]],
) -> Relation:
    """The tables at some places as one, each that repeats another left out."""
    kept: dict[tuple[tuple[tuple[str, str], ...], ...], tuple[str, int]] = {}
    for place in places:
        said = tuple(tuple((name, cell.text) for name, cell in row.cells.items()) for row in tables[place])
        kept.setdefault(said, place)
    chosen = tuple(kept.values())
    rows = tuple(row for place in chosen for row in tables[place])
    above = dict.fromkeys(title for place in chosen for title in titles[place[0]].above(tables[place][0].start))
    order = {name: -n for n, name in enumerate(reversed(list(tables[chosen[0]][0].cells)))}
    headers = dict.fromkeys(sorted((name for row in rows for name in row.cells), key=lambda name: order.get(name, 1)))
    folder = frozenset[str].intersection(*(about[str(PurePosixPath(document).parent)] for document, _ in chosen))
    return Relation(chosen, tuple(above), rows, tuple(headers), folder)


def _folders(index: Index) -> dict[str, frozenset[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in index.rows["documents"].select(["document_id", "title"]).to_pylist():
        counts.setdefault(str(PurePosixPath(row["document_id"]).parent), Counter()).update(set(tokens(row["title"])))
    spread = Counter(term for own in counts.values() for term in own)
    return {
        folder: frozenset(tokens(folder)) | {t for t, n in own.items() if n >= _LEAST_TITLES and spread[t] == 1}
        if len(counts) > 1
        else frozenset()
        for folder, own in counts.items()
    }


@dataclass(frozen=True)
class _Headings:
    """What stands above the tables of a document: its title, the name of its file, headings, the line right above."""

    names: tuple[str, ...]
    starts: Sequence[int]
    headings: Sequence[str]
    texts: Sequence[str]

    def above(self, start: int) -> tuple[str, ...]:
        """The names and the last heading before a table in its passage, else that of the passage."""
        at = int(np.searchsorted(self.starts, start, side="right")) - 1
        if at < 0:
            return self.names
        before = self.texts[at][: start - self.starts[at]]
        lines = logical_lines(before)
        inside = [before[line.start : line.end] for line in lines if line.kind is LineKind.HEADING]
        above = before if lines or not at else self.texts[at - 1]
        banner = (above[line.start : line.end] for line in logical_lines(above)[-1:] if line.kind is LineKind.PROSE)
        named = (each for each in banner if len(each) <= _LONGEST_BANNER)
        return (*self.names, *(inside[-1:] or [self.headings[at] or ""]), *named)


def _titles(index: Index, documents: set[str]) -> dict[str, _Headings]:
    rows = index.rows["documents"].select(["document_id", "title"]).to_pylist()
    chunks, found = index.rows["chunks"].select(["start", "heading", "text"]), {}
    for number, row in enumerate(rows):
        if row["document_id"] in documents:
            first, last = index.arrays.document_chunks[number : number + 2].tolist()
            own: dict[str, Any] = chunks.slice(first, last - first).to_pydict()
            name = PurePosixPath(row["document_id"]).stem
            found[row["document_id"]] = _Headings((row["title"], name), own["start"], own["heading"], own["text"])
    return found
