"""What each kind of file becomes: paragraphs, headings, rows that can be read alone, and the place of each part."""

import io
import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.sources.conversion import convert
from sag_pipeline.sources.converters.pdf import convert_pdf
from sag_pipeline.sources.converters.pieces import table_lines
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument, list_source
from sag_pipeline.sync.bounded import BoundedReader
from sag_retrieval.core.records import Document, Quarantined
from tests.support import outlook
from tests.support.hostile_files import archive, xlsx
from tests.support.hostile_files import pdf as hostile_pdf
from tests.support.hostile_files import row as sheet_row
from tests.support.small_files import epub, odt, package, pdf, scan


def text_of(suffix: str, payload: bytes | str) -> str:
    return convert(suffix, payload.encode() if isinstance(payload, str) else payload).text


def page(body: str) -> str:
    return text_of(".html", f"<html><head><title>T</title></head><body>{body}</body></html>")


# Tables


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([["Item", "Price"], ["pump", "3.50"]], ["| Item: pump | Price: 3.50 |"]),
        ([["名称", "数"], ["潮鸣", "3"]], ["| 名称: 潮鸣 | 数: 3 |"]),
        ([["", "EUR"], ["pump", "3.50"]], ["| pump | EUR: 3.50 |"]),
        ([["Costs 2024"], ["Item", "Price"], ["pump", "3"]], ["Costs 2024", "| Item: pump | Price: 3 |"]),
        (
            [["Halden", "", "k EUR", ""], ["", "", "Q1", "Q2"], ["Kiel", "pump", "25", ""], ["Tianhu", "saw", "1", "2"]],
            ["| Halden: Kiel | pump | k EUR Q1: 25 |", "| Halden: Tianhu | saw | k EUR Q1: 1 | k EUR Q2: 2 |"],
        ),
        ([["pump", "3"], ["saw", "4"]], ["| pump | 3 |", "| saw | 4 |"]),
        ([["Year", "2023", "2024"], ["sales", "5", "6"]], ["| Year: sales | 2023: 5 | 2024: 6 |"]),
        ([["name", "city"], ["Ada", "London"]], ["| name: Ada | city: London |"]),
        ([["Item", "Price"], ["pump", "NaN"], ["saw", "#N/A"], ["nut", "7"]], ["Item: pump", "Item: saw", "| Item: nut | Price: 7 |"]),
        ([["a", "n"], ["x", "1"], [""], ["y", "2"]], ["| a: x | n: 1 |", "| a: y | n: 2 |"]),
        ([["a", "n"], ["x", "1"], [], ["b", "m"], ["y", "2"]], ["| a: x | n: 1 |", "| b: y | m: 2 |"]),
        ([["#", "Item", "n"], ["1", "pump", "7"]], ["| 1 | Item: pump | n: 7 |"]),
        ([["one line"], ["another"]], ["one line", "another"]),
        ([["Item", "Price"]], ["| Item | Price |"]),
        ([], []),
    ],
)  # fmt: skip
def test_a_row_names_its_columns_and_leaves_out_empty_cells(rows, lines):
    assert list(table_lines(rows)) == lines


def test_a_table_of_words_without_a_marked_header_loses_no_row():
    rows = [["Kiel", "基尔"], ["Tianhu", "天湖"]]

    assert list(table_lines(rows, is_titled=False)) == ["| Kiel | 基尔 |", "| Tianhu | 天湖 |"]


CELLS = st.text(st.sampled_from("ab1. -%Q"), min_size=1, max_size=6).filter(lambda text: any(map(str.isalnum, text)))
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))


@given(TABLES, st.sampled_from([None, 0, 1, 9]))
def test_no_cell_of_a_full_table_is_lost(rows, header):
    text = "\n".join(table_lines(rows, header=header))

    assert all(" ".join(cell.split()) in text for row in rows for cell in row)


def test_a_long_column_name_does_not_multiply_the_text():
    rows = [["x" * 100_000, "n"], *([str(n), str(n)] for n in range(1000))]

    assert sum(map(len, table_lines(rows))) < 200_000


def test_long_names_and_terms_do_not_multiply_the_text(tmp_path):
    record = {"n" * 100_000: {str(n): n for n in range(1000)}}
    terms = "".join(f"<dt>term {n}</dt>" for n in range(20_000))

    assert len(read(tmp_path, "a.json", json.dumps(record))) < 200_000
    assert len(page(f"<dl>{terms}</dl>")) < 400_000


# HTML


def test_soft_breaks_join_and_none_stays_between_chinese_characters():
    text = page("<p>The seal was\n   replaced. 密封圈\n已更换，运行\n正常。</p><p>Second<br>line</p>")

    assert text == "The seal was replaced. 密封圈已更换，运行正常。\n\nSecond\nline"


def test_navigation_header_footer_and_hidden_parts_are_dropped_and_headings_kept():
    text = page(
        "<header><img alt='logo'>Firm<h1>Pumps</h1><nav><a href='/a'>Home</a></nav></header><div class='breadcrumb'>A > B</div>"
        "<div role='navigation'>menu</div><main><h2>Use<a href='#use'>¶</a></h2><p>Turn it on.</p>"
        "<footer><p>Note of the article.</p></footer></main><div hidden>secret</div><script>x()</script>"
        "<form>Search <input></form><footer>© Firm</footer>"
    )

    assert text == "# Pumps\n\n## Use\n\nTurn it on.\n\nNote of the article."


def test_boxes_that_surround_the_content_are_dropped_and_a_heading_of_such_a_name_kept():
    body = (
        "<div class='cookie-banner'>Accept</div><h2 class='share'>Share</h2><p>31 %.</p><div class='share'>Mail</div>"
    )

    assert page(body).split() == ["##", "Share", "31", "%."]


def test_a_table_of_contents_is_dropped_and_a_list_of_outside_links_kept():
    inside = "".join(f"<li><a href='ch{n}.html'>Chapter {n}</a></li>" for n in range(4))
    outside = "".join(f"<li><a href='https://example.org/{n}'>Firm {n}</a></li>" for n in range(4))

    text = page(f"<h1>Book</h1><ul>{inside}</ul><p>{'The text of the book. ' * 20}</p><ul>{outside}</ul>")

    assert "Chapter 1" not in text
    assert "- Firm 0\n- Firm 1" in text
    assert "example.org" not in text


def test_a_page_that_is_a_list_of_links_keeps_them():
    assert "- B" in page("".join(f"<li><a href='{n}.html'>{n}</a></li>" for n in "ABCD"))


def test_lists_terms_code_and_tables_of_a_page():
    text = page(
        "<ol><li>first</li><li><p>second</p></li></ol><dl><dt>valve</dt><dd>closes\nthe pipe</dd></dl>"
        "<pre>x = 1\n  y</pre><table><caption>Parts</caption><tr><th>Part<th>Kg</tr><tr><td>pump<td>3</tr></table>"
        "<table><tr><td><h2>Laid out</h2></td></tr></table>"
    )

    assert text == (
        "1. first\n\n2. second\n\nvalve: closes the pipe\n\n```\nx = 1\n  y\n```\n\nParts\n\n| Part: pump | Kg: 3 |"
        "\n\n## Laid out"
    )


def test_a_cell_over_rows_and_columns_stands_in_each_row():
    rows = "<tr><th>Site<th colspan=2>kg</tr><tr><td rowspan=2>Kiel<td>1<td>2</tr><tr><td>3<td>4</tr>"

    assert page(f"<table>{rows}</table>") == "| Site: Kiel | kg: 1 | 2 |\n| Site: Kiel | kg: 3 | 4 |"


@pytest.mark.parametrize("encoding", ["euc-jp", "koi8-r", "gb18030", "utf-8", "utf-16"])
def test_the_encoding_that_a_page_declares_is_used(encoding):
    words = {"euc-jp": "ポンプの説明", "koi8-r": "Руководство по насосам"}.get(encoding, "水泵说明书")
    html = f"<html><head><meta charset={encoding}></head><body><p>{words * 3}</p></body></html>"

    assert text_of(".html", html.encode(encoding)) == words * 3


def test_a_page_nested_too_deeply_is_refused_and_never_cut():
    assert page("<div>" * 1500 + "deep").strip() == "deep"
    with pytest.raises(ValueError, match="nested too deeply"):
        page("<div>" * 5000 + "deep")


# PDF


def test_pages_of_a_pdf_are_places_and_lines_become_paragraphs():
    first = [
        (72, 760, 8, "Firm - Manual"), (72, 700, 18, "Pumps"), (72, 660, 11, "The seal of the pump was exam-"),
        (72, 645, 11, "ined twice and it is in order, as the"), (72, 630, 11, "examined parts show."),
        (72, 590, 11, "A second paragraph runs over the page and"), (300, 30, 9, "1"),
    ]  # fmt: skip
    second = [(72, 760, 8, "Firm - Manual"), (72, 700, 11, "ends here."), (72, 660, 11, "1."), (72, 630, 11, "A point."), (300, 30, 9, "2")]  # fmt: skip

    title, text, places, _ = convert(".pdf", pdf([first, second]))

    assert title is None
    assert text == (
        "# Pumps\n\nThe seal of the pump was examined twice and it is in order, as the examined parts show.\n\n"
        "A second paragraph runs over the page and ends here.\n\n1. A point."
    )
    assert [name for _, name in places] == ["p. 1", "p. 2"]
    assert text[places[1][0] :].strip().startswith("ends here.")


def test_a_ruled_table_of_a_pdf_is_read_row_by_row():
    words = [(75, 700, 10, "Item"), (205, 700, 10, "Price"), (75, 680, 10, "pump"), (205, 680, 10, "3.50"), (75, 660, 10, "saw"), (205, 660, 10, "9.00")]  # fmt: skip
    across = [(70, y, 330, y) for y in (715, 695, 675, 655)]
    down = [(x, 715, x, 655) for x in (70, 200, 330)]

    text = text_of(".pdf", pdf([[(70, 740, 10, "Prices of parts."), *words]], [[*across, *down]]))

    assert text == "Prices of parts.\n\n| Item: pump | Price: 3.50 |\n| Item: saw | Price: 9.00 |"


def test_two_columns_of_a_pdf_are_read_one_after_the_other():
    left = [(60, 700 - 14 * n, 10, f"left words of line {n} go") for n in range(12)]
    right = [(330, 700 - 14 * n, 10, f"right words of line {n} go") for n in range(12)]

    text = text_of(".pdf", pdf([[(60, 740, 10, "One line over both of the columns of this page, as a title has it"), *left, *right]]))  # fmt: skip

    assert text.index("left words of line 11") < text.index("right words of line 0")
    assert text.startswith("One line over both")


def test_a_scan_says_that_it_needs_ocr():
    with pytest.raises(ValueError, match="sag ingest --set ocr=eng"):
        convert(".pdf", scan())


def test_a_scan_is_read_by_the_program_that_is_installed(tmp_path, monkeypatch):
    """The program stands in for Tesseract: it is called as that is, and says what it was given."""
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\nhead -c 8 | tail -c 3\necho " page, $3 $4"\n', encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    _, text, places, _ = convert(".pdf", scan(), SourceOptions(ocr="eng+chi_sim"))

    assert "page, -l eng+chi_sim" in text
    assert places == [(0, "p. 1")]


def test_without_the_program_a_scan_is_skipped_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ValueError, match="install it"):
        convert(".pdf", scan(), SourceOptions(ocr="eng"))


# Office


def test_sheets_are_places_and_numbers_look_as_a_person_writes_them():
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Costs"
    for row in (["Item", "Price", "Share", "Day"], ["pump", 25.0, 0.25, None], ["saw", 3.5, None, None]):
        sheet.append(row)
    sheet["C2"].number_format = "0 %"
    book.create_sheet("空 sheet")
    book.create_sheet("二月").append(["名称", "数"])
    book["二月"].append(["潮", 3])
    out = io.BytesIO()
    book.save(out)

    _, text, places, _ = convert(".xlsx", out.getvalue())

    assert "| Item: pump | Price: 25 | Share: 25 % |\n| Item: saw | Price: 3.5 |" in text
    assert "NaN" not in text
    assert "Unnamed" not in text
    assert [name for _, name in places] == ["sheet Costs", "sheet 二月"]
    assert text[places[1][0] :].startswith("## 二月")


def test_slides_are_places_with_their_tables_and_notes():
    import pptx
    from pptx.util import Inches

    slides = pptx.Presentation()
    first = slides.slides.add_slide(slides.slide_layouts[5])
    first.shapes.title.text = "潮汐 Tide"
    table = first.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, cells in enumerate((["Item", "Kg"], ["pump", "3"])):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    slides.slides.add_slide(slides.slide_layouts[5]).shapes.title.text = "Second"
    out = io.BytesIO()
    slides.save(out)

    _, text, places, _ = convert(".pptx", out.getvalue())

    assert text.startswith("# 潮汐 Tide\n\n| Item: pump | Kg: 3 |\nNotes:\n\nSay it slowly.\n\n# Second")
    assert places == [(0, "slide 1"), (text.index("# Second"), "slide 2")]


def test_an_office_file_with_a_password_says_so():
    with pytest.raises(ValueError, match="password"):
        convert(".xlsx", outlook.compound({"EncryptedPackage": b"x"}))


def test_an_opendocument_text_keeps_headings_lists_notes_and_rows():
    body = (
        '<text:table-of-content><text:p>Pumps 1</text:p></text:table-of-content><text:h text:outline-level="2">Pumps</text:h>'
        "<text:p>The seal<text:s/>was <text:span>replaced</text:span>.<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>In May</text:p></text:note-body></text:note></text:p>"
        "<text:list><text:list-item><text:p>first</text:p></text:list-item><text:list-item><text:p>次</text:p></text:list-item>"
        "</text:list><table:table><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell><table:table-cell>"
        "<text:p>Kg</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>pump</text:p>"
        '</table:table-cell><table:table-cell><text:p>3</text:p></table:table-cell></table:table-row><table:table-row '
        'table:number-rows-repeated="999999"><table:table-cell table:number-columns-repeated="999999"/></table:table-row></table:table>'
    )  # fmt: skip

    text = text_of(".odt", odt(body))

    assert text == "## Pumps\n\nThe seal was replaced. (In May)\n\n- first\n- 次\n| Item: pump | Kg: 3 |\n\n"


def test_a_book_is_read_by_its_spine_and_each_part_is_named_by_its_heading():
    chapters = {"b.xhtml": "<html><body><h1>Zweites</h1><p>Text two.</p></body></html>", "a.xhtml": "<html><body><h1>第一章</h1><p>文。</p></body></html>"}  # fmt: skip

    title, text, places, _ = convert(".epub", epub(chapters))

    assert title == "The Book"
    assert text == "# Zweites\n\nText two.\n\n# 第一章\n\n文。\n\n"
    assert [name for _, name in places] == ["§ Zweites", "§ 第一章"]


def test_rich_text_keeps_its_words_and_rows():
    rtf = rb"{\rtf1\ansi The pump\par\trowd Item\cell Kg\cell\row\trowd saw\cell 3\cell\row\pard Fin \u28526?.\par}"

    text = text_of(".rtf", rtf)

    assert "The pump" in text
    assert "| Item: saw | Kg: 3 |" in text
    assert "Fin 潮." in text


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_csv_file_may_have_any_usual_delimiter(mark):
    assert text_of(".csv", f'name{mark}price\n"pump{mark} big"{mark}3.5\n') == f"| name: pump{' ' if mark == chr(9) else mark} big | price: 3.5 |\n".replace("pump  big", "pump big")  # fmt: skip


# Mail

MAIL = """From: =?utf-8?b?5p6X5rWp54S2?= <p@example.org>
To: q@example.org
Subject: Seals
Date: Tue, 17 Jun 2025 09:14:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: multipart/alternative; boundary=y

--y
Content-Type: {kind}; charset=utf-8

{body}
--y--
--x
Content-Type: application/pdf; name="offer.pdf"
Content-Disposition: attachment; filename="offer.pdf"

xxx
--x--
"""


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", "The seal leaks.\n\n> Which one?\n> > The big one."),
        ("text/html", "<p>The seal\nleaks.</p><blockquote class='gmail_quote'>Which one?</blockquote>"),
    ],
)
def test_a_message_has_its_people_date_text_and_the_names_of_its_attachments(kind, body):
    with pytest.warns(UserWarning, match=r"attachment 'offer\.pdf': broken pdf file"):
        title, text, *_ = convert(".eml", MAIL.format(kind=kind, body=body).encode())

    assert title == "Seals"
    assert text.strip() == (
        "# Seals\n\nFrom: 林浩然 <p@example.org>\nTo: q@example.org\nDate: 2025-06-17 09:14\nAttachments: offer.pdf\n\n"
        "林浩然: The seal leaks."
    )


def test_a_message_of_outlook_is_read():
    title, text, *_ = convert(".msg", outlook.message("Valve 密封", "Ada Lin", "It leaks.\r\n\r\nReplace it."))

    assert title == "Valve 密封"
    assert text.startswith("# Valve 密封")
    assert text.endswith("It leaks.\n\nReplace it.")


# JSON records


def read(tmp_path, name: str, payload: str) -> str:
    (tmp_path / name).write_text(payload, encoding="utf-8")
    (found,) = (parse_document(each) for each in list_source(str(tmp_path / name)) if isinstance(each, RawDocument))
    assert isinstance(found, Document)
    return found.text


def test_a_list_of_records_is_a_row_each_and_a_record_a_line_for_each_field(tmp_path):
    records = '[{"name": "Ada", "born": 1815, "x": null}, {"name": "林", "tags": ["a", "b"], "at": {"city": "Kiel"}}]'

    assert (
        read(tmp_path, "list.json", records) == "| name: Ada | born: 1815 |\n| name: 林 | tags: a; b | at.city: Kiel |"
    )
    assert read(tmp_path, "one.json", '{"name": "Ada", "born": 1815}') == "name: Ada\nborn: 1815"


# Hostile files of the new kinds

LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
HOSTILE = {
    "entities.odt": lambda: odt("<text:p>&b;</text:p>", LAUGHS),
    "outside.odt": lambda: odt("<text:p>&e;</text:p>", '<!DOCTYPE l [<!ENTITY e SYSTEM "file:///etc/passwd">]>'),
    "large.odt": lambda: odt("<text:p>" + "x" * 60_000_000 + "</text:p>"),
    "no-content.odt": lambda: package({"a.xml": "<a/>"}),
    "truncated.odt": lambda: odt("<text:p>x</text:p>")[:100],
    "entities.epub": lambda: epub({"a.xhtml": "<p>x</p>"}, container=f"{LAUGHS}<c>&b;</c>"),
    "no-opf.epub": lambda: epub({"a.xhtml": "<p>x</p>"}, container="<c><rootfile full-path='../../etc/passwd'/></c>"),
    "large.epub": lambda: epub({"a.xhtml": "<p>" + "x" * 60_000_000}),
    "garbage.msg": lambda: b"nothing of the kind",
    "truncated.msg": lambda: outlook.message("a", "b", "c")[:1000],
    "no-header.eml": lambda: b"only words\n",
    "plain.rtf": lambda: b"no rich text",
    "deep.rtf": lambda: b"{\\rtf1" + b"{" * 3_000_000,
}


@pytest.mark.slow
def test_hostile_files_of_the_new_kinds_are_skipped_with_a_reason(tmp_path):
    for name, made in HOSTILE.items():
        (tmp_path / name).write_bytes(made())
    (tmp_path / "z.eml").write_bytes(MAIL.format(kind="text/plain", body="Good.").encode())
    bounds = SourceOptions(unpacked_bytes=50_000_000, conversion_seconds=5, conversion_memory=1 << 30)

    with BoundedReader(bounds) as reader:
        found = [reader.read(raw) for raw in list_source(str(tmp_path), bounds) if isinstance(raw, RawDocument)]

    assert {each.path for each in found if isinstance(each, Quarantined)} == set(HOSTILE)
    assert [each.document_id for each in found if isinstance(each, Document)] == ["z.eml"]
    assert not any("root:" in each.reason for each in found if isinstance(each, Quarantined))


def test_a_message_in_a_message_in_a_message_is_read_or_refused():
    deep = b""
    for n in range(400):
        deep += b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n)
    try:
        text = text_of(".eml", b"Subject: deep\n" + deep + b"\nend")
    except ValueError as error:
        text = str(error)

    assert text


@pytest.mark.slow
def test_what_parsers_warn_of_stays_with_the_file(tmp_path):
    pages = [[(72, 700, 11, "Page one.")]]
    (tmp_path / "a.pdf").write_bytes(pdf(pages))
    bare = b"/Subtype/TrueType/BaseFont/Foo/FontDescriptor<</Type/FontDescriptor/FontName/Foo>>"
    (tmp_path / "b.pdf").write_bytes(pdf(pages).replace(b"/Subtype/Type1/BaseFont/Helvetica", bare))
    (tmp_path / "c.pdf").write_bytes(pdf(pages))

    with BoundedReader(SourceOptions()) as reader:
        notes = {}
        for raw in list_source(str(tmp_path)):
            document = reader.read(raw)
            assert isinstance(document, Document)
            notes[raw.path] = reader.notes

    assert notes["a.pdf"] == notes["c.pdf"] == ""
    assert "FontBBox" in notes["b.pdf"]


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx", ".odt"])
def test_elements_of_any_office_file_are_counted_before_a_tree_is_made(suffix):
    parts = archive({"content.xml": f"<a>{'<b/>' * 20_000}</a>", "more.xml": f"<a>{'<b/>' * 20_000}</a>"})
    options = SourceOptions(conversion_seconds=1)

    with pytest.raises(ValueError, match=r"more than 20,000 elements.*`sag ingest --set conversion_seconds=2`"):
        convert(suffix, parts, options)
    with pytest.raises(ValueError, match=f"broken {suffix[1:]} file"):  # few enough: it comes to the converter
        convert(suffix, parts, SourceOptions(conversion_seconds=3))


def test_cells_of_a_sheet_are_no_tree():
    rows = "".join(sheet_row(n, text="a") for n in range(1, 6_000))

    assert convert(".xlsx", xlsx(rows), SourceOptions(conversion_seconds=1)).text.count("\n") > 5_000


@pytest.mark.parametrize("drawn", [b"BT /F1 9 Tf (%s) Tj ET" % (b"a" * 2_000), b"0 0 m 9 9 l S " * 2_000])
def test_a_page_that_draws_too_much_is_refused_before_words_are_made_of_it(drawn):
    with pytest.raises(ValueError, match="page 1 draws more than 1,024 characters and lines"):
        convert_pdf(hostile_pdf(drawn), memory=8 << 20)

    assert convert_pdf(hostile_pdf(drawn), memory=32 << 20)
