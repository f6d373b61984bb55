"""Whatever lies in a source, the rest is ingested, and each fault is one clear line of the status."""

import json
import re
from pathlib import Path

import pytest

from sag_pipeline.embed.embed import wanted_vectors
from sag_pipeline.runs.status import status_of
from sag_pipeline.store.store import Store
from sag_retrieval import SagError, open_release
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.releases import Releases
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

GOOD = "Lumen Optics sold 120 buoys in 2021."


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "good.md").write_text(GOOD, encoding="utf-8")
    return folder


def faults() -> dict[str, str]:
    return {
        row["file"] + (f":{row['line']}" if row["line"] else ""): row["reason"]
        for row in status_of(load_settings())["put_aside"]
    }


def documents(home: Path) -> list[str]:
    return open_release(home).index.rows["documents"]["document_id"].to_pylist()


def test_every_fault_is_told_and_the_rest_is_ingested(home, inbox):
    (inbox / "empty.md").write_bytes(b"")
    (inbox / "blank.txt").write_text("  \n\t\n", encoding="utf-8")
    (inbox / "broken.pdf").write_bytes(b"%PDF-1.7 this is no page\n%%EOF")
    (inbox / "broken.docx").write_bytes(b"PK\x03\x04 not an archive")
    lines = [
        json.dumps({"id": "a", "text": GOOD}),
        json.dumps({"id": "b", "text": "A second line."}),
        '{"id": "c", "text": "cut',
        json.dumps({"id": "d", "text": 7}),
        json.dumps({"id": "a", "text": "The same id again."}),
        json.dumps({"id": "e", "title": "No text"}),
        json.dumps({"id": "f", "text": "x", "events": [{"keys": []}]}),
        json.dumps(["not", "an", "object"]),
    ]
    (inbox / "lines.jsonl").write_text("\n".join(lines), encoding="utf-8")

    bare_ingest(["inbox"])

    told = faults()
    assert set(told) == {
        "empty.md",
        "blank.txt",
        "broken.pdf",
        "broken.docx",
        *(f"lines.jsonl:{n}" for n in (3, 4, 5, 6, 7, 8)),
    }
    assert all(told.values())
    assert documents(home) == ["a", "b", "good.md"]


def test_odd_texts_are_read_as_meant(home, inbox):
    odd = {
        "latin.txt": ("Café Zürich sold 40 buoys.".encode("latin-1"), "Café Zürich"),
        "gb.txt": ("海鹭浮标由光澜公司在安塞港制造，海警使用这种浮标。".encode("gb18030"), "光澜公司"),
        "utf16.txt": ("Quill makes sensors.".encode("utf-16"), "Quill makes"),
        "nul.txt": (b"Quill makes\x00 sensors for salt water.", "sensors for salt water"),
        "long.txt": (("Quill sold sensors to nine ports. " * 8_000).encode(), "Quill sold sensors"),
    }
    for name, (payload, _) in odd.items():
        (inbox / name).write_bytes(payload)

    bare_ingest(["inbox"])

    assert faults() == {}
    rows = open_release(home).index.rows["documents"].to_pylist()
    texts = {row["document_id"]: row["text"] for row in rows}
    assert texts.keys() == {"good.md", *odd}
    assert [name for name, (_, expected) in odd.items() if expected not in texts[name] or "\x00" in texts[name]] == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no source holds a file to read; check the folder"),
        ({"a.pdf": b"%PDF-1.7 no page"}, "the only file was skipped with errors; `sag status` shows why"),
        ({"a.pdf": b"%PDF-1.7", "b.docx": b"no zip"}, "all 2 files were skipped with errors; `sag status` shows why"),
    ],
    ids=["an empty folder", "one broken file", "broken files"],
)
def test_a_first_run_that_reads_nothing_publishes_nothing_and_says_what_to_do(home, tmp_path, files, said):
    (tmp_path / "nothing").mkdir()
    for name, payload in files.items():
        (tmp_path / "nothing" / name).write_bytes(payload)

    with pytest.raises(SagError, match=re.escape(f"no release is published: {said}")):
        bare_ingest(["nothing"])

    assert Releases(home).current() is None
    assert set(faults()) == set(files)


def test_the_next_run_publishes_what_the_first_could_not_read(home, tmp_path):
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.md").write_bytes(b"")
    with pytest.raises(SagError, match="the only file was skipped"):
        bare_ingest(["inbox"])
    (tmp_path / "inbox" / "a.md").write_text(GOOD, encoding="utf-8")

    bare_ingest(["inbox"])

    assert documents(home) == ["a.md"]


def test_a_release_that_loses_every_document_on_request_can_be_searched(home, inbox):
    bare_ingest(["inbox"])
    (inbox / "good.md").unlink()

    bare_ingest(["inbox"], follow={"allow_removals": True})

    assert open_release(home).search("anything").hits == ()


def test_the_status_counts_each_stored_vector_once_however_many_documents_share_it(home, inbox):
    (inbox / "same.md").write_text(GOOD, encoding="utf-8")

    bare_ingest(["inbox"])

    (row,) = [row for row in status_of(load_settings())["tables"] if row["table"] == "vectors"]
    assert row["documents"] == 2
    assert row["rows"] == len(wanted_vectors(Store(home))) > 0


def test_a_source_that_is_not_there_is_an_error_that_removes_nothing(home, inbox):
    bare_ingest(["inbox"])

    with pytest.raises(SagError, match="elsewhere"):
        bare_ingest(["elsewhere"])

    assert documents(home) == ["good.md"]


def test_a_document_that_breaks_keeps_its_last_good_version(home, inbox):
    bare_ingest(["inbox"])
    (inbox / "good.md").write_bytes(b"")

    bare_ingest(["inbox"])

    assert documents(home) == ["good.md"]
    assert "last good version" in faults()["good.md"]


def test_a_mended_document_leaves_the_faults(home, inbox):
    (inbox / "late.md").write_bytes(b"")
    bare_ingest(["inbox"])
    (inbox / "late.md").write_text("Quill makes sensors.", encoding="utf-8")

    bare_ingest(["inbox"])

    assert faults() == {}
    assert documents(home) == ["good.md", "late.md"]


def test_a_document_that_vanishes_while_it_is_read_is_put_aside(home, inbox, monkeypatch):
    gone = inbox / "gone.md"
    gone.write_text("Here for a moment.", encoding="utf-8")
    from sag_pipeline.sync import bounded

    parse = bounded.parse_document

    def vanish_first(raw, options):
        gone.unlink(missing_ok=True)
        return parse(raw, options)

    monkeypatch.setattr(bounded, "parse_document", vanish_first)

    bare_ingest(["inbox"])

    assert list(faults()) == ["gone.md"]
    assert documents(home) == ["good.md"]
