"""Kinds of text that name their places by lines and numbers, and files that other programs read."""

import io
import json
import stat
from importlib.util import find_spec

import pytest
from PIL import Image, ImageDraw, ImageFont

from sag_pipeline.sources.conversion import convert
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import list_source
from sag_retrieval import open_release
from sag_retrieval.core.records import Document, Quarantined
from sag_retrieval.language.places import place_name, places_within
from tests.support.bare_ingest import bare_ingest
from tests.support.small_files import package


def read(tmp_path, name: str, text: str) -> Document:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = map(parse_document, list_source(str(tmp_path / name)))
    assert isinstance(document, Document), document
    return document


def place_of(document: Document, words: str) -> str:
    start = document.text.index(words)
    places = places_within(document.metadata, start, start + len(words))
    return place_name(places, start, start + len(words))


def test_the_places_of_code_and_settings_are_lines(tmp_path):
    code = read(tmp_path, "pump.py", '# Pumps\n\n\ndef pressure() -> int:\n\t"""In bar."""\n\treturn 5\n')
    settings = read(tmp_path, "site.yaml", "pump:\n  hall: 7\n  压力: 5\n")
    long = read(tmp_path, "long.sql", "SELECT 1;\n" * 5_000)

    assert code.title == "pump.py"
    assert place_of(code, "return 5") == "line 6"
    assert place_of(settings, "hall: 7\n  压力: 5") == "lines 2–3"
    assert len(json.loads(long.metadata)["places"]) <= 1_000


LAW = """# Water Act

§ 11 Scope

This Act applies to rivers.

§ 12 Permits

(1) A permit is needed.
(2) It is given for ten years.

(3) § 11 applies to canals too.

§ 13 Fines

Who takes water without a permit pays.

# Annex

Rivers: the Aue.
"""
CODE_OF_LAW = """第一章 总则

第十一条　本法适用于河流。

第十二条　取水须经许可。
许可期限为十年。
有下列情形之一的，不予许可：
（一）水量不足的；
（二）水质不合格的。
前款规定适用于运河。

第十三条　违反第十二条规定的，处以罚款。
"""
BOOK = "EXODUS\n\n3:13 And Moses said unto God.\n\n3:14 And God said: I AM.\n\n3:15 And God said moreover.\n\nLEVITICUS\n\n1:1 And he called.\n"


def test_sections_paragraphs_and_verses_are_places(tmp_path):
    law, chinese, book = (
        read(tmp_path, name, text) for name, text in (("a.md", LAW), ("b.md", CODE_OF_LAW), ("c.txt", BOOK))
    )

    assert {words: place_of(law, words) for words in ("rivers.", "A permit is", "canals too", "pays", "the Aue")} == {
        "rivers.": "§ 11",
        "A permit is": "§ 12 (1)",
        "canals too": "§ 12 (3)",
        "pays": "§ 13",
        "the Aue": "",
    }
    said = {"适用于河流": "第十一条", "取水须经": "第十二条第一款", "十年": "第十二条第二款", "水质": "第十二条第三款"}
    said |= {"运河": "第十二条第四款", "罚款": "第十三条"}
    assert {words: place_of(chinese, words) for words in said} == said
    assert place_of(book, "I AM") == "EXODUS 3:14"
    assert place_of(book, "he called") == "LEVITICUS 1:1"
    named = "2 Kings 1:1 Then Moab rebelled.\nSong of Songs 1:2 Let him.\n出埃及记 3:14 神对摩西说。\n"
    read_named = read(tmp_path, "d.txt", named)
    said = {"Moab": "2 Kings 1:1", "Let him": "Song of Songs 1:2", "摩西": "出埃及记 3:14"}
    assert {words: place_of(read_named, words) for words in said} == said


def test_a_text_that_only_names_sections_has_no_such_places(tmp_path):
    letter = read(
        tmp_path,
        "letter.md",
        "# Letter\n\nWe refer to\nSection 12 of the Act and\nSection 13 of it.\n\nAt 10:12 it rains.\n",
    )

    assert "places" not in json.loads(letter.metadata)


def picture(*lines: str) -> bytes:
    shown = Image.new("RGB", (900, 80 * len(lines)), "white")
    for row, line in enumerate(lines):
        ImageDraw.Draw(shown).text((20, 20 + 80 * row), line, fill="black", font=ImageFont.load_default(32))
    out = io.BytesIO()
    shown.save(out, "PNG")
    return out.getvalue()


@pytest.mark.slow
def test_a_picture_is_read_by_the_package_with_its_own_models():
    if find_spec("rapidocr") is None:
        pytest.skip("ocr: rapidocr is not installed, an extra")

    text = convert(
        ".png", picture("The pump of hall 7 runs at 5 bar.", "Seals: 1 March"), SourceOptions(ocr="rapidocr")
    ).text

    assert text.split("\n")[:2] == ["The pump of hall 7 runs at 5 bar.", "Seals: 1 March"]


def test_pictures_are_counted_without_ocr_and_say_what_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "a.png").write_bytes(picture("Pump"))

    (unread,) = list_source(str(tmp_path))

    assert isinstance(unread, Quarantined)
    assert unread.reason == "1 file of kind .png is not read: a.png; pictures need OCR: `sag ingest --set ocr=rapidocr`"
    with pytest.raises(ValueError, match="a picture needs the program tesseract; install it with its languages, or"):
        convert(".png", picture("Pump"), SourceOptions(ocr="eng"))
    monkeypatch.setattr("sag_pipeline.sources.converters.programs.RAPIDOCR", "absent_package")
    with pytest.raises(ValueError, match=r"a picture needs the package rapidocr; install 'sag\[ocr\]'"):
        convert(".png", picture("Pump"), SourceOptions(ocr="absent_package"))


def test_an_old_office_file_is_read_by_the_program_where_it_is_installed(tmp_path, monkeypatch):
    """The program stands in for LibreOffice: it is called as that is, and makes a file beside the one it is given."""
    body = "<w:body><w:p><w:r><w:t>The seal leaks.</w:t></w:r></w:p></w:body>"
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    made = package(
        {
            "word/document.xml": f"<w:document {space}>{body}</w:document>",
            "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="r" Type="{types}" Target="word/document.xml"/></Relationships>',
        }
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ValueError, match=r"a \.doc file needs the program soffice; install LibreOffice, or save the file"
    ):
        convert(".doc", b"\xd0\xcf\x11\xe0old")

    (tmp_path / "made.docx").write_bytes(made)
    program = tmp_path / "soffice"
    program.write_text(f'#!/bin/sh\n[ "$2" = --headless ] && /bin/cp {tmp_path}/$OUT.$5 $7/in.$5\n', encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("OUT", "made")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert convert(".doc", b"\xd0\xcf\x11\xe0old").text.strip() == "The seal leaks."

    with pytest.raises(ValueError, match=r"broken xls file: soffice failed \(exit code 1\)"):
        convert(".xls", b"\xd0\xcf\x11\xe0old")
    assert not list(tmp_path.glob("sag-*"))


@pytest.mark.slow
def test_a_place_is_a_filter(home, source):
    bare_ingest(
        [source({"law.md": LAW, "recht.md": CODE_OF_LAW, "exodus.txt": BOOK, "plain.md": "# Aue\n\nA river.\n"})]
    )

    wanted = {
        ("place", "§ 12 (2)"): {"law.md"},
        ("place__startswith", "§ 12"): {"law.md"},
        ("place", "§ 99"): set(),
        ("place__in", ("第十二条第四款", "第十三条")): {"recht.md"},
        ("place", "EXODUS 3:14"): {"exodus.txt"},
        ("place__contains", "3:1"): {"exodus.txt"},
    }
    with open_release(home) as release:
        found = {
            asked: {
                hit.document_id for hit in release.search("water 许可 God", where={asked[0]: asked[1]}, top_k=20).hits
            }
            for asked in wanted
        }
        nowhere, somewhere = (
            release.search("river", where={"place__isnull": is_null, "document_id": "plain.md"}).hits
            for is_null in (True, False)
        )

    assert found == wanted
    assert nowhere
    assert not somewhere
