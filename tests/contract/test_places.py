"""The page of a PDF, the slide and the sheet stand in hits, citations, tables and reports, and in what `sag` prints."""

import json
import re

import openpyxl
import pytest

from sag_pipeline.runs.status import status_of
from sag_retrieval import open_release
from sag_retrieval.core.settings import load_settings
from tests.support import forked
from tests.support.bare_ingest import bare_ingest
from tests.support.small_files import pdf

pytestmark = pytest.mark.slow
SENTENCES = ("The harbour was dredged in spring.", "Ada Lin repaired the winch in Kiel.", "密封圈由周启明更换。")


@pytest.fixture
def inbox(home, tmp_path):
    folder = tmp_path / "inbox"
    folder.mkdir()
    filler = [
        (72, 700 - 15 * n, 11, f"The yard keeps record {n} of every repair of a pump in its own book.")
        for n in range(14)
    ]
    pages = [[*filler, (72, 300, 11, text)] for text in (*SENTENCES[:2], "The end of all.")]
    (folder / "minutes.pdf").write_bytes(pdf(pages))
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in (["Item", "Price"], ["gas detector", 394.67], ["heat gun", 6.34]):
        book.active.append(row)
    book.save(folder / "budget.xlsx")
    (folder / "plain.md").write_text("No page has this text about a lighthouse keeper.", encoding="utf-8")
    (folder / "drafts").mkdir()
    (folder / "drafts" / "old.md").write_text("A draft about the winch.", encoding="utf-8")
    return folder


def sag(*words):
    done = forked.sag(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hits_citations_and_reports_name_the_page(inbox, tmp_path):
    bare_ingest([str(inbox)], {"exclude": "drafts"})

    with open_release() as release:
        found = {
            text: release.search(text, top_k=1).hits[0] for text in (SENTENCES[1], "gas detector price", "lighthouse")
        }
        answer = release.ask("Who repaired the winch in Kiel?")
        table = release.search(SENTENCES[1], top_k=1).to_arrow()
        chunk = release.search(SENTENCES[1], top_k=1).hits[0]
        written = release.report(out=tmp_path / "report")

    places = {text: (hit.document_id, hit.place) for text, hit in found.items()}
    assert places[SENTENCES[1]] == ("minutes.pdf", "pp. 2–3")
    assert [name for _, name in found[SENTENCES[1]].places] == ["p. 2", "p. 3"]
    assert places["gas detector price"] == ("budget.xlsx", "sheet Prices")
    assert places["lighthouse"] == ("plain.md", "")
    assert answer.citations[0].place == "p. 2"
    assert answer.to_dict()["citations"][0]["place"] == "p. 2"
    assert table["place"].to_pylist() == ["pp. 2–3"]
    assert "Ada Lin" in chunk.text
    assert written is not None
    pages = [file.read_text(encoding="utf-8") for file in (tmp_path / "report").rglob("*.html")]
    assert {"minutes.pdf p. 1 ·", "budget.xlsx sheet Prices ·"} <= set(
        re.findall(r"[\w.]+ (?:p\.|sheet) \w+ ·", pages[0])
    )


def test_the_command_line_takes_patterns_and_prints_pages(inbox):
    sag("ingest", str(inbox), "--include", "*.pdf", "--include", "*.md", "--exclude", "drafts/*")

    with open_release() as release:
        documents = sorted({hit.document_id for hit in release.search("winch lighthouse repaired", top_k=20).hits})
    assert documents == ["minutes.pdf", "plain.md"]
    assert "minutes.pdf pp. 2–3" in " ".join(sag("search", SENTENCES[1], "--top-k", "1").split())
    assert "minutes.pdf p. 2" in " ".join(sag("ask", "Who repaired the winch in Kiel?").split())
    assert json.loads(sag("search", SENTENCES[1], "--json"))["hits"][0]["place"] == "pp. 2–3"


def test_the_status_has_what_parsers_warned_of(inbox):
    bare = b"/Subtype/TrueType/BaseFont/Foo/FontDescriptor<</Type/FontDescriptor/FontName/Foo>>"
    payload = (inbox / "minutes.pdf").read_bytes().replace(b"/Subtype/Type1/BaseFont/Helvetica", bare)
    (inbox / "noisy.pdf").write_bytes(payload)

    bare_ingest([str(inbox)])
    bare_ingest([str(inbox)])

    (row,) = status_of(load_settings())["warnings"]
    assert row["file"] == "noisy.pdf"
    assert "FontBBox" in row["reason"]
    assert status_of(load_settings())["put_aside"] == []
