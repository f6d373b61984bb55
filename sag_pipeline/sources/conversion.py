"""Convert files to text: one reader per suffix, under bounds on size and package; nothing is ever fetched."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from pathlib import PurePath
from typing import Final, NamedTuple
from xml.parsers import expat

from sag_pipeline.sources.converters.html import convert_html
from sag_pipeline.sources.converters.mail import convert_eml, convert_msg
from sag_pipeline.sources.converters.office import convert_docx, convert_epub, convert_odt, convert_pptx, convert_xlsx
from sag_pipeline.sources.converters.pdf import convert_pdf
from sag_pipeline.sources.converters.pieces import BoundError, Converted, TextPiece
from sag_pipeline.sources.converters.plain import convert_csv, convert_rtf
from sag_pipeline.sources.converters.programs import LEGACY, convert_picture, installed, modern
from sag_pipeline.sources.decoding import clean, decode, decode_html
from sag_pipeline.sources.folders import SourceOptions
from sag_retrieval.core.errors import PluginError
from sag_retrieval.core.plugins import Registry

_ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lay in memory: it differs from run to run."""
_MAILS = (".eml", ".msg", ".mbox")
_COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1")
"""How an encrypted office file begins, and one of the old binary formats."""
_LIBRARIES: Final = {
    "lxml.html": "lxml",
    "mammoth": "mammoth",
    "openpyxl": "openpyxl",
    "oxmsg": "python-oxmsg",
    "pdfplumber": "pdfplumber",
    "pdfminer": "pdfminer.six",
    "pptx": "python-pptx",
    "striprtf.striprtf": "striprtf",
}
"""Module → distribution of all that parses files."""

Read = Callable[[bytes], tuple[str | None, str]]
"""From a file's bytes to its title, if it names one, and its text; raises ValueError with the reason if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReader:
    """How files of a suffix are read.

    A plug-in is such a reader with `read`, or the function `read` alone. It runs in the converting process, under the
    bounds of `SourceOptions`, and receives only bytes.
    """

    name: str
    """The suffix, in lower case and without its dot."""
    convert: Callable[[bytes, SourceOptions], Converted] | None = None
    decode: Callable[[bytes], str] | None = None
    """For files of text: the converter receives the decoded text as UTF-8."""
    is_package: bool = False
    """Whether it is a ZIP archive, which is checked before it is unpacked."""
    read: Read | None = None
    """A function of the bytes; with neither, `documents` parses texts and JSON."""

    @property
    def is_converted(self) -> bool:
        """Whether such files are read in the converting process."""
        return bool(self.convert or self.read)


class Text(NamedTuple):
    """What a file was converted to."""

    title: str | None
    text: str
    places: list[tuple[int, str]]
    """Offset of the first character and name of each page, slide or sheet, in order; empty if there are none."""
    metadata: Mapping[str, str]


def _adapted(name: str, found: object) -> FileReader:
    if isinstance(found, FileReader):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} cannot read files; name a function of bytes")
    return FileReader(name=name, read=found)


def _attachment(options: SourceOptions, name: str, payload: bytes) -> Iterator[TextPiece]:
    """What is attached to a mail as parts of its text, each a place; none of a kind that is not read, or of a mail."""
    suffix = PurePath(name).suffix.lower()
    if not (payload and is_read(suffix)) or suffix in _MAILS or lacks_ocr(suffix, options):
        return
    reader = reader_of(suffix)
    try:
        found = _converted(reader, payload, options) if reader.is_converted else None
        pieces = found.pieces if found else [TextPiece(decode(payload))]
        yield TextPiece(f"\n\n# {name}\n\n", name)
        for piece in pieces:
            yield TextPiece(piece.text, f"{name} {piece.place}".strip())
    except (MemoryError, BoundError):
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise _broken(reader, error) from error


def _legacy(name: str, payload: bytes, options: SourceOptions) -> Converted:
    return _converted(reader_of(LEGACY[name]), modern(payload, name), options)


def _pdf(payload: bytes, options: SourceOptions) -> Converted:
    return convert_pdf(payload, options.ocr, memory=options.conversion_memory)


PICTURES: Final = ("png", "jpg", "jpeg", "tif", "tiff", "webp", "bmp")
CODE: Final = tuple(
    "yaml yml toml ini cfg py pyi js mjs ts jsx tsx java kt scala c h cc cpp hpp cs go rs rb php pl lua r jl sh"
    " bash ps1 sql css scss swift tex rst".split()
)
"""Suffixes of texts whose places are lines."""

READERS: Final = Registry(
    "sag.readers",
    [
        FileReader(name="md"),
        FileReader(name="txt"),
        FileReader(name="json"),
        FileReader(name="jsonl"),
        *(FileReader(name=name) for name in CODE),
        *(
            FileReader(name=name, convert=lambda payload, _: convert_html(payload), decode=decode_html)
            for name in ("html", "htm", "xhtml")
        ),
        FileReader(name="csv", convert=lambda payload, _: convert_csv(payload), decode=decode),
        FileReader(name="rtf", convert=lambda payload, _: convert_rtf(payload)),
        FileReader(name="pdf", convert=_pdf),
        FileReader(name="docx", convert=lambda payload, _: convert_docx(payload), is_package=True),
        FileReader(name="pptx", convert=lambda payload, _: convert_pptx(payload), is_package=True),
        FileReader(name="xlsx", convert=lambda payload, _: convert_xlsx(payload), is_package=True),
        FileReader(name="odt", convert=lambda payload, _: convert_odt(payload), is_package=True),
        FileReader(name="epub", convert=lambda payload, _: convert_epub(payload), is_package=True),
        *(
            FileReader(name=name, convert=lambda payload, options: convert_eml(payload, partial(_attachment, options)))
            for name in ("eml", "mbox")
        ),
        *(
            FileReader(name=name, convert=lambda payload, options: convert_picture(payload, options.ocr))
            for name in PICTURES
        ),
        *(FileReader(name=name, convert=partial(_legacy, name)) for name in LEGACY),
        FileReader(name="msg", convert=lambda payload, options: convert_msg(payload, partial(_attachment, options))),
    ],
    _adapted,
)


def is_read(suffix: str) -> bool:
    """Whether there is a reader for files of this suffix, such as `.pdf`; no plug-in is loaded."""
    return suffix.removeprefix(".") in READERS


def lacks_ocr(suffix: str, options: SourceOptions) -> bool:
    """Whether such files are pictures, and no OCR is asked for."""
    return not options.ocr and suffix.removeprefix(".") in PICTURES


def is_converted(suffix: str) -> bool:
    """Whether such files are read in the converting process, as those of every plug-in are; no plug-in is loaded."""
    name = suffix.removeprefix(".")
    return name in READERS and (name not in READERS.own or READERS.own[name].is_converted)


def reader_of(suffix: str) -> FileReader:
    """The reader of a suffix."""
    if not is_read(suffix):
        raise ValueError(f"files of kind {suffix!r} are not read")
    return READERS[suffix.removeprefix(".")]


def convert(suffix: str, payload: bytes, options: SourceOptions | None = None) -> Text:
    """Title, where the file names one, clean text, and the places in it.

    The converter is chosen by suffix and receives only bytes: it has no address to open.

    Raises:
        PluginError: If another package reads such files and cannot be used.
        ValueError: If the file is broken, breaks a bound or holds no text, with the reason.
        MemoryError: If the file needs more memory than this process may have.
    """
    options = options or SourceOptions()
    reader = reader_of(suffix)
    try:
        found = _text(_converted(reader, payload, options), options.max_bytes)
    except (MemoryError, BoundError):
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise _broken(reader, error) from error
    if not found.text.strip():
        raise ValueError(
            f"no text in the {reader.name} file"
            + ("; a scan needs OCR: `sag ingest --set ocr=eng`" if suffix == ".pdf" and not options.ocr else "")
        )
    return found


def _converted(reader: FileReader, payload: bytes, options: SourceOptions) -> Converted:
    if reader.decode:
        payload = reader.decode(payload).encode("utf-8", "replace")
    if reader.is_package:
        if payload.startswith(_COMPOUND):
            raise ValueError("it has a password or is of an older kind; save it without, as a current kind")
        check_package(payload, options)
    if reader.convert:
        return reader.convert(payload, options)
    assert reader.read is not None
    title, text = reader.read(payload)
    if not (isinstance(title, str | None) and isinstance(text, str)):
        raise TypeError("its reader returned no title and text")
    return Converted(title, [TextPiece(text)])


def _text(converted: Converted, most: int) -> Text:
    """The pieces joined and cleaned; read one by one, so that a text over the bound is never held whole."""
    parts: list[str] = []
    places: list[tuple[int, str]] = []
    length = 0
    for piece in converted.pieces:
        text = clean(piece.text)
        if piece.place != (places[-1][1] if places else ""):
            places.append((length, piece.place))
        length += len(text)
        if length > most:
            raise BoundError(
                f"{length:,} characters of text and more are over the limit of {most:,}; split it or raise `max_bytes`"
            )
        parts.append(text)
    return Text(converted.title, "".join(parts), places, converted.metadata)


def _broken(reader: FileReader, error: Exception) -> ValueError:
    reason = _ADDRESS.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
    return ValueError(f"broken {reader.name} file: {reason}")


def load_converters() -> None:
    """Load all libraries before memory is bounded; a plug-in that fails is reported when a file needs it."""
    for module in _LIBRARIES:
        import_module(module)
    for name in READERS:
        with suppress(PluginError):
            READERS[name]


@cache
def parser_versions() -> tuple[str, ...]:
    """Versions of what parses files, and programs: a file that was skipped is read again when one changes."""
    return (*(f"{name} {version(name)}" for name in _LIBRARIES.values()), *READERS.packages(), *installed())


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
