"""Convert HTML to text: paragraphs on one line, headings, lists, tables by row; no navigation, no link targets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sag_pipeline.sources.converters.pieces import Converted, TextPiece, joined, one_paragraph, table_lines

HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DROPPED = frozenset(
    "script style noscript template svg math nav form button select input textarea iframe object video audio canvas"
    " head dialog".split()
)
_ROLES = frozenset("navigation banner contentinfo search menu menubar toolbar doc-toc".split())
_NAVIGATION = re.compile(
    r"(?:^|[\s_-])(?:nav(?:bar|header|footer|igation)?|toc|breadcrumbs?|menu|footer)(?:$|[\s_-])", re.IGNORECASE
)
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|shar(?:e|ing)|social|newsletter|subscribe|advert(?:isement)?s?)(?:$|[\s_-])",
    re.IGNORECASE,
)
_BOXES = ("div", "section", "aside", "ul")
"""Whose class may say that they surround the content; that of a heading says what it is about."""
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}:)?//|mailto:", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SECTIONING = ("article", "main", "section")
_LISTS = ("ul", "ol", "dl", "table", "div", "p", "section", "center", "aside")
_LEAST_LINKS = 3
_LINK_SHARE = 0.8


def _drop_hidden(body: Any) -> None:  # noqa: ANN401  lxml has no types
    """Drop elements that hold no content. Linear in the elements of a page of usual depth."""
    for element in list(body.iter()):
        if element is body or not isinstance(element.tag, str):
            continue
        if element.tag in ("header", "footer") and next(element.iterancestors(*_SECTIONING), None) is None:
            _keep_headings(element)  # it belongs to the page, not to an article
        elif element.tag in _DROPPED or _is_hidden(element):
            element.drop_tree()


def _keep_headings(element: Any) -> None:  # noqa: ANN401
    kept = list(element.iter(*HEADINGS)) if element.tag == "header" else []
    for each in kept:
        element.addprevious(each)
        each.tail = None
    element.drop_tree()


def _is_hidden(element: Any) -> bool:  # noqa: ANN401
    get = element.get
    if get("role") in _ROLES or get("aria-hidden") == "true" or get("hidden") is not None:
        return True
    if _HIDDEN.search(get("style") or ""):
        return True
    if element.tag in _BOXES and _AROUND.search(get("class") or ""):
        return True
    return element.tag not in ("body", "main", "article") and bool(
        _NAVIGATION.search(get("class") or "") or _NAVIGATION.search(get("id") or "")
    )


def _drop_links(body: Any) -> None:  # noqa: ANN401
    """Drop marks that only link to themselves, and blocks that are little else than links to pages of the same site."""
    links, letters = _counted(body)
    total = letters.get(body, 0)
    for element in [each for each in body.iter("a") if not any(map(str.isalnum, each.text_content()))]:
        element.drop_tree()
    dropped: set[Any] = set()
    for element in list(body.iter(*_LISTS)):
        is_links = _is_navigation(links.get(element, (0, 0)), letters.get(element, 0), total)
        if is_links and next(element.iter("h1", "h2"), None) is None and dropped.isdisjoint(element.iterancestors()):
            dropped.add(element)
    for element in dropped:
        element.drop_tree()


def _is_navigation(links: tuple[int, int], letters: int, total: int) -> bool:
    """Whether at least three links hold most letters of a block that is not most of the page."""
    count, linked = links
    return count >= _LEAST_LINKS and linked >= _LINK_SHARE * letters and 2 * letters <= total


def _counted(body: Any) -> tuple[dict[Any, tuple[int, int]], dict[Any, int]]:  # noqa: ANN401
    links: dict[Any, tuple[int, int]] = {}
    letters: dict[Any, int] = {}
    for element in reversed(list(body.iter())):
        own = _letters(element.text) + letters.get(element, 0)
        count, linked = links.get(element, (0, 0))
        if element.tag == "a" and _is_local(element.get("href")):
            count, linked = 1, own
        letters[element], links[element] = own, (count, linked)
        above = element.getparent()
        if above is not None:
            letters[above] = letters.get(above, 0) + own + _letters(element.tail)
            before = links.get(above, (0, 0))
            links[above] = (before[0] + count, before[1] + linked)
    return links, letters


def _letters(text: str | None) -> int:
    return sum(map(str.isalnum, text)) if text else 0


def _is_local(target: str | None) -> bool:
    return target is not None and not _ELSEWHERE.match(target.strip())


_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer"
    " h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table tbody td tfoot th thead tr"
    " ul".split()
)
_LONG_TERM = 80
"""Longer terms stand on lines of their own: a bound, as terms without a definition add up."""
_MOST_SPAN = 50
"""Rows that one cell may reach down: a bound, as its text is repeated in each."""


def convert_html(payload: bytes) -> Converted:
    """Title and text of a page in UTF-8."""
    root = parse_html(payload)
    title = root.findtext(".//title") or ""
    return Converted(one_paragraph(title) or None, [TextPiece(page_text(root))])


def parse_html(payload: bytes) -> Any:  # noqa: ANN401  lxml has no types
    """The root element; entities are not resolved from outside, nothing is fetched."""
    from lxml import etree, html  # noqa: PLC0415  only needed for such files

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True)
    try:
        root = html.document_fromstring(payload, parser=parser)
    except etree.ParserError as error:
        raise ValueError(str(error)) from error
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise ValueError("nested too deeply: what lies deeper than 2,048 elements cannot be read")
    return root


def page_text(root: Any) -> str:  # noqa: ANN401
    """The text of a parsed page without what surrounds its content. Linear in the elements."""
    body = root.find("body") if root.find("body") is not None else root
    _drop_hidden(body)
    _drop_links(body)
    return blocks_text(body)


@dataclass(slots=True)
class _Writer:
    """Collects blocks of text; inline text waits until its block ends."""

    blocks: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    prefix: str = ""
    """A bullet or a term that stands before the next paragraph."""

    def end(self, mark: str = "") -> None:
        """End the paragraph."""
        lines = [one_paragraph(line) for line in "".join(self.waiting).split("\r")]
        text = "\n".join(filter(None, lines))
        self.waiting = []
        if text:
            self.blocks.append(f"{mark or self.prefix}{text}")
            self.prefix = ""

    def start_item(self, bullet: str) -> None:
        """A bullet before what comes next, unless it had none yet."""
        self.end()
        self.prefix = bullet

    def end_term(self) -> None:
        """A short term stands before its definition."""
        text = one_paragraph("".join(self.waiting))
        self.waiting = []
        if len(text) + len(self.prefix) > _LONG_TERM:
            self.blocks += filter(None, (self.prefix.rstrip(": "), text))
            self.prefix = ""
        elif text:
            before = self.prefix.rstrip(": ")
            self.prefix = f"{before}, {text}: " if before and before != "-" else f"{text.rstrip(':：')}: "

    def text(self) -> str:
        """All blocks; items of a list follow each other without an empty line."""
        self.end()
        return joined(self.blocks)


def blocks_text(body: Any) -> str:  # noqa: ANN401
    """The text of an element's blocks."""
    from lxml import etree  # noqa: PLC0415

    writer = _Writer()
    walk = etree.iterwalk(body, events=("start", "end"))
    for event, element in walk:
        if not isinstance(element.tag, str):
            continue
        if event == "start":
            if _start(writer, element):
                walk.skip_subtree()
        else:
            _end(writer, element)
            if element is not body:
                writer.waiting.append(element.tail or "")
    return writer.text()


def _start(writer: _Writer, element: Any) -> bool:  # noqa: ANN401
    """Begin an element; whether it was written whole."""
    tag = element.tag
    if tag == "li":
        writer.start_item(_bullet(element))
    elif tag in _BLOCKS and tag != "dd":
        writer.end()
    if tag == "pre":
        code = element.text_content().strip("\n").rstrip()
        writer.blocks += [f"```\n{code}\n```"] if code else []
    elif tag == "table" and _is_data(element):
        writer.blocks += filter(None, (one_paragraph(each.text_content()) for each in element.iter("caption")))
        writer.blocks += table_lines(_rows(element), header=_marked_header(element), is_titled=False)
    else:
        writer.waiting.append("\r" if tag == "br" else element.text or "")
        return False
    return True


def _end(writer: _Writer, element: Any) -> None:  # noqa: ANN401
    if element.tag in HEADINGS:
        writer.prefix = ""
        writer.waiting = [one_paragraph("".join(writer.waiting).replace("\r", " "))]
        writer.end("#" * HEADINGS[element.tag] + " ")
    elif element.tag == "dt":
        writer.end_term()
    elif element.tag in _BLOCKS and element.tag != "pre":
        writer.end()


def _bullet(element: Any) -> str:  # noqa: ANN401
    above = element.getparent()
    if above is None or above.tag != "ol":
        return "- "
    return f"{sum(1 for _ in element.itersiblings('li', preceding=True)) + 1}. " if len(above) < 1000 else "- "  # noqa: PLR2004


def _is_data(table: Any) -> bool:  # noqa: ANN401
    if table.get("role") == "presentation":
        return False
    return next(table.iterdescendants("table", "h1", "h2", "h3", "h4", "ul", "ol", "dl", "pre", "form"), None) is None


def _marked_header(table: Any) -> int | None:  # noqa: ANN401
    """Rows in `thead`, or leading rows of `th` alone; None if nothing is marked."""
    count = 0
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in ("td", "th")]
        if not (row.getparent().tag == "thead" or (cells and all(cell.tag == "th" for cell in cells))):
            break
        count += 1
    return count or None


def _rows(table: Any) -> Iterator[list[str]]:  # noqa: ANN401
    """Cells by column; one over several rows is repeated in each."""
    held: dict[int, tuple[int, str]] = {}
    for row in table.iter("tr"):
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if cell.tag not in ("td", "th"):
                continue
            while column in held:
                column += 1
            text = _cell_text(cell)
            cells[column] = text
            down = min(_number(cell.get("rowspan")), _MOST_SPAN)
            if down > 1:
                held[column] = (down, text)
            column += min(_number(cell.get("colspan")), _MOST_SPAN)
        cells |= {column: text for column, (_, text) in held.items() if column not in cells and cells}
        held = {column: (left - 1, text) for column, (left, text) in held.items() if left > 1}
        yield [cells.get(column, "") for column in range(max(cells, default=-1) + 1)]


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 6 and int(text) else 1  # noqa: PLR2004


def _cell_text(cell: Any) -> str:  # noqa: ANN401
    from lxml import etree  # noqa: PLC0415

    parts: list[str] = []
    for event, element in etree.iterwalk(cell, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if element.tag in _BLOCKS or element.tag == "br":
            parts.append(" ")
        parts.append((element.text if event == "start" else element.tail if element is not cell else "") or "")
    return one_paragraph("".join(parts))
