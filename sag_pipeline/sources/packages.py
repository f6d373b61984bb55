"""Check office packages before they are converted: unpacked sizes, elements, declared entities, sparse sheets."""

import io
import re
import zipfile
from dataclasses import dataclass, field
from xml.parsers import expat

from sag_pipeline.sources.converters.pieces import BoundError
from sag_pipeline.sources.folders import SourceOptions

_MOST_PARTS = 20_000
_BLOCK = 1 << 16
_AREA = 100_000
"""A table with fewer cells, empty ones included, is never sparse."""
_SPARSE = 50
_PER_SECOND = 20_000
"""Elements that a converter handles in a second of processor time, where it builds a tree of the part."""
_STREAMED = frozenset({"worksheet", "sst"})
"""Roots of parts that are read element by element, ten times as fast and in little memory."""
_REFERENCE = re.compile("([A-Z]{1,4})[0-9]*")


def check_package(payload: bytes, options: SourceOptions) -> None:
    """Refuse a package that breaks a bound.

    Sizes are those of the archive's directory; no part is read beyond them. No part may declare a document type, where
    entities would stand: office formats have none. Elements are counted, as far as `conversion_seconds` would last.
    """
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
                _refuse_sparse(part.filename, sheet)


def _refuse_sparse(what: str, sheet: "_Sheet") -> None:
    """Refuse a table that is nearly empty, its cells moved together: its text would be many times the file."""
    rows, columns = len(sheet.rows), len(sheet.columns)
    if rows * columns > max(_AREA, _SPARSE * sheet.cells):
        raise BoundError(
            f"{what} has {sheet.cells:,} cells spread over {rows:,} rows and {columns:,} columns, less than one in "
            f"{_SPARSE} places; keep the filled cells together"
        )


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
    row: int = 0
    column: int = 0

    def enter(self, name: str, attributes: dict[str, str]) -> None:
        """Record a row or a cell; one without a reference follows the previous one."""
        if name == "row":
            self.row = _number(attributes.get("r", "")) or self.row + 1
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
        with package.open(part) as stream:
            while block := stream.read(_BLOCK):
                parser.Parse(block)
        parser.Parse(b"", True)  # noqa: FBT003  expat's own signature
    except (expat.ExpatError, StopIteration):
        return sheet
    return sheet
