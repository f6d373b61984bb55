"""Files that hang or kill a careless reader, and small good files of every kind that is read."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import partial

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SAID = "Lumen Optics sold 120 buoys in 2021. 光澜公司在安塞港制造浮标。"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "application/vnd.openxmlformats-officedocument.{}.main+xml"
Make = Callable[[], bytes]


def archive(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of these parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=1) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return out.getvalue()


def _relation(kind: str, target: str) -> str:
    link = f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{link}</Relationships>'


def _types(name: str, kind: str) -> str:
    default = '<Default Extension="xml" ContentType="application/xml"/>'
    default += '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    override = f'<Override PartName="{name}" ContentType="{_MAIN.format(kind)}"/>'
    return f'<Types xmlns="{_PACKAGE}/content-types">{default}{override}</Types>'


def docx(body: str = "", before: str = "", more: Mapping[str, str | bytes] | None = None) -> bytes:
    """A Word file with this body; `before` stands before the root of its document."""
    body = body or f"<w:p><w:r><w:t>{SAID}</w:t></w:r></w:p>"
    return archive(
        {
            "[Content_Types].xml": _types("/word/document.xml", "wordprocessingml.document"),
            "_rels/.rels": _relation("officeDocument", "word/document.xml"),
            "word/document.xml": f"{before}<w:document {WORD}><w:body>{body}</w:body></w:document>",
        }
        | dict(more or {})
    )


def xlsx(data: str = "", before: str = "", after: str = "", names: str = "", strings: str = "") -> bytes:
    """A workbook of one sheet with these rows; `after` stands behind its data, `names` in its workbook."""
    data = data or f'<row r="1">{cell("A1", "buoys")}{cell("B1", "公司")}</row><row r="2">{cell("A2", SAID)}</row>'
    sheets = f'<sheets><sheet name="Sheet1" sheetId="1" xmlns:r="{_OFFICE}" r:id="rId1"/></sheets>'
    main = "application/vnd.openxmlformats-officedocument.spreadsheetml."
    kinds = f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{main}worksheet+xml"/>'
    kinds += f'<Override PartName="/xl/sharedStrings.xml" ContentType="{main}sharedStrings+xml"/>' if strings else ""
    types = _types("/xl/workbook.xml", "spreadsheetml.sheet").replace("</Types>", kinds + "</Types>")
    parts = {
        "[Content_Types].xml": types,
        "_rels/.rels": _relation("officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f"<workbook {SHEET}>{sheets}{names}</workbook>",
        "xl/worksheets/sheet1.xml": f"{before}<worksheet {SHEET}><sheetData>{data}</sheetData>{after}</worksheet>",
    }
    return archive(parts | ({"xl/sharedStrings.xml": strings} if strings else {}))


def cell(place: str, text: str) -> str:
    """A cell of text."""
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def row(number: int, column: str = "A", text: str = "far") -> str:
    """A row of one cell."""
    return f'<row r="{number}">{cell(f"{column}{number}", text)}</row>'


def pptx() -> bytes:
    """A presentation of one slide."""
    from pptx import Presentation

    slides, out = Presentation(), io.BytesIO()
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = SAID
    slides.save(out)
    return out.getvalue()


def with_part(package: bytes, name: str, content: bytes) -> bytes:
    """A package with one part replaced or added."""
    with zipfile.ZipFile(io.BytesIO(package)) as old:
        return archive({n: old.read(n) for n in old.namelist()} | {name: content})


def pdf(content: bytes = b"", *, objects: Mapping[int, bytes] | None = None, filters: bytes = b"") -> bytes:
    """A file of one page with this content; `objects` replaces others (1 catalog, 2 pages, 3 page, 5 font)."""
    content = content or b"BT /F1 24 Tf 72 700 Td (The tide turns at noon.) Tj ET"
    numbered = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        4: b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), filters, content),
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    } | dict(objects or {})
    body, places = b"%PDF-1.4\n", []
    for number, written in sorted(numbered.items()):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, written)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(numbered) + 1
    return body + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        size,
        rows,
        size,
        len(body),
    )


def good() -> dict[str, bytes]:
    """A small good file of every kind, by suffix."""
    page = f"<html><head><title>Buoys</title></head><body><h1>Buoys</h1><p>{SAID}</p></body></html>"
    return {
        ".txt": SAID.encode(),
        ".md": f"# Buoys\n\n{SAID}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode(),
        ".json": json.dumps({"title": "Buoys", "text": SAID}, ensure_ascii=False).encode(),
        ".jsonl": json.dumps({"title": "Buoys", "text": SAID}, ensure_ascii=False).encode(),
        ".csv": f'buoys,公司\n120,光澜公司\n7,"{SAID}"\n'.encode(),
        ".html": page.encode(),
        ".htm": page.encode("gb18030"),
        ".pdf": pdf(),
        ".docx": docx(),
        ".xlsx": xlsx(),
        ".pptx": pptx(),
    }


# ── bombs ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _laughs(word: str = "lol", levels: int = 12) -> str:
    rows = [f'<!ENTITY a0 "{word}">']
    rows += [f'<!ENTITY a{n} "' + f"&a{n - 1};" * 10 + '">' for n in range(1, levels)]
    return f"<?xml version='1.0'?><!DOCTYPE w [{''.join(rows)}]>"


def _attributes(count: int) -> str:
    return " ".join(f'a{n}="1"' for n in range(count))


def _spaces(mebibytes: int) -> bytes:
    return b" " * (mebibytes << 20)


def _declared(size: int) -> bytes:
    """A package whose directory gives its first part another size than it has."""
    package = bytearray(docx())
    place = package.index(b"PK\x01\x02")
    struct.pack_into("<I", package, place + 24, size)
    return bytes(package)


def _overlapping(count: int = 2000) -> bytes:
    """Many directory entries that share one part."""
    whole = archive({"word/document.xml": _spaces(4)})
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entry = whole[start:end]
    tail = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(entry) * count, start, 0)
    return whole[:start] + entry * count + tail


def _nested(depth: int = 8) -> bytes:
    inner = archive({"a": _spaces(8)})
    for _ in range(depth):
        inner = archive({f"{n}.zip": inner for n in range(8)})
    return docx(more={"word/embeddings/inner.docx": inner})


def _flate(data: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 1)
    return data


def _inflating(mebibytes: int, times: int = 1) -> bytes:
    names = b"/FlateDecode " * times
    return pdf(_flate(_spaces(mebibytes), times), filters=b"/Filter[" + names + b"]")


def _deep_form() -> bytes:
    """A form that draws itself."""
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 10>>stream\n/X Do /X Do\nendstream"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</X 6 0 R>>>>>>"
    return pdf(b"/X Do", objects={3: page, 6: form})


def _image(wide: int) -> bytes:
    data = _flate(bytes(1 << 20))
    image = b"<</Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8/ColorSpace/DeviceRGB/Filter/FlateDecode/Length %d>>stream\n%s\nendstream"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</XObject<</X 6 0 R>>>>>>"
    return pdf(b"/X Do", objects={3: page, 6: image % (wide, wide, len(data), data)})


def _many_pages(count: int) -> bytes:
    return pdf(objects={2: b"<</Type/Pages/Kids[" + b"3 0 R " * count + b"]/Count %d>>" % count})


def _pdf_text(operators: bytes, count: int) -> bytes:
    return pdf(b"BT /F1 9 Tf 72 700 Td " + operators * count + b" ET")


def _tree(levels: int) -> bytes:
    """A tree of pages each level of which names the next one many times."""
    nodes = {2: b"<</Type/Pages/Kids[6 0 R 6 0 R]/Count 9>>"}
    for n in range(6, 6 + levels):
        nodes[n] = b"<</Type/Pages/Parent 2 0 R/Kids[%s]/Count 9>>" % (b"%d 0 R " % (n + 1) * 10)
    nodes[6 + levels] = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return pdf(objects=nodes)


def office_bombs() -> dict[str, Make]:
    """Hostile office files by name."""
    paragraph = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    outside = "<?xml version='1.0'?><!DOCTYPE w [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
    remote = "<?xml version='1.0'?><!DOCTYPE w SYSTEM 'http://127.0.0.1:9/w.dtd'>"
    merged = '<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    diagonal = "".join(row(n * 1000 + 1, column) for n, column in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    return {
        "one-large-part.docx": lambda: docx(more={"word/document.xml": _spaces(160)}),
        "one-large-image.docx": lambda: docx(more={"word/media/a.png": bytes(160 << 20)}),
        "many-large-parts.pptx": lambda: archive({f"ppt/slides/slide{n}.xml": _spaces(8) for n in range(24)}),
        "strings-of-spaces.xlsx": lambda: xlsx(strings=f"<sst {SHEET}><si><t>{' ' * (60 << 20)}</t></si></sst>"),
        "overlapping-parts.docx": _overlapping,
        "nested-archives.docx": _nested,
        "declared-too-small.docx": partial(_declared, 3),
        "declared-too-large.docx": partial(_declared, 0xFFFFFFF0),
        "many-parts.docx": lambda: docx(more={f"a/{n}.xml": "<a/>" for n in range(21_000)}),
        "lzma-part.docx": lambda: archive({"word/document.xml": _spaces(160)}, zipfile.ZIP_LZMA),
        "bzip2-part.xlsx": lambda: archive({"xl/workbook.xml": _spaces(160)}, zipfile.ZIP_BZIP2),
        "no-office-parts.docx": lambda: archive({"readme.txt": SAID}),
        "archive-in-itself.docx": lambda: docx(more={"word/document.xml": docx()}),
        "same-part-twice.docx": lambda: docx() + docx(),
        "path-outside.docx": lambda: docx(more={"../../../tmp/outside.xml": "<a/>"}),
        "billion-laughs.docx": lambda: docx(paragraph.format("&a11;"), _laughs()),
        "billion-laughs.xlsx": lambda: xlsx(row(1, text="&a11;"), _laughs()),
        "billion-laughs.pptx": lambda: with_part(pptx(), "ppt/presentation.xml", f"{_laughs()}<p>&a11;</p>".encode()),
        "laughs-in-names.xlsx": lambda: xlsx(strings=f"{_laughs()}<sst {SHEET}><si><t>&a11;</t></si></sst>"),
        "quadratic-entity.docx": lambda: docx(paragraph.format("&a0;" * 50_000), _laughs("x" * 50_000, 1)),
        "external-entity.docx": lambda: docx(paragraph.format("&a;"), outside),
        "external-entity.xlsx": lambda: xlsx(row(1, text="&a;"), outside),
        "remote-declaration.docx": lambda: docx(before=remote),
        "laughs-in-utf16.docx": lambda: docx(
            more={"word/document.xml": f"{_laughs()}<w:document {WORD}>&a11;</w:document>".encode("utf-16")}
        ),
        "deep-paragraphs.docx": lambda: docx("<w:p>" * 100_000),
        "deep-tables.docx": lambda: docx(
            "<w:tbl><w:tr><w:tc>" * 3000 + paragraph.format("x") + "</w:tc></w:tr></w:tbl>" * 3000
        ),
        "deep-groups.pptx": lambda: with_part(pptx(), "ppt/slides/slide1.xml", b"<p>" * 200_000),
        "many-attributes.docx": lambda: docx(f"<w:p {_attributes(300_000)}/>"),
        "many-attributes.xlsx": lambda: xlsx(f'<row r="1" {_attributes(300_000)}/>'),
        "many-namespaces.docx": lambda: docx("".join(f'<w:p xmlns:n{n}="urn:{n}">x</w:p>' for n in range(30_000))),
        "one-long-run.docx": lambda: docx(paragraph.format("word " * 4_000_000)),
        "many-empty-paragraphs.docx": lambda: docx("<w:p/>" * 1_000_000),
        "many-runs.docx": lambda: docx("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * 200_000 + "</w:p>"),
        "millions-of-runs.docx": lambda: docx("<w:p>" + "<w:r><w:t>a</w:t></w:r>" * 2_000_000 + "</w:p>"),
        "wide-table.docx": lambda: docx(
            "<w:tbl>" + ("<w:tr>" + "<w:tc><w:p/></w:tc>" * 1000 + "</w:tr>") * 100 + "</w:tbl>"
        ),
        "spanning-cells.docx": lambda: docx(
            '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="99999999"/></w:tcPr>'
            + paragraph.format("x")
            + "</w:tc></w:tr></w:tbl>"
        ),
        "two-far-cells.xlsx": lambda: xlsx(row(1, text="near") + row(1_048_576, "XFD")),
        "far-column.xlsx": lambda: xlsx("".join(row(n, "XFD") for n in range(1, 5000))),
        "far-row.xlsx": lambda: xlsx(row(1, text="near") + row(99_999_999_999)),
        "diagonal.xlsx": lambda: xlsx(diagonal),
        "far-diagonal.xlsx": lambda: xlsx(
            "".join(row(n * 64, f"{chr(65 + n // 26 % 26)}{chr(65 + n % 26)}A") for n in range(1, 16_000))
        ),
        "impossible-column.xlsx": lambda: xlsx(row(1, "ZZZZZZ")),
        "negative-row.xlsx": lambda: xlsx(row(-5)),
        "merged-everything.xlsx": lambda: xlsx(after=merged),
        "many-merged.xlsx": lambda: xlsx(after="<mergeCells>" + '<mergeCell ref="A1:B2"/>' * 300_000 + "</mergeCells>"),
        "many-names.xlsx": lambda: xlsx(
            names="<definedNames>"
            + "".join(f'<definedName name="n{n}">Sheet1!$A$1</definedName>' for n in range(1_000_000))
            + "</definedNames>"
        ),
        "million-empty-cells.xlsx": lambda: xlsx('<row r="1">' + "<c/>" * 1_000_000 + "</row>"),
        "million-empty-rows.xlsx": lambda: xlsx("<row/>" * 1_000_000 + row(1_000_001)),
        "wrong-dimension.xlsx": lambda: xlsx(before='<?xml version="1.0"?>', after='<dimension ref="A1:XFD1048576"/>'),
        "missing-strings.xlsx": lambda: xlsx('<row r="1"><c r="A1" t="s"><v>999999999</v></c></row>'),
        "huge-number.xlsx": lambda: xlsx(f'<row r="1"><c r="A1"><v>{"9" * 1_000_000}</v></c></row>'),
        "huge-date.xlsx": lambda: xlsx('<row r="1"><c r="A1" t="d"><v>99999999-99-99</v></c></row>'),
        "truncated.docx": lambda: docx()[:-30],
        "truncated.xlsx": lambda: xlsx()[: len(xlsx()) // 2],
        "truncated.pptx": lambda: pptx()[:9000],
        "old-word.docx": lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000),
        "text.docx": SAID.encode,
        "pdf.xlsx": pdf,
        "workbook.pptx": xlsx,
        "word.xlsx": docx,
    }


def pdf_bombs() -> dict[str, Make]:
    """Hostile PDF files by name."""
    wide = {3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 1e30 1e30]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"}
    return {
        "inflating-stream.pdf": partial(_inflating, 40),
        "inflating-much.pdf": partial(_inflating, 700),
        "inflating-twice.pdf": partial(_inflating, 700, 2),
        "inflating-thrice.pdf": partial(_inflating, 400, 3),
        "runs.pdf": lambda: pdf(b"\x81x" * 4_000_000, filters=b"/Filter/RunLengthDecode"),
        "lzw.pdf": lambda: pdf(bytes(2_000_000), filters=b"/Filter/LZWDecode"),
        "pages-loop.pdf": lambda: pdf(objects={2: b"<</Type/Pages/Kids[2 0 R]/Count 1>>"}),
        "pages-two-loop.pdf": lambda: pdf(
            objects={2: b"<</Type/Pages/Kids[6 0 R]/Count 1>>", 6: b"<</Type/Pages/Kids[2 0 R]/Count 1>>"}
        ),
        "pages-tree.pdf": partial(_tree, 9),
        "same-page-often.pdf": partial(_many_pages, 50_000),
        "count-of-pages.pdf": lambda: pdf(objects={2: b"<</Type/Pages/Kids[3 0 R]/Count 999999999>>"}),
        "xref-loop.pdf": lambda: pdf().replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %d" % pdf().index(b"xref\n0")),
        "xref-many.pdf": lambda: pdf().replace(b"xref\n0 6", b"xref\n0 999999999"),
        "object-loop.pdf": lambda: pdf(objects={3: b" 3 0 R "}),
        "length-loop.pdf": lambda: pdf(objects={4: b"<</Length 4 0 R>>stream\nx\nendstream"}),
        "form-in-itself.pdf": _deep_form,
        "huge-image.pdf": partial(_image, 100_000),
        "deep-arrays.pdf": lambda: pdf(b"[" * 1_000_000),
        "deep-dictionaries.pdf": lambda: pdf(objects={5: b"<</A" * 200_000}),
        "million-texts.pdf": lambda: pdf(
            _flate(b"BT /F1 9 Tf 72 700 Td " + b"(a) Tj 1 0 Td " * 1_000_000 + b" ET"), filters=b"/Filter/FlateDecode"
        ),
        "many-texts.pdf": partial(_pdf_text, b"(a) Tj 1 0 Td ", 200_000),
        "texts-in-one-place.pdf": partial(_pdf_text, b"(aaaaaaaaaa) Tj 0 0 Td ", 20_000),
        "many-lines.pdf": lambda: pdf(b"0 0 m 100 100 l S " * 100_000),
        "many-saves.pdf": lambda: pdf(b"q " * 2_000_000),
        "long-string.pdf": lambda: pdf(b"BT /F1 9 Tf (" + b"a" * 3_000_000 + b") Tj ET"),
        "open-parentheses.pdf": lambda: pdf(b"BT /F1 9 Tf " + b"(" * 500_000),
        "endless-page.pdf": lambda: pdf(objects=wide),
        "only-header.pdf": lambda: b"%PDF-1.7\n" + b"%" * 3_000_000,
        "objects-without-end.pdf": lambda: b"%PDF-1.4\n" + b"1 0 obj<<" * 200_000,
        "truncated.pdf": lambda: pdf()[:300],
        "html.pdf": lambda: b"<html><body>x</body></html>",
    }


def text_bombs() -> dict[str, Make]:
    """Hostile texts by name."""
    short = "x\n" * 100_000
    return {
        "comments.html": lambda: b"<p>x</p>" + b"<!--" * 300_000,
        "declarations.html": lambda: b"<p>x</p>" + b"<!" * 300_000,
        "open-tags.html": lambda: b"<" * 1_000_000,
        "open-attributes.html": lambda: b"<a " + b"b='" * 200_000,
        "instructions.html": lambda: b"<?" * 300_000,
        "deep.html": lambda: b"<div>" * 100_000 + b"x",
        "deep-lists.html": lambda: b"<ul><li>" * 20_000 + b"x",
        "deep-quotes.html": lambda: b"<blockquote>" * 3000 + b"x" + b"</blockquote>" * 3000,
        "unclosed.html": lambda: b"<b><i>x" * 50_000,
        "entities.html": lambda: b"&amp;" * 400_000,
        "many-attributes.html": lambda: b"<p " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">x</p>",
        "wide-table.html": lambda: b"<table><tr>" + b"<td>x" * 200_000 + b"</table>",
        "span.html": lambda: b"<table><tr><td colspan=999999999>x</table>",
        "spans.html": lambda: b"<table>" + b"<tr><td colspan=1000>x</tr>" * 3000 + b"</table>",
        "script.html": lambda: b"<script>" * 100_000,
        "cdata.html": lambda: b"<![CDATA[" * 200_000,
        "wide-and-long.csv": (",".join("abc" for _ in range(100_000)) + "\n" + short).encode,
        "columns.csv": (
            ",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join("1" for _ in range(100_000))
        ).encode,
        "one-field.csv": lambda: b'a,b\n"' + b"x" * 5_000_000,
        "quotes.csv": lambda: b'"' * 2_000_001,
        "commas.csv": lambda: b"," * 5_000_000,
        "bars.csv": lambda: b"\\" * 300_000 + b"|a\n1",
        "nul.csv": lambda: b"a,b\n1,\x002\n",
        "marks.txt": ("a" + "\u0316\u0301" * 200_000).encode,
        "marks.html": ("<p>a" + "\u0316\u0301" * 200_000).encode,
        "marks.md": ("# a" + "\u0f71\u0344" * 200_000).encode,
        "long-line.txt": lambda: b"word " * 2_000_000,
        "rule.md": lambda: b"|" + b"-" * 40_000 + b"x|",
        "hashes.md": lambda: b"#" * 2_000_000,
        "bold.md": lambda: b"**a" * 500_000,
        "nul.txt": lambda: bytes(1_000_000),
        "nul-between.txt": lambda: b"Quill makes\x00 sensors for salt water.",
        "half-wide.txt": lambda: SAID.encode("utf-16-le")[:-1],
        "utf7.txt": lambda: SAID.encode("utf-7"),
        "utf32.txt": lambda: SAID.encode("utf-32"),
        "mark-of-utf32.txt": lambda: b"\xff\xfe\x00\x00abc",
        "only-mark.txt": lambda: b"\xef\xbb\xbf",
        "surrogates.txt": lambda: b"\xff\xfe" + b"\x00\xd8" * 200_000,
        "utf16.html": lambda: "<p>x 水</p>".encode("utf-16"),
        "image.txt": lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400,
        "archive.md": docx,
        "deep.json": lambda: b"[" * 1_000_000,
        "deep-text.json": lambda: b'{"text": "x", "metadata": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        "number.json": lambda: b'{"text": "x", "metadata": {"n": ' + b"9" * 100_000 + b"}}",
        "surrogate.json": lambda: b'{"text": "a\\ud800b"}',
        "number.jsonl": lambda: b'{"text": ' + b"9" * 1_000_000 + b"}",
        "deep.jsonl": lambda: b'{"text": "x", "metadata": {"a":' + b"[" * 200_000,
        "nul.jsonl": lambda: bytes(200_000),
    }


def bombs() -> dict[str, Make]:
    """Every hostile file by name; made when called, for some are large."""
    return office_bombs() | pdf_bombs() | text_bombs()
