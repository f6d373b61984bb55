"""Convert OpenDocument texts: headings, paragraphs, lists and tables of `content.xml`, as it is saved."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph, table_lines

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DROPPED = frozenset(
    f"{_TEXT}{name}"
    for name in (
        "table-of-content alphabetical-index illustration-index table-index tracked-changes sequence-decls".split()
    )
) | {f"{_OFFICE}annotation", f"{_OFFICE}forms"}
_MOST_REPEATED = 50
"""Times that a repeated cell or row is written: a bound, as its text is repeated."""


def convert_odt(payload: bytes) -> Converted:
    """The text of a document."""
    from lxml import etree  # noqa: PLC0415  only needed for such files

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    with zipfile.ZipFile(io.BytesIO(payload)) as package:
        root = etree.fromstring(package.read("content.xml"), parser)
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise ValueError("no text body; save it as an OpenDocument text")
    for element in list(body.iter(*_DROPPED)):
        above = element.getparent()
        if above is not None:
            _keep_tail(element)
            above.remove(element)
    return Converted(None, [TextPiece("".join(_blocks(body)))])


def _keep_tail(element: Any) -> None:  # noqa: ANN401  lxml has no types
    before = element.getprevious()
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        above = element.getparent()
        above.text = (above.text or "") + (element.tail or "")


def _blocks(body: Any) -> Iterator[str]:  # noqa: ANN401
    from lxml import etree  # noqa: PLC0415

    is_item = False
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if event == "end":
            is_item = is_item and tag != f"{_TEXT}list"
        elif tag == f"{_TEXT}h":
            level = element.get(f"{_TEXT}outline-level") or "1"
            yield f"{'#' * min(int(level) if level.isdecimal() else 1, 6)} {_inline(element)}\n\n"
            walk.skip_subtree()
        elif tag == f"{_TEXT}p":
            text = _inline(element)
            if text:
                yield f"- {text}\n" if is_item else f"{text}\n\n"
            is_item = False
            walk.skip_subtree()
        elif tag == f"{_TEXT}list-item":
            is_item = True
        elif tag == f"{_TABLE}table":
            header = sum(
                1 for part in element.iter(f"{_TABLE}table-header-rows") for _ in part.iter(f"{_TABLE}table-row")
            )
            yield from (f"{line}\n" for line in table_lines(_rows(element), header=header or None))
            yield "\n"
            walk.skip_subtree()


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            if cell.tag == f"{_TABLE}table-cell":
                text = " ".join(filter(None, map(_inline, cell.iter(f"{_TEXT}p", f"{_TEXT}h"))))
                cells += [text] * _times(cell, "number-columns-repeated")
            elif cell.tag == f"{_TABLE}covered-table-cell":
                cells.append("")
        yield from [cells] * _times(row, "number-rows-repeated")


def _times(element: Any, name: str) -> int:  # noqa: ANN401
    given = element.get(f"{_TABLE}{name}") or "1"
    return min(int(given), _MOST_REPEATED) if given.isdecimal() and len(given) < 9 else 1  # noqa: PLR2004


def _inline(paragraph: Any) -> str:  # noqa: ANN401
    """The text of a paragraph; a note in it follows in brackets."""
    from lxml import etree  # noqa: PLC0415

    parts: list[str] = []
    walk = etree.iterwalk(paragraph, events=("start", "end"))
    for event, element in walk:
        tag = element.tag
        if event == "start":
            if tag in (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"):
                parts.append(" ")
            if tag == f"{_TEXT}note-citation":
                walk.skip_subtree()
            else:
                parts += [" (" if tag == f"{_TEXT}note-body" else "", element.text or ""]
        else:
            parts += [")" if tag == f"{_TEXT}note-body" else "", element.tail if element is not paragraph else ""]
    return one_paragraph("".join(filter(None, parts)))
