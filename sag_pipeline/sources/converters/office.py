"""Convert office files: Word and OpenDocument by heading, slides and sheets each with its place."""

import io
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from sag_pipeline.sources.converters.html import blocks_text, parse_html
from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph, table_lines

_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"
_REPEATED = 50
"""Times that a repeated cell or row of an OpenDocument table is written: a bound, as its text is."""


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
        for line in table_lines([_value(cell) for cell in row] for row in sheet.iter_rows()):
            if is_first:
                yield TextPiece(f"## {one_paragraph(sheet.title)}\n\n", place)
                is_first = False
            yield TextPiece(f"{line}\n" if line[0] == "|" else f"{line}\n\n", place)
        if not is_first:
            yield TextPiece("\n", place)


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
