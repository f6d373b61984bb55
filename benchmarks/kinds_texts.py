"""Pages of packages as sections: HTML, POD and man pages, each heading with the text below it."""

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree, html

HEADINGS = ("h1", "h2", "h3", "h4")
_UNREAD = ("script", "style", "nav", "footer", "head")
_BLOCKS = frozenset("p div li dt dd pre tr br table ul ol dl section blockquote".split())
_POD_CODE = re.compile(r"[A-Z]<<+ (.*?) >>+|[A-Z]<([^<>]*)>", re.DOTALL)
_ROFF_ESCAPES = (
    (re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s[-+]?\d|\\[&/,|^%:]|\\c$"), ""),
    (re.compile(r"\\\((?:aq|cq|oq)|\\\[(?:aq|cq|oq)\]"), "'"),
    (re.compile(r"\\\((?:em|en|mi)|\\\[(?:em|en|mi)\]|\\-"), "-"),
    (re.compile(r"\\\((?:lq|rq|dq)|\\\[(?:lq|rq|dq)\]"), '"'),
    (re.compile(r"\\\(..|\\\[[^]]*\]"), " "),
    (re.compile(r"\\e"), r"\\"),
    (re.compile(r"\\[ ~0]"), " "),
)
_ROFF_TEXT = re.compile(
    r"\.\s*(?:B|I|R|SM|SB|BI|BR|IB|IR|RB|RI|IP|TP|SS|UR|MT|Nm|Fl|Ar|Pa|Xr|Li|Ic|Em|Sy|Dq|Ql|It|Nd)\b(.*)"
)
_ROFF_HEADING = re.compile(r"\.\s*S[Hh]\b\s*(.*)")


@dataclass
class Section:
    """A heading and the text below it, without the heading."""

    page: str
    title: str
    heading: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its lines, with runs of empty ones as one."""
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self.lines)).strip()


def sections_of(path: Path, page: str) -> list[Section]:
    """The sections of a page by its suffix; none where it cannot be parsed or is of another kind."""
    data = path.read_bytes()
    name = path.name
    if name.endswith(".gz"):
        data, name = gzip.decompress(data), name.removesuffix(".gz")
    if name.endswith((".html", ".htm")):
        return list(_of_html(data, page))
    text = data.decode("utf-8", errors="replace")
    if name.endswith(".pod"):
        return list(_of_pod(text, page))
    return list(_of_roff(text, page)) if re.search(r"\.\d\w*$", name) else []


def _of_html(data: bytes, page: str) -> Iterator[Section]:
    try:
        tree = html.fromstring(data)
    except (etree.ParserError, ValueError):
        return
    etree.strip_tags(tree, etree.Comment, etree.ProcessingInstruction)
    title = _spoken(tree.findtext(".//title") or "")
    for unread in tree.xpath(" | ".join(f"//{name}" for name in _UNREAD)):
        unread.drop_tree()
    section = Section(page, title, "")
    for kind, text in _pieces(tree):
        if kind == "heading":
            yield section
            section = Section(page, title, re.sub(r"[¶#]\s*$", "", _spoken(text)).strip())
        elif kind == "break":
            section.lines.append("")
        elif section.lines:
            section.lines[-1] += text
        else:
            section.lines.append(text)
    yield section


def _pieces(tree: html.HtmlElement) -> Iterator[tuple[str, str]]:
    """Headings, breaks between blocks and texts, in the order of the page."""
    inside = None
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        if inside is not None:
            if event == "end" and element is inside:
                inside = None
                yield "text", _joined(element.tail)
            continue
        if element.tag in HEADINGS:
            inside = element
            yield "heading", element.text_content()
        else:
            if element.tag in _BLOCKS:
                yield "break", ""
            text = element.text if event == "start" else element.tail
            yield "text", text or "" if element.tag == "pre" and event == "start" else _joined(text)


def _of_pod(text: str, page: str) -> Iterator[Section]:
    section, title = Section(page, Path(page).stem, ""), Path(page).stem
    for paragraph in re.split(r"\n\s*\n", text):
        command = re.match(r"=(\w+)\s*(.*)", paragraph, re.DOTALL)
        if command and command[1] in ("head1", "head2", "head3"):
            yield section
            section = Section(page, title, _spoken(_without_codes(command[2])))
        elif not command or command[1] == "item":
            plain = command[2] if command else paragraph
            section.lines += [_without_codes(plain) if plain[:1] not in " \t" else plain, ""]
    yield section


def _without_codes(text: str) -> str:
    for _ in range(3):  # codes stand in one another
        text = _POD_CODE.sub(lambda found: found[1] or (found[2] or "").split("|")[0], text)
    return text


def _of_roff(text: str, page: str) -> Iterator[Section]:
    title = re.sub(r"\.(gz)$", "", Path(page).name)
    section = Section(page, title, "")
    for line in text.splitlines():
        heading = _ROFF_HEADING.match(line)
        kept = _ROFF_TEXT.match(line)
        if heading:
            yield section
            section = Section(page, title, _plain_roff(heading[1]))
        elif not line.startswith((".", "'")):
            section.lines.append(_plain_roff(line))
        elif kept:
            section.lines.append(_plain_roff(kept[1]))
        elif re.match(r"\.\s*(PP|P|LP|Pp|sp)\b", line):
            section.lines.append("")
    yield section


def _plain_roff(text: str) -> str:
    for pattern, plain in _ROFF_ESCAPES:
        text = pattern.sub(plain, text)
    return text.replace('"', "").strip() if text.lstrip().startswith('"') else text.strip()


def _joined(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


def _spoken(text: str) -> str:
    return " ".join(text.split())
