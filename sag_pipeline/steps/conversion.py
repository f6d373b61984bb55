"""Office files, PDF, HTML and CSV to Markdown text, by MarkItDown's converters; nothing is ever fetched."""

import io
from functools import cache
from typing import Any

from sag_pipeline.steps.decoding import decode

CONVERTED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", ".csv"})
_TEXTUAL = frozenset({".html", ".htm", ".csv"})


def convert(suffix: str, payload: bytes) -> tuple[str | None, str]:
    """Title, where the file names one, and text.

    The converter is chosen by suffix and given bytes alone: no address, so none is opened.

    Raises:
        ValueError: If the file is broken or holds no text, with the reason.

    """
    from markitdown import StreamInfo  # noqa: PLC0415  loads slowly; only runs with such files need it

    if suffix in _TEXTUAL:
        payload = decode(payload).encode("utf-8", "replace")
    info = StreamInfo(extension=suffix, charset="utf-8" if suffix in _TEXTUAL else None)
    try:
        result = _converter(suffix).convert(io.BytesIO(payload), info)
    except Exception as error:  # parsers of broken files raise anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(f"broken {suffix[1:]} file: {reason}") from error
    text = result.text_content or ""
    if not text.strip():
        raise ValueError(f"no text in the {suffix[1:]} file" + ("; a scan needs OCR first" if suffix == ".pdf" else ""))
    return result.title, text


@cache
def _converter(suffix: str) -> Any:  # noqa: ANN401  MarkItDown has no types
    from markitdown import converters  # noqa: PLC0415

    names = {
        ".pdf": "PdfConverter",
        ".docx": "DocxConverter",
        ".pptx": "PptxConverter",
        ".xlsx": "XlsxConverter",
        ".csv": "CsvConverter",
    }
    return getattr(converters, names.get(suffix, "HtmlConverter"))()
