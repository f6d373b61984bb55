import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.sources.conversion import convert
from sag_pipeline.sources.decoding import clean, decode

CHINESE = "潮鸣二号在鹿鸣海峡正式并网。总功率6兆瓦，每年可供2万户家庭用电（ABC）。"
LATIN = "Él vivía en París; naïve café, Größe, señor, 25 °C."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030", "gbk"])
def test_chinese_is_read_in_every_common_encoding(encoding):
    text = CHINESE + " plain text" * 20

    assert decode(text.encode(encoding)).lstrip("\ufeff") == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1", "cp1252"])
def test_accents_are_read_in_every_common_encoding(encoding):
    assert decode(LATIN.encode(encoding)) == LATIN


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1))
def test_utf8_is_read_as_it_is(text):
    assert decode(text.encode("utf-8")).removeprefix("\ufeff") == text.removeprefix("\ufeff")


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_refused(payload):
    try:
        text = clean(decode(payload))
    except ValueError:
        return

    text.encode("utf-8")
    assert clean(text) == text


def test_a_few_broken_bytes_do_not_spoil_utf8():
    payload = (CHINESE * 20).encode() + b"\xff" + CHINESE.encode()

    assert decode(payload) == CHINESE * 20 + "\ufffd" + CHINESE


def test_zero_bytes_and_control_characters_are_dropped():
    assert clean("a\x00b\x07c\ufeff\td\r\ne\rf\x0cg\u2028h") == "abc\td\ne\nf\ng\nh"


def test_a_lone_surrogate_becomes_a_replacement():
    assert clean("a\ud800b") == "a\ufffdb"


def test_accents_are_composed():
    assert clean("e\u0301") == "é"


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match="control characters"):
        decode(bytes(range(1, 32)) * 50)


def test_html_keeps_its_headings_and_rows_of_a_table_the_names_of_their_columns():
    picture = "<img src='http://127.0.0.1:9/x.png'>"
    html = f"<html><title>T</title><body><h1>标题</h1><ul><li>one</li></ul>{picture}</body></html>"

    title, text, *_ = convert(".html", html.encode("gb18030"))
    _, table, *_ = convert(".csv", "名称,数\n潮鸣,3\n".encode("gb18030"))

    assert title == "T"
    assert "# 标题" in text
    assert table == "| 名称: 潮鸣 | 数: 3 |\n"


def _docx(path):
    """The least Word file that holds a heading."""
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>灯潮节</w:t></w:r></w:p>'
    styles = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'

    def relation(kind, target):
        link = f'<Relationship Id="r" Type="{office}/{kind}" Target="{target}"/>'
        return f'<Relationships xmlns="{package}/relationships">{link}</Relationships>'

    default = '<Default Extension="xml" ContentType="application/xml"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">{default}</Types>',
        "_rels/.rels": relation("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": relation("styles", "styles.xml"),
        "word/document.xml": f"<w:document {word}><w:body>{heading}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {word}>{styles}</w:styles>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def test_office_files_are_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    pptx = pytest.importorskip("pptx")
    book, slides = openpyxl.Workbook(), pptx.Presentation()
    book.active.append(["firm", "公司"])
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "潮汐 Tide"
    _docx(tmp_path / "a.docx")
    book.save(tmp_path / "b.xlsx")
    slides.save(tmp_path / "c.pptx")

    texts = [convert(path.suffix, path.read_bytes())[1] for path in sorted(tmp_path.iterdir())]

    assert "# 灯潮节" in texts[0]
    assert "公司" in texts[1]
    assert "潮汐 Tide" in texts[2]


@pytest.mark.parametrize("suffix", [".pdf", ".docx", ".pptx", ".xlsx"])
def test_a_broken_file_says_its_kind(suffix):
    with pytest.raises(ValueError, match=f"broken {suffix[1:]} file"):
        convert(suffix, b"nothing of the kind")


def test_a_file_without_text_is_refused():
    with pytest.raises(ValueError, match="no text"):
        convert(".html", b"<html><body> </body></html>")


def test_a_pdf_is_read():
    stream = b"BT /F1 24 Tf 72 700 Td (The tide turns at noon.) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        rows,
        len(body),
    )

    assert "The tide turns at noon." in convert(".pdf", body + tail)[1]
