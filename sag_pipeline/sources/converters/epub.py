"""Convert EPUB books: the documents of the spine in reading order, each named by its first heading."""

import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from sag_pipeline.sources.converters.html import page_text, parse_html
from sag_pipeline.sources.converters.pieces import Converted, TextPiece, one_paragraph

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

    return etree.fromstring(payload, etree.XMLParser(resolve_entities=False, no_network=True))
