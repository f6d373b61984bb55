"""Convert PDF page by page: paragraphs, headings by font size, ruled tables by row, page numbers kept.

Pages that are images are read by OCR, where it is asked for.
"""

import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sag_pipeline.sources.converters.pieces import BoundError, Converted, TextPiece, joined, one_paragraph, table_lines
from sag_pipeline.sources.converters.programs import read_picture

_RESOLUTION = 200
_MOST_PIXELS = 4000


def _image(payload: bytes, index: int) -> bytes:
    import pypdfium2  # noqa: PLC0415  only needed for scans

    pdf = pypdfium2.PdfDocument(payload)
    try:
        page = pdf[index]
        scale = min(_RESOLUTION / 72, _MOST_PIXELS / max(*page.get_size(), 1))
        out = io.BytesIO()
        page.render(scale=scale, grayscale=True).to_pil().save(out, "PNG")
        return out.getvalue()
    finally:
        pdf.close()


_UNMAPPED = re.compile(r"\(cid:\d+\)")
_BULLET = re.compile(r"(?:[•▪◦·‣⁃∙●○■□]|\(cid:\d+\)|[-–*])(?:\s|$)")
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z])[.)]\s")
_ENDED = re.compile(r"[.!?。！？；;:：…]['\"”’」』)）\]】]*$")
_NUMBER = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(r"[-–— ]*(?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})[-–— ]*")
_LEADER = re.compile(r"\. ?\. ?\. ?\.\s*(?:\d{1,4}|[ivxlc]{1,7})$")
"""The end of a line of a table of contents."""
_LONE_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z])[.)]")
_MARGIN = 0.05
"""Share of the page's height at its top and bottom where small print is a running header or footer."""
_REPEATED = 0.6
_LEAST_PAGES = 3
_HEADING_SCALE = 1.15
_HEADING_LENGTH = 120
_PARAGRAPH_GAP = 1.25
_WORD_GAP = 0.15
_GUTTER = 8
"""Points between two columns of text."""
_COLUMN_LINES = 8
_COLUMN_WORDS = 3.0
_OBJECT_BYTES = 8192
"""Memory that is reckoned for each character, line and image of a page, with the words and tables made of them."""
_MOST_EDGES = 4000
"""A page with more drawn lines is a drawing: tables are not looked for."""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    words: int = 1


@dataclass(slots=True)
class _Page:
    number: int
    height: float
    lines: list[_Line]
    tables: list[tuple[float, list[str]]] = field(default_factory=list)
    is_image: bool = False
    scanned: str = ""


def convert_pdf(payload: bytes, ocr: str = "", *, memory: int = 2 << 30) -> Converted:
    """The text of a PDF."""
    import pdfplumber  # noqa: PLC0415  only needed for such files

    with pdfplumber.open(io.BytesIO(payload)) as pdf:
        pages = []
        for number, page in enumerate(pdf.pages, 1):
            _lay_out(page, memory)
            pages.append(_read(page, number, payload, ocr))
            page.close()
    empty = [str(page.number) for page in pages if page.is_image and not page.scanned]
    if empty and len(empty) < len(pages):
        warnings.warn(f"no text on page {', '.join(empty[:20])}; a scanned page needs `--set ocr=eng`", stacklevel=2)
    return Converted(None, _pieces(pages))


def _lay_out(page: Any, memory: int) -> None:  # noqa: ANN401  pdfplumber has no types
    """Draw the page as pdfplumber does, and stop once it has too many objects, before words are made of them."""
    from pdfminer.pdfinterp import PDFPageInterpreter  # noqa: PLC0415
    from pdfplumber.page import PDFPageAggregatorWithMarkedContent  # noqa: PLC0415

    most = memory // _OBJECT_BYTES

    class Device(PDFPageAggregatorWithMarkedContent):
        drawn = 0

        def tag_cur_item(self) -> None:
            """Called after each object."""
            super().tag_cur_item()
            self.drawn += 1
            if self.drawn > most:
                raise BoundError(
                    f"page {page.page_number} draws more than {most:,} characters and lines; "
                    f"split it, or raise the bound: `sag ingest --set conversion_memory={2 * memory}`"
                )

    device = Device(page.pdf.rsrcmgr, pageno=page.page_number, laparams=page.pdf.laparams)
    PDFPageInterpreter(page.pdf.rsrcmgr, device).process_page(page.page_obj)
    page._layout = device.get_result()  # noqa: SLF001  what its property makes and keeps at the first call


def _read(page: Any, number: int, payload: bytes, ocr: str) -> _Page:  # noqa: ANN401  pdfplumber has no types
    tables = _tables(page)
    words = [
        word
        for word in page.extract_words(extra_attrs=["size"], x_tolerance_ratio=_WORD_GAP)
        if not any(_is_in(word, table.bbox) for table, _ in tables)
    ]
    found = _Page(number, float(page.height), _in_order(_lines(words), float(page.width)))
    found.tables = [(float(table.bbox[1]), lines) for table, lines in tables]
    found.is_image = not words and not tables and bool(page.images)
    if found.is_image and ocr:
        found.scanned = read_picture(_image(payload, number - 1), ocr)
    return found


def _tables(page: Any) -> list[tuple[Any, list[str]]]:  # noqa: ANN401
    """Ruled tables of two columns and more, with their rows as text."""
    if not (page.lines or page.rects or page.curves) or len(page.edges) > _MOST_EDGES:
        return []
    found = []
    for table in page.find_tables():
        rows = [[cell or "" for cell in row] for row in table.extract()]
        filled = [row for row in rows if sum(map(bool, map(str.strip, row))) > 1]
        if len(filled) > 1:
            found.append((table, list(table_lines([list(map(_mapped, row)) for row in rows]))))
    return found


def _is_in(word: dict[str, Any], box: Sequence[float]) -> bool:
    across, down = (word["x0"] + word["x1"]) / 2, (word["top"] + word["bottom"]) / 2
    return bool(box[0] <= across <= box[2] and box[1] <= down <= box[3])


def _lines(words: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Words whose middles are at one height."""
    lines: list[list[dict[str, Any]]] = []
    for word in sorted(words, key=lambda w: (w["top"] + w["bottom"], w["x0"])):
        middle = (word["top"] + word["bottom"]) / 2
        if lines and lines[-1][0]["top"] <= middle <= lines[-1][0]["bottom"]:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda w: w["x0"]) for line in lines]


def _in_order(lines: list[list[dict[str, Any]]], width: float) -> list[_Line]:
    """Lines in reading order: two columns one after the other, between lines that cross both."""
    gutter = _gutter(lines, width)
    if gutter is None:
        return [_line(line) for line in lines]
    ordered: list[_Line] = []
    left: list[_Line] = []
    right: list[_Line] = []
    for line in lines:
        if any(word["x0"] < gutter < word["x1"] for word in line):
            ordered += [*left, *right, _line(line)]
            left, right = [], []
            continue
        for side, words in (
            (left, [word for word in line if word["x1"] <= gutter]),
            (right, [word for word in line if word["x0"] >= gutter]),
        ):
            if words:
                side.append(_line(words))
    return [*ordered, *left, *right]


def _gutter(lines: list[list[dict[str, Any]]], width: float) -> float | None:
    """The middle of a gap down the middle of the page that most lines leave free, with prose on both sides."""
    both = 0
    gaps: Counter[int] = Counter()
    for line in lines:
        for before, after in pairwise(line):
            if after["x0"] - before["x1"] >= _GUTTER and width / 3 < (before["x1"] + after["x0"]) / 2 < 2 * width / 3:
                gaps.update({round(place / 4) for place in range(int(before["x1"]) + 2, int(after["x0"]) - 1)})
    if not gaps:
        return None
    place, both = max(gaps.items(), key=lambda each: (each[1], -abs(each[0] * 4 - width / 2)))
    middle = place * 4.0
    sides = [[word for word in line if word["x1"] <= middle] for line in lines]
    prose = [words for words in sides if words]
    crossing = sum(any(word["x0"] < middle < word["x1"] for word in line) for line in lines)
    is_prose = bool(prose) and sum(map(len, prose)) / len(prose) >= _COLUMN_WORDS
    return middle if both >= max(_COLUMN_LINES, 2 * crossing, len(lines) / 3) and is_prose else None


def _line(words: Sequence[dict[str, Any]]) -> _Line:
    return _Line(
        _mapped(" ".join(word["text"] for word in words)),
        float(words[0]["x0"]),
        float(max(word["x1"] for word in words)),
        float(min(word["top"] for word in words)),
        float(max(word["bottom"] for word in words)),
        round(float(max(word["size"] for word in words)), 1),
        len(words),
    )


def _mapped(text: str) -> str:
    """The text with a bullet for an unmapped first character; other characters without a meaning are dropped."""
    if _UNMAPPED.match(text):
        text = "• " + _UNMAPPED.sub("", text, count=1).lstrip()
    return _UNMAPPED.sub("", text)


def _pieces(pages: Sequence[_Page]) -> Iterator[TextPiece]:
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted((size for size in sizes if size >= _HEADING_SCALE * body), reverse=True)
    levels = {size: min(level, 4) for level, size in enumerate(larger, 1)}
    repeated = _repeated(pages)
    joint = ""
    for page in pages:
        lines = [line for line in page.lines if not _is_dropped(line, page, body, repeated)]
        blocks = _blocks(lines, page, levels) if not page.scanned else [page.scanned]
        if blocks:
            if joint:
                yield TextPiece(_joint(joint, blocks[0]), f"p. {page.number}")
            yield TextPiece(joined(blocks), f"p. {page.number}")
            joint = blocks[-1]


def _joint(before: str, after: str) -> str:
    """A paragraph may go on on the next page."""
    is_one = not _ENDED.search(before) and not before.startswith(("#", "|")) and after[:1].islower()
    return " " if is_one else "\n\n"


def _repeated(pages: Sequence[_Page]) -> frozenset[str]:
    """First and last lines, numbers aside, that most pages share."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_NUMBER.sub("#", line.text) for line in _edges(page)})
    return frozenset(text for text, n in seen.items() if n >= max(_LEAST_PAGES, _REPEATED * len(pages)))


def _edges(page: _Page) -> list[_Line]:
    ordered = sorted(page.lines, key=lambda line: line.top)
    return ordered[:2] + ordered[2:][-2:]


def _is_dropped(line: _Line, page: _Page, body: float, repeated: frozenset[str]) -> bool:
    if _LEADER.search(line.text):
        return True
    if line in _edges(page) and (_NUMBER.sub("#", line.text) in repeated or _PAGE_NUMBER.fullmatch(line.text)):
        return True
    is_margin = line.bottom < _MARGIN * page.height or line.top > (1 - _MARGIN) * page.height
    return is_margin and line.size < body


def _blocks(lines: Sequence[_Line], page: _Page, levels: dict[float, int]) -> list[str]:
    tables = sorted(page.tables)
    pitches = [b.top - a.top for a, b in pairwise(lines) if b.top > a.top]
    pitch = sorted(pitches)[len(pitches) // 4] if pitches else 0.0  # most gaps may lie between paragraphs
    right = max((line.x1 for line in lines), default=0.0)
    blocks: list[str] = []
    held: list[_Line] = []

    def flush() -> None:
        if held:
            blocks.append(_block(held, levels))
            held.clear()

    for line in lines:
        while tables and tables[0][0] <= line.top:
            flush()
            blocks += tables.pop(0)[1]
        if held and _starts_block(held, line, pitch, right):
            flush()
        held.append(line)
    flush()
    for _, rows in tables:
        blocks += rows
    return list(_with_numbers(filter(None, blocks)))


def _with_numbers(blocks: Iterable[str]) -> Iterator[str]:
    held = ""
    for block in blocks:
        if _LONE_NUMBER.fullmatch(block):
            held = f"{held} {block}".strip()
        else:
            yield f"{held} {block}" if held and block[0] not in "#|-" else block
            held = ""
    if held:
        yield held


def _starts_block(held: Sequence[_Line], line: _Line, pitch: float, right: float) -> bool:
    last = held[-1]
    if line.size != last.size and abs(line.size - last.size) > 0.1 * last.size:
        return True
    if line.top <= last.top or line.top - last.top > _PARAGRAPH_GAP * max(pitch, last.bottom - last.top):
        return True
    if _BULLET.match(line.text) or (_NUMBERED.match(line.text) and _ENDED.search(last.text)):
        return True
    is_short = last.x1 < right - 0.15 * (right - last.x0)
    return is_short and bool(_ENDED.search(last.text))


def _block(lines: Sequence[_Line], levels: dict[float, int]) -> str:
    text = one_paragraph("\n".join(line.text for line in lines), is_hyphenated=True)
    level = levels.get(lines[0].size)
    if level and len(text) <= _HEADING_LENGTH and any(map(str.isalpha, text)):
        return f"{'#' * level} {text}"
    bullet = _BULLET.match(text)
    return f"- {text[bullet.end() :].lstrip()}" if bullet and len(text) > bullet.end() else text
