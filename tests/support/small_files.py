"""Small files of many kinds, made by hand."""

import io
import zipfile
from collections.abc import Sequence

Word = tuple[float, float, float, str]
"""Left, baseline from the bottom, size, text."""


def pdf(pages: Sequence[Sequence[Word]], lines: Sequence[Sequence[tuple[float, float, float, float]]] = ()) -> bytes:
    """Pages of 612 × 792 points with texts in Helvetica, and drawn lines by page."""
    objects: list[bytes] = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    kids = []
    for number, words in enumerate(pages):
        drawn = lines[number] if number < len(lines) else ()
        stream = "".join(f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n" for x, y, size, text in words)
        stream += "".join(f"{x0} {y0} m {x1} {y1} l S\n" for x0, y0, x1, y1 in drawn)
        kids.append(len(objects) + 1)
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 <</Type/Font"
            b"/Subtype/Type1/BaseFont/Helvetica>> >> >> >>" % (len(objects) + 2),
            b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream.encode("latin-1")),
        ]
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(b"%d 0 R" % kid for kid in kids), len(kids))
    return _file(objects)


def scan() -> bytes:
    """A page with a picture and no text."""
    image = b"<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    content = b"q 600 0 0 700 0 0 cm /I Do Q"
    return _file(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</I 5 0 R>> >> >>",
            b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
            image + b"stream\n\x80\nendstream",
        ]
    )


def _file(objects: Sequence[bytes]) -> bytes:
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    return body + head + rows + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, len(body))


def package(parts: dict[str, str]) -> bytes:
    """A ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def odt(body: str, before: str = "") -> bytes:
    """An OpenDocument text."""
    kinds = {"office": "office", "text": "text", "table": "table"}
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in kinds.items()
    )
    content = f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
    return package({"content.xml": f"{before}{content}</office:document-content>"})


def epub(chapters: dict[str, str], *, container: str = "") -> bytes:
    """A book; chapters by file name."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>The Book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    names = 'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"'
    usual = f'<container {names}><rootfiles><rootfile full-path="OEBPS/b.opf"/></rootfiles></container>'
    parts = {f"OEBPS/{name}": text for name, text in chapters.items()}
    return package({"META-INF/container.xml": container or usual, "OEBPS/b.opf": opf} | parts)
