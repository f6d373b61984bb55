"""The report as a Word file for those who edit it: what the Markdown says, with headings, lists, tables and sources."""

import html
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

WORD_FILE: Final = "report.docx"
_INLINE: Final = re.compile(r"\\(.)|\*\*|\[\^(\d+)\]|\[((?:[^\[\]\\]|\\.)*)\]\(([^()\s]*)\)|`([^`]*)`")
_HEADING: Final = re.compile(r"^(#{1,6}) (.*)")
_ITEM: Final = re.compile(r"^( *)(-|\d+\.) (.*)")
_NOTE: Final = re.compile(r"^\[\^(\d+)\]: (.*)")
_RULE: Final = re.compile(r"\|(?: ---:? \|)+$")
_CELL: Final = re.compile(r"(?<!\\)\|")
_FONTS: Final = {"zh": "Noto Sans CJK SC", "en": "Calibri"}
_LEVELS: Final = 4
_FILE_LINK: Final = re.compile(r"^\[[^\]]*\]\([^()#:]*\)$")
"""A line that only leads to another file, which does not travel with this one."""
_WIDE: Final = 6
_SMALL: Final = 8
"""Points of the text in tables of more columns."""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of the files inside: the same report gives the same bytes."""


def word_file(markdown: str, language: str) -> bytes:
    """A Word file from the Markdown of a report; its footnotes become a numbered list at the end.

    Args:
        markdown: What `render_markdown` wrote.
        language: Of the report, for the font of Chinese text.

    """
    import docx  # noqa: PLC0415  read only where the file is asked for

    document = docx.Document()
    _set_properties(document, markdown)
    _set_font(document, _FONTS.get(language, _FONTS["en"]))
    lines = [line.rstrip() for line in markdown.splitlines()]
    notes = [match for line in lines if (match := _NOTE.match(line))]
    for block in _blocks(line for line in lines if not _NOTE.match(line)):
        _add(document, block)
    if notes:
        document.add_heading("来源" if language == "zh" else "Sources", level=1)
    for note in notes:
        _write(document.add_paragraph(style="List"), f"{note[1]}  {note[2]}")
    held = BytesIO()
    document.save(held)
    return _repacked(held.getvalue())


def _set_properties(document: "Document", markdown: str) -> None:
    """The title of the report, and no trace of the template that the library writes from."""
    heading = _HEADING.match(markdown)
    title = heading[2] if heading else ""
    properties = document.core_properties
    properties.title = html.unescape(_INLINE.sub(lambda match: match[1] or "", title))
    properties.author = properties.comments = ""


def _set_font(document: "Document", font: str) -> None:
    """The same font for letters and for Chinese characters, in text and headings."""
    from docx.oxml.ns import qn  # noqa: PLC0415

    for name in ("Normal", "Title", *(f"Heading {level}" for level in range(1, _LEVELS + 1))):
        style: Any = document.styles[name]
        style.font.name = font
        style.element.get_or_add_rPr().get_or_add_rFonts().set(qn("w:eastAsia"), font)


def _blocks(lines: Iterator[str]) -> Iterator[list[str]]:
    """Lines that belong together: rows of one table, a list item with its further lines, else one line."""
    block: list[str] = []
    for line in lines:
        goes_on = (
            bool(block)
            and bool(line)
            and (
                (line.startswith("|") and block[0].startswith("|"))
                or (line.startswith("   ") and not _ITEM.match(line))
            )
        )
        if not goes_on and block:
            yield block
            block = []
        if line:
            block.append(line)
    if block:
        yield block


def _add(document: "Document", block: Sequence[str]) -> None:
    if block[0].startswith("|"):
        _add_table(document, block)
    elif heading := _HEADING.match(block[0]):
        level = len(heading[1]) - 1
        _write(document.add_heading(level=min(level, _LEVELS)), heading[2])
    elif item := _ITEM.match(block[0]):
        kind = "List Bullet" if item[2] == "-" else "List Number"
        style = f"{kind} 2" if item[1] else kind
        paragraph = document.add_paragraph(style=style)
        for number, line in enumerate((item[3], *block[1:])):
            if number:
                paragraph.add_run().add_break()
            _write(paragraph, line.strip())
    elif not _FILE_LINK.match(block[0]):
        _write(document.add_paragraph(), " ".join(line.strip() for line in block))


def _add_table(document: "Document", block: Sequence[str]) -> None:
    from docx.shared import Pt  # noqa: PLC0415

    rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in block if not _RULE.match(line)]
    table = document.add_table(rows=0, cols=max(map(len, rows)), style="Light Grid Accent 1")
    for number, row in enumerate(rows):
        for cell, text in zip(table.add_row().cells, row, strict=False):
            _write(cell.paragraphs[0], text, bold=number == 0)
            for run in cell.paragraphs[0].runs if len(row) > _WIDE else ():
                run.font.size = Pt(_SMALL)


def _write(paragraph: "Paragraph", text: str, *, bold: bool = False) -> None:
    """Add a line of Markdown as runs: bold, superscript numbers of sources, links as their text."""
    place = 0
    for match in _INLINE.finditer(text):
        _run(paragraph, text[place : match.start()], bold=bold)
        place = match.end()
        if match[0] == "**":
            bold = not bold
        elif match[2]:
            _run(paragraph, f"[{match[2]}]", raised=True)
        else:
            _run(paragraph, next(each for each in (match[1], match[3], match[5]) if each is not None), bold=bold)
    _run(paragraph, text[place:], bold=bold)


def _run(paragraph: "Paragraph", text: str, *, bold: bool = False, raised: bool = False) -> None:
    if text:
        run = paragraph.add_run(html.unescape(text))
        run.bold = bold or None
        run.font.superscript = raised or None


def _repacked(payload: bytes) -> bytes:
    """The same package without the time at which it was written."""
    held = BytesIO()
    with ZipFile(BytesIO(payload)) as given, ZipFile(held, "w", ZIP_DEFLATED) as kept:
        for name in given.namelist():
            kept.writestr(ZipInfo(name, _EPOCH), given.read(name), ZIP_DEFLATED)
    return held.getvalue()
