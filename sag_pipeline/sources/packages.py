"""Check office packages before they are converted: unpacked sizes, elements, declared entities, far cells."""

import io
import re
import zipfile
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from sag_pipeline.sources.converters.pieces import BoundError
from sag_pipeline.sources.folders import SourceOptions

_MOST_PARTS = 20_000
_BLOCK = 1 << 16
_AREA = 100_000
"""A table with fewer cells, empty ones included, is never sparse."""
_SPARSE = 50
_CHILD = 2
"""Depth of the elements right below the root."""
_PER_SECOND = 20_000
"""Elements that a converter handles in a second of processor time, where it builds a tree of the part."""
_STREAMED = frozenset({"worksheet", "sst"})
"""Roots of parts that are read element by element, ten times as fast and in little memory."""
_REFERENCE = re.compile("([A-Z]{1,4})[0-9]*")


def checked_package(payload: bytes, options: SourceOptions) -> bytes:
    """Check a package and return what the converter may receive: its bytes, with far cells of sheets moved together.

    Sizes are those of the archive's directory; no part is read beyond them. No part may declare a document type, where
    entities would stand: office formats have none. Elements are counted, as far as `conversion_seconds` would last.

    Raises:
        BoundError: If the package breaks a bound.
        zipfile.BadZipFile: If it is no archive.
    """
    moved: dict[str, bytes] = {}
    elements, most = 0, _PER_SECOND * options.conversion_seconds
    with zipfile.ZipFile(io.BytesIO(payload)) as package:
        parts = package.infolist()
        _refuse_large(parts, options.unpacked_bytes)
        for part in parts:
            if part.filename.lower().endswith((".xml", ".rels")):
                sheet = _look(package, part, most - elements)
                elements += sheet.elements
                if elements > most:
                    raise BoundError(
                        f"more than {most:,} elements, which take longer to convert than {options.conversion_seconds} "
                        "s; split the file, or raise the bound: "
                        f"`sag ingest --set conversion_seconds={2 * options.conversion_seconds}`"
                    )
                if sheet.is_sparse():
                    refuse_sparse(part.filename, len(sheet.rows), len(sheet.columns), sheet.cells)
                    moved[part.filename] = _together(package, part, sheet)
        return _replaced(package, moved) if moved else payload


def refuse_sparse(what: str, rows: int, columns: int, cells: int) -> None:
    """Refuse a table that is nearly all empty: its text would be many times the file.

    Raises:
        BoundError: If there are over 100,000 places, of which less than one in 50 holds anything.
    """
    if _is_sparse(rows, columns, cells):
        raise BoundError(
            f"{what} has {cells:,} cells spread over {rows:,} rows and {columns:,} columns, less than one in {_SPARSE} "
            "places; keep the filled cells together"
        )


def _is_sparse(rows: int, columns: int, cells: int) -> bool:
    return rows * columns > max(_AREA, _SPARSE * cells)


def _refuse_large(parts: list[zipfile.ZipInfo], most: int) -> None:
    if len(parts) > _MOST_PARTS:
        raise BoundError(f"{len(parts):,} parts in the package are over the limit of {_MOST_PARTS:,}; split the file")
    size = sum(part.file_size for part in parts)
    if size > most:
        raise BoundError(
            f"{size:,} bytes unpacked are over the limit of {most:,}; split the file or raise `unpacked_bytes`"
        )


@dataclass(slots=True)
class _Sheet:
    """Which rows and columns of a sheet hold cells; for another part, its elements."""

    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    cells: int = 0
    elements: int = 0
    last_row: int = 0
    row: int = 0
    column: int = 0

    def is_sparse(self) -> bool:
        """Whether the rectangle from the first place to the last cell is nearly all empty."""
        return _is_sparse(self.last_row, max(self.columns, default=1), self.cells)

    def enter(self, name: str, attributes: dict[str, str]) -> None:
        """Record a row or a cell; one without a reference follows the previous one."""
        if name == "row":
            self.row = _number(attributes.get("r", "")) or self.row + 1
            self.last_row = max(self.last_row, self.row)
            self.column = 0
        elif name == "c":
            self.column = _column(attributes.get("r", "")) or self.column + 1
            self.cells += 1
            self.rows.add(self.row)
            self.columns.add(self.column)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 12 else 0  # noqa: PLR2004  no row has as many digits


def _column(reference: str) -> int:
    """The number of a column from 1, `A` … `ZZZZ`; 0 if the reference names none."""
    found = _REFERENCE.match(reference.upper())
    number = 0
    for letter in found[1] if found else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _look(package: zipfile.ZipFile, part: zipfile.ZipInfo, most: int) -> _Sheet:
    """Read a part as XML up to `most` elements; if it is not well formed, the converter reports it."""
    sheet = _Sheet()
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise BoundError(f"{part.filename} declares a document type or entities, which office files never do")

    def enter(name: str, attributes: dict[str, str]) -> None:
        sheet.enter(_local(name), attributes)

    def count(*_: object) -> None:
        sheet.elements += 1
        if sheet.elements > most:
            raise StopIteration

    def root(name: str, _: dict[str, str]) -> None:
        local = _local(name)
        parser.StartElementHandler = enter if local == "worksheet" else None if local in _STREAMED else count

    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.StartElementHandler = root
    try:
        _feed(parser, package, part)
    except (expat.ExpatError, StopIteration):
        return sheet
    return sheet


def _feed(parser: expat.XMLParserType, package: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    with package.open(part) as stream:
        while block := stream.read(_BLOCK):
            parser.Parse(block)
        parser.Parse(b"", True)  # noqa: FBT003  expat's own signature


class _Mover:
    """Rewrites a sheet with rows and columns numbered without gaps; only elements that contain cells are kept."""

    def __init__(self, sheet: _Sheet) -> None:
        self.out = io.StringIO()
        self._sheet = _Sheet()
        self._rows = {row: rank for rank, row in enumerate(sorted(sheet.rows), 1)}
        self._columns = {column: rank for rank, column in enumerate(sorted(sheet.columns), 1)}
        self._depth = self._kept = 0

    def enter(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element, if it is the sheet or is part of its data."""
        is_parent_kept = self._is_kept()
        self._depth += 1
        local = _local(name)
        if not is_parent_kept or (self._depth == _CHILD and local != "sheetData"):
            return
        self._sheet.enter(local, attributes)
        row = self._rows.get(self._sheet.row)
        if local == "row":
            if row is None:  # an empty one
                return
            attributes = {"r": str(row)}
        elif local == "c":
            attributes |= {"r": f"{_letters(self._columns[self._sheet.column])}{row}"}
        self._kept += 1
        self.out.write(f"<{name}{''.join(f' {n}={quoteattr(v)}' for n, v in attributes.items())}>")

    def leave(self, name: str) -> None:
        """Close an element that was opened."""
        if self._is_kept():
            self.out.write(f"</{name}>")
            self._kept -= 1
        self._depth -= 1

    def write(self, text: str) -> None:
        """Text of the cells."""
        if self._is_kept():
            self.out.write(escape(text))

    def _is_kept(self) -> bool:
        return self._kept == self._depth


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _together(package: zipfile.ZipFile, part: zipfile.ZipInfo, sheet: _Sheet) -> bytes:
    mover = _Mover(sheet)
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = mover.enter, mover.leave
    parser.CharacterDataHandler = mover.write
    try:
        _feed(parser, package, part)
    except expat.ExpatError as error:
        raise BoundError(f"broken sheet {part.filename}: {error}") from error
    return mover.out.getvalue().encode()


def _replaced(package: zipfile.ZipFile, parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        for part in package.infolist():
            target.writestr(part.filename, parts.get(part.filename) or package.read(part))
    return out.getvalue()
