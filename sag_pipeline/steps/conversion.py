"""Files to text by MarkItDown's converters and by readers that other packages add; nothing is ever fetched."""

import csv
import io
import re
from contextlib import suppress
from functools import cache
from typing import Any

from sag_pipeline.steps.conversion import READERS, FileReader, reader_of
from sag_pipeline.steps.decoding import decode
from sag_pipeline.steps.folders import SourceOptions
from sag_pipeline.steps.packages import BoundError, refuse_sparse
from sag_retrieval.core.errors import PluginError

_ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lay in memory: it differs from run to run."""


def convert(suffix: str, payload: bytes, options: SourceOptions | None = None) -> tuple[str | None, str]:
    """Title, where the file names one, and text.

    The converter is chosen by suffix and given bytes alone: no address, so none is opened.

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
            raise TypeError("its reader gave no title and text")  # noqa: TRY301  told as any fault of a reader
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
    from markitdown import StreamInfo  # noqa: PLC0415  loads slowly; only runs with such files need it

    info = StreamInfo(extension=f".{reader.name}", charset="utf-8" if reader.is_textual else None)
    result = converter(reader).convert(io.BytesIO(payload), info)
    return result.title, result.text_content or ""


def _checked(reader: FileReader, payload: bytes, options: SourceOptions) -> bytes:
    """The bytes as the converter may have them, after a look at what it would make of them."""
    if reader.is_textual:
        text = decode(payload)
        if reader.converter == "CsvConverter":
            _refuse_sparse_lines(reader, text)
        return text.encode("utf-8", "replace")
    if reader.is_package:
        try:
            return looked_through(payload, options.unpacked_bytes)
        except (MemoryError, BoundError):
            raise
        except Exception as error:  # an archive's reader raises anything too
            raise _broken(reader, error) from error
    return payload


def _broken(reader: FileReader, error: Exception) -> ValueError:
    reason = _ADDRESS.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
    return ValueError(f"broken {reader.name} file: {reason}")


def _refuse_sparse_lines(reader: FileReader, text: str) -> None:
    """Every line becomes as wide as the widest one."""
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
    """Load what reads files, before memory is bounded; a plug-in that fails says so when a file needs it."""
    for name in READERS:
        with suppress(PluginError):
            reader = READERS[name]
            if reader.converter:
                converter(reader)
