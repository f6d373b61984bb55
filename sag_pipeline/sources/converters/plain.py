"""Convert files of plain characters that have a structure: CSV, JSON records and RTF."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph, row_lines, table_lines

_DELIMITERS = ",;\t|"
_SAMPLE = 20
_CELL_IN_QUOTES = re.compile(r'"[^"]*+"')
_LEAST_BARS = 2
_NAME_LENGTH = 120


def convert_csv(payload: bytes) -> Converted:
    """The rows of a CSV file; the delimiter is the one that most lines have equally often."""
    text = payload.decode("utf-8", "replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text))
    return Converted(None, (TextPiece(f"{line}\n") for line in table_lines(rows)))


def delimiter_of(text: str) -> str:
    r"""The delimiter of a CSV file.

    Example:
        >>> delimiter_of("name;price\npump;3,50\nseal;1,20\n")
        ';'
    """
    lines = text[: 1 << 16].splitlines()[:_SAMPLE]
    bare = [_CELL_IN_QUOTES.sub("", line) for line in lines if line.strip()]

    def agreement(mark: str) -> tuple[int, int]:
        counts = [line.count(mark) for line in bare]
        most = max(counts, key=counts.count, default=0)
        return (counts.count(most) if most else 0, most)

    return max(_DELIMITERS, key=agreement) if bare else ","


def convert_rtf(payload: bytes) -> Converted:
    """The text of an RTF file; its table rows are lines of cells with a bar behind each."""
    from striprtf.striprtf import rtf_to_text  # noqa: PLC0415  only needed for such files

    if not payload.lstrip().startswith(b"{\\rtf"):
        raise ValueError("it does not begin with {\\rtf")
    text = rtf_to_text(  # type: ignore[no-untyped-call]
        payload.decode("latin-1"), errors="ignore"
    )
    return Converted(None, (TextPiece(f"{line}\n") for line in _with_tables(text.split("\n"))))


def _with_tables(lines: Sequence[str]) -> Iterator[str]:
    for is_row, run in groupby(lines, key=lambda line: line.rstrip().endswith("|") and line.count("|") >= _LEAST_BARS):
        if is_row:
            yield from table_lines(line.rstrip().removesuffix("|").split("|") for line in run)
        else:
            yield from run


def records_text(value: Any) -> str | None:  # noqa: ANN401  any JSON
    """The text of JSON records: lines `name: value` of an object, rows of a table of a list of objects; else None."""
    if isinstance(value, dict):
        lines = [f"{name}: {text}" for name, text in _fields(value)]
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        records = [dict(_fields(each)) for each in value]
        lines = [line for each in records for line in row_lines(list(each), list(each.values()))]
    else:
        return None
    return "\n".join(lines) or None


def _fields(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values with content; a name inside another is joined with a dot."""
    stack = list(record.items())[::-1]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack += [(_joined(name, inner), each) for inner, each in value.items()][::-1]
        elif text := _value_text(value):
            yield one_paragraph(name), text


def _joined(outer: str, inner: str) -> str:
    """Both names, or the inner one where they are long: the outer one is repeated for every field in it."""
    name = f"{outer[:_NAME_LENGTH]}.{inner}"
    return name if len(name) <= _NAME_LENGTH else inner


def _value_text(value: Any) -> str:  # noqa: ANN401
    if value is None:
        return ""
    if isinstance(value, str):
        return one_paragraph(value)
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return "; ".join(filter(None, map(_value_text, value)))
    return json.dumps(value, ensure_ascii=False)
