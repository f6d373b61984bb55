"""Office files, PDF, HTML and CSV to Markdown text, by MarkItDown's converters; nothing is ever fetched."""

import csv
import io
import re
from functools import cache
from typing import Any

from sag_pipeline.steps.decoding import decode
from sag_pipeline.steps.packages import BoundError, looked_through, refuse_sparse
from sag_pipeline.steps.sources import SourceOptions

CONVERTED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", ".csv"})
_TEXTUAL = frozenset({".html", ".htm", ".csv"})
_ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lay in memory: it differs from run to run."""
_PACKAGES = frozenset({".docx", ".pptx", ".xlsx"})


def convert(suffix: str, payload: bytes, options: SourceOptions | None = None) -> tuple[str | None, str]:
    """Title, where the file names one, and text.

    The converter is chosen by suffix and given bytes alone: no address, so none is opened.

    Raises:
        ValueError: If the file is broken, breaks a bound or holds no text, with the reason.
        MemoryError: If the file needs more memory than this process may have.

    """
    from markitdown import StreamInfo  # noqa: PLC0415  loads slowly; only runs with such files need it

    options = options or SourceOptions()
    info = StreamInfo(extension=suffix, charset="utf-8" if suffix in _TEXTUAL else None)
    payload = _checked(suffix, payload, options)
    try:
        result = converter(suffix).convert(io.BytesIO(payload), info)
    except MemoryError:
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise _broken(suffix, error) from error
    text = result.text_content or ""
    if not text.strip():
        raise ValueError(f"no text in the {suffix[1:]} file" + ("; a scan needs OCR first" if suffix == ".pdf" else ""))
    if len(text) > options.max_bytes:
        raise ValueError(
            f"{len(text):,} characters of text are over the limit of {options.max_bytes:,}; "
            "split it or raise `max_bytes`"
        )
    return result.title, text


def _checked(suffix: str, payload: bytes, options: SourceOptions) -> bytes:
    """The bytes as the converter may have them, after a look at what it would make of them."""
    if suffix in _TEXTUAL:
        text = decode(payload)
        if suffix == ".csv":
            _refuse_sparse_lines(text)
        return text.encode("utf-8", "replace")
    if suffix in _PACKAGES:
        try:
            return looked_through(payload, options.unpacked_bytes)
        except (MemoryError, BoundError):
            raise
        except Exception as error:  # an archive's reader raises anything too
            raise _broken(suffix, error) from error
    return payload


def _broken(suffix: str, error: Exception) -> ValueError:
    reason = _ADDRESS.sub("", " ".join(str(error).split()))[:200] or type(error).__name__
    return ValueError(f"broken {suffix[1:]} file: {reason}")


def _refuse_sparse_lines(text: str) -> None:
    """Every line becomes as wide as the widest one."""
    lines = widest = cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline="")):
            lines, widest, cells = lines + 1, max(widest, len(row)), cells + len(row)
    except csv.Error as error:
        raise _broken(".csv", error) from error
    refuse_sparse("the file", lines, widest, cells)


@cache
def converter(suffix: str) -> Any:  # noqa: ANN401  MarkItDown has no types
    """The converter of a kind of file."""
    from markitdown import converters  # noqa: PLC0415

    names = {
        ".pdf": "PdfConverter",
        ".docx": "DocxConverter",
        ".pptx": "PptxConverter",
        ".xlsx": "XlsxConverter",
        ".csv": "CsvConverter",
    }
    return getattr(converters, names.get(suffix, "HtmlConverter"))()
