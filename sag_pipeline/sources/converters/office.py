"""Convert office files and books: Word, OpenDocument and EPUB by heading, slides and sheets each with its place."""

import io
import posixpath
import warnings
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any
from urllib.parse import unquote

from sag_pipeline.sources.converters.html import blocks_text, page_text, parse_html
from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph, table_lines

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
_NEAR = 200
"""Columns of a sheet that keep their place; used ones beyond stand together, or a far cell would make wide rows."""


def convert_docx(payload: bytes) -> Converted:
    """Headings, paragraphs, lists, notes and tables of a Word file."""
    import mammoth  # noqa: PLC0415  only needed for such files

    found = mammoth.convert_to_html(io.BytesIO(payload), style_map=_STYLES, convert_image=lambda _: [])
    for message in found.messages:
        if not message.message.startswith("Unrecognised"):  # a style without a rule is a paragraph
            warnings.warn(message.message, stacklevel=2)
    if not found.value.strip():
        return Converted(None, [])
    return Converted(None, [TextPiece(blocks_text(parse_html(found.value.encode())))])


def convert_pptx(payload: bytes) -> Converted:
    """Title, text, tables and notes of each slide."""
    import pptx  # noqa: PLC0415

    slides = pptx.Presentation(io.BytesIO(payload)).slides
    return Converted(None, (_slide(slide, number) for number, slide in enumerate(slides, 1)))


def _slide(slide: Any, number: int) -> TextPiece:  # noqa: ANN401  python-pptx has no types
    title = slide.shapes.title
    blocks = (
        [f"# {one_paragraph(title.text_frame.text)}"] if title is not None and title.text_frame.text.strip() else []
    )
    for shape in _shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            blocks += _shape_blocks(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = list(_paragraphs(slide.notes_slide.notes_text_frame))
        blocks += ["Notes:", *notes] if notes else []
    return TextPiece(
        "".join(f"{block}\n" if block[0] == "|" else f"{block}\n\n" for block in blocks), f"slide {number}"
    )


def _shapes(shapes: Any) -> Iterator[Any]:  # noqa: ANN401
    """Shapes from top to bottom, those of a group in its place."""
    stack = [iter(sorted(shapes, key=_corner))]
    while stack:
        shape = next(stack[-1], None)
        if shape is None:
            stack.pop()
        elif hasattr(shape, "shapes"):
            stack.append(iter(sorted(shape.shapes, key=_corner)))
        else:
            yield shape


def _corner(shape: Any) -> tuple[int, int]:  # noqa: ANN401
    return shape.top or 0, shape.left or 0


def _shape_blocks(shape: Any) -> Iterator[str]:  # noqa: ANN401
    if getattr(shape, "has_table", False):
        rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
        yield from table_lines(rows, header=1 if shape.table.first_row else None)
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif getattr(shape, "has_text_frame", False):
        yield from _paragraphs(shape.text_frame)


def _paragraphs(frame: Any) -> Iterator[str]:  # noqa: ANN401
    for paragraph in frame.paragraphs:
        text = one_paragraph(paragraph.text.replace("\v", " "))
        if text:
            yield text


def _chart(chart: Any) -> Iterator[str]:  # noqa: ANN401
    if chart.has_title and chart.chart_title.has_text_frame:
        yield one_paragraph(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        names = ["", *(str(series.name) for series in plot.series)]
        values = [list(series.values) for series in plot.series]
        rows = [
            [str(category), *(_shown(each[n]) if n < len(each) else "" for each in values)]
            for n, category in enumerate(plot.categories)
        ]
        yield from table_lines([names, *rows], header=1)


def convert_xlsx(payload: bytes) -> Converted:
    """The rows of every sheet."""
    import openpyxl  # noqa: PLC0415

    book = openpyxl.load_workbook(io.BytesIO(payload), read_only=True, data_only=True)
    return Converted(None, _sheets(book))


def _sheets(book: Any) -> Iterator[TextPiece]:  # noqa: ANN401
    for sheet in book.worksheets:
        place = f"sheet {sheet.title}"
        sheet.reset_dimensions()
        is_first = True
        for line in table_lines(_rows(sheet)):
            if is_first:
                yield TextPiece(f"## {one_paragraph(sheet.title)}\n\n", place)
                is_first = False
            yield TextPiece(f"{line}\n" if line[0] == "|" else f"{line}\n\n", place)
        if not is_first:
            yield TextPiece("\n", place)


def _rows(sheet: Any) -> Iterator[list[str]]:  # noqa: ANN401
    from openpyxl.cell.read_only import EMPTY_CELL  # noqa: PLC0415

    far: dict[int, int] = {}
    for row in sheet.iter_rows():
        cells = [cell for cell in row if cell is not EMPTY_CELL]
        places = [
            far.setdefault(each.column, _NEAR + len(far) + 1) if each.column > _NEAR else each.column for each in cells
        ]
        texts = [""] * max(places, default=0)
        for place, cell in zip(places, cells, strict=True):
            texts[place - 1] = _value(cell)
        yield texts


def _value(cell: Any) -> str:  # noqa: ANN401
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in (cell.number_format or ""):
        return f"{round(value * 100, 6):g} %"
    return _shown(value)


def _shown(value: object) -> str:
    """A value as a person writes it: no NaN, no `.0`, no time of day at midnight."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if value % 1 else f"{value:.0f}"  # NaN is dropped with the empty cells
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value.replace(microsecond=0))
    return value.isoformat() if isinstance(value, date) else str(value)


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

    with zipfile.ZipFile(io.BytesIO(payload)) as package:
        root = _xml(package.read("content.xml"))
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise ValueError("no text body; save it as an OpenDocument text")
    etree.strip_elements(body, *_DROPPED, with_tail=False)
    return Converted(None, [TextPiece("".join(_blocks(body)))])


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
            yield from (f"{line}\n" for line in table_lines(_odt_rows(element), header=header or None))
            yield "\n"
            walk.skip_subtree()


def _odt_rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401
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


_CONTAINER = "META-INF/container.xml"
_PLACE_LENGTH = 60


def convert_epub(payload: bytes) -> Converted:
    """Title and text of a book."""
    package = zipfile.ZipFile(io.BytesIO(payload))
    container = _xml(package.read(_CONTAINER))
    found = container.find(".//{*}rootfile")
    if found is None:
        raise ValueError(f"{_CONTAINER} names no package document")
    name = found.get("full-path") or ""
    opf = _xml(package.read(name))
    title = opf.findtext(".//{http://purl.org/dc/elements/1.1/}title")
    return Converted(one_paragraph(title or "") or None, _chapters(package, opf, posixpath.dirname(name)))


def _chapters(package: zipfile.ZipFile, opf: Any, folder: str) -> Iterator[TextPiece]:  # noqa: ANN401  lxml has no types
    items = {item.get("id"): item for item in opf.iterfind(".//{*}manifest/{*}item")}
    seen: set[str] = set()
    for reference in opf.iterfind(".//{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        if name in seen or name not in package.NameToInfo:
            continue
        seen.add(name)
        text = page_text(parse_html(package.read(name)))
        if text:
            yield TextPiece(f"{text}\n\n", _place(text))


def _place(text: str) -> str:
    first = text.split("\n", 1)[0]
    return f"§ {first.lstrip('# ')[:_PLACE_LENGTH].strip()}" if first.startswith("#") else ""


def _xml(payload: bytes) -> Any:  # noqa: ANN401
    from lxml import etree  # noqa: PLC0415  only needed for such files

    return etree.fromstring(payload, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
