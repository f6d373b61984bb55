"""Convert files to text: one reader per suffix, by MarkItDown or by a function; nothing is ever fetched."""

import csv
import io
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sag_pipeline.steps.decoding import decode
from sag_pipeline.steps.folders import SourceOptions
from sag_pipeline.steps.packages import BoundError, checked_package, refuse_sparse
from sag_retrieval.core.errors import PluginError
from sag_retrieval.core.plugins import Registry

_ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lay in memory: it differs from run to run."""
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
    converter: str = ""
    """Name of MarkItDown's converter; empty: the file is read otherwise."""
    is_textual: bool = False
    """Whether the bytes are text; the converter receives them as UTF-8."""
    is_package: bool = False
    """Whether it is a ZIP archive, which is checked before it is unpacked."""
    read: Read | None = None
    """A function of the bytes; None: a converter, or the parsing of texts and JSON in `documents`."""

    @property
    def is_converted(self) -> bool:
        """Whether such files are read in the converting process."""
        return bool(self.converter or self.read)


def _adapted(name: str, found: object) -> FileReader:
    if isinstance(found, FileReader):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} cannot read files; name a function of bytes")
    return FileReader(name=name, read=found)


READERS: Final = Registry(
    "sag.readers",
    [
        FileReader(name="md"),
        FileReader(name="txt"),
        FileReader(name="json"),
        FileReader(name="jsonl"),
        FileReader(name="html", converter="HtmlConverter", is_textual=True),
        FileReader(name="htm", converter="HtmlConverter", is_textual=True),
        FileReader(name="csv", converter="CsvConverter", is_textual=True),
        FileReader(name="pdf", converter="PdfConverter"),
        FileReader(name="docx", converter="DocxConverter", is_package=True),
        FileReader(name="pptx", converter="PptxConverter", is_package=True),
        FileReader(name="xlsx", converter="XlsxConverter", is_package=True),
    ],
    _adapted,
)
"""Readers by suffix, without its dot."""


def is_read(suffix: str) -> bool:
    """Whether there is a reader for files of this suffix, such as `.pdf`; no plug-in is loaded."""
    return suffix.removeprefix(".") in READERS


def is_converted(suffix: str) -> bool:
    """Whether such files are read in the converting process, as those of every plug-in are; no plug-in is loaded."""
    name = suffix.removeprefix(".")
    return name in READERS and (name not in READERS.own or READERS.own[name].is_converted)


def reader_of(suffix: str) -> FileReader:
    """The reader of a suffix.

    Raises:
        ValueError: If there is none.
        PluginError: If the package that adds it cannot be used.

    """
    if not is_read(suffix):
        raise ValueError(f"files of kind {suffix!r} are not read")
    return READERS[suffix.removeprefix(".")]


def convert(suffix: str, payload: bytes, options: SourceOptions | None = None) -> tuple[str | None, str]:
    """Title, where the file names one, and text.

    The converter is chosen by suffix and receives only bytes: it has no address to open.

    Raises:
        PluginError: If another package reads such files and cannot be used.
        ValueError: If the file is broken, breaks a bound or holds no text, with the reason.
        MemoryError: If the file needs more memory than this process may have.

    """
    options = options or SourceOptions()
    reader = reader_of(suffix)
    payload = _checked(reader, payload, options)
    try:
        title, text = reader.read(payload) if reader.read else _converted(reader, payload)
        if not (isinstance(title, str | None) and isinstance(text, str)):
            raise TypeError("its reader returned no title and text")  # noqa: TRY301  reported as any fault of a reader
    except MemoryError:
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise _broken(reader, error) from error
    if not text.strip():
        raise ValueError(
            f"no text in the {reader.name} file" + ("; a scan needs OCR first" if suffix == ".pdf" else "")
        )
    if len(text) > options.max_bytes:
        raise ValueError(
            f"{len(text):,} characters of text are over the limit of {options.max_bytes:,}; "
            "split it or raise `max_bytes`"
        )
    return title, text


def _converted(reader: FileReader, payload: bytes) -> tuple[str | None, str]:
    from markitdown import StreamInfo  # noqa: PLC0415  loads slowly; only needed for such files

    info = StreamInfo(extension=f".{reader.name}", charset="utf-8" if reader.is_textual else None)
    result = converter(reader).convert(io.BytesIO(payload), info)
    return result.title, result.text_content or ""


def _checked(reader: FileReader, payload: bytes, options: SourceOptions) -> bytes:
    """The bytes that the converter may receive, after checking how far they would grow."""
    if reader.is_textual:
        text = decode(payload)
        if reader.converter == "CsvConverter":
            _refuse_sparse_lines(reader, text)
        return text.encode("utf-8", "replace")
    if reader.is_package:
        try:
            return checked_package(payload, options.unpacked_bytes)
        except (MemoryError, BoundError):
            raise
        except Exception as error:  # an archive's reader raises anything too
            raise _broken(reader, error) from error
    return payload


def _broken(reader: FileReader, error: Exception) -> ValueError:
    reason = _ADDRESS.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
    return ValueError(f"broken {reader.name} file: {reason}")


def _refuse_sparse_lines(reader: FileReader, text: str) -> None:
    """Refuse a CSV file that grows too far: every line becomes as wide as the widest one."""
    lines = widest = cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline="")):
            lines, widest, cells = lines + 1, max(widest, len(row)), cells + len(row)
    except csv.Error as error:
        raise _broken(reader, error) from error
    refuse_sparse("the file", lines, widest, cells)


@cache
def converter(reader: FileReader) -> Any:  # noqa: ANN401  MarkItDown has no types
    """MarkItDown's converter for a reader's files."""
    from markitdown import converters  # noqa: PLC0415

    return getattr(converters, reader.converter)()


def load_converters() -> None:
    """Load all converters before memory is bounded; a plug-in that fails is reported when a file needs it."""
    for name in READERS:
        with suppress(PluginError):
            reader = READERS[name]
            if reader.converter:
                converter(reader)
