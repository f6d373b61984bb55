"""Documents go in, a release comes out, searches find them; every change is followed exactly. No part is replaced."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from sag_pipeline.runs.status import status_of
from sag_retrieval import QueryError, open_release
from sag_retrieval.core.settings import load_settings
from tests.support.bare_ingest import bare_ingest, kept_ingest

pytestmark = pytest.mark.slow

HERON = """# The Heron buoy

The Heron buoy is built by Lumen Optics in Port Ansel. Its sensors come from Quill Instruments.
Lumen Optics sold 120 buoys in 2021. The coast guard of Ansel uses them since 4 May 2021.
"""
QUILL = """# Quill Instruments

Quill Instruments was founded by Mara Voss in 2009. The firm makes sensors for salt water.
"""
HERON_ZH = """# 海鹭浮标

海鹭浮标由光澜公司在安塞港制造。2021年5月4日起，安塞海警使用这种浮标。光澜公司在2021年售出120个浮标。
"""
FILES = {"heron.md": HERON, "quill.md": QUILL, "zh/海鹭.md": HERON_ZH}
OTHERS = {f"log-{n}.md": f"# Log {n}\n\nThe Egret left pier {n} at noon with {n + 3} crates.\n" for n in range(20)}


def rows(home: Path, table: str) -> set[tuple]:
    return set(open_release(home).table(table).itertuples(index=False, name=None))


def documents_found(home: Path, query: str) -> list[str]:
    return [hit.document_id for hit in open_release(home).search(query).hits]


def test_documents_become_searchable_with_exact_spans_and_tables_come_as_frames(home, source):
    kept_ingest([source(FILES)])

    release = open_release(home)
    english, chinese = release.search("Who built the Heron buoy?"), release.search("海鹭浮标由谁制造？")

    assert english.hits[0].document_id == "heron.md"
    assert chinese.hits[0].document_id == "zh/海鹭.md"
    for hit in (*english.hits, *chinese.hits):
        assert hit.text in FILES[hit.document_id]
        assert FILES[hit.document_id][hit.start : hit.end] == hit.text
    assert release.manifest.counts["documents"] == 3
    assert release.table("documents")["document_id"].tolist() == ["heron.md", "quill.md", "zh/海鹭.md"]
    with pytest.raises(QueryError, match="chunks"):
        release.table("passwords")
    for empty in ("", "   "):
        with pytest.raises(QueryError):
            release.search(empty)


def test_nothing_changed_makes_no_new_release_and_does_nothing(home, source):
    folder = source(FILES)
    first = kept_ingest([folder])
    written = {path: path.stat().st_mtime_ns for path in home.rglob("*.parquet")}

    second = bare_ingest([folder])

    assert second["release"] == first["release"]
    assert not second["is_new"]
    assert all(step.get("new", 0) == step.get("changed", 0) == 0 for step in second["steps"].values())
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*.parquet")} == written


def test_only_the_rows_of_a_changed_document_change(home, source):
    kept_ingest([source(FILES)])
    before = {table: rows(home, table) for table in ("chunks", "events", "documents")}

    report = bare_ingest([source({"quill.md": QUILL.replace("2009", "2010")})])

    assert report["steps"]["chunks"]["changed"] == 1
    assert report["steps"]["chunks"]["skipped"] == 2
    for table, old in before.items():
        changed = old ^ rows(home, table)
        assert changed, table
        assert all("quill.md" in row for row in changed), table


def test_a_removed_document_is_nowhere_any_more(home, source, tmp_path):
    first = bare_ingest([source(FILES | OTHERS)])["release"]
    (tmp_path / "inbox" / "quill.md").unlink()

    report = bare_ingest(["inbox"])

    assert _files_with(home / "releases" / first, b"salt water")
    assert _files_with(home / "releases" / report["release"], b"salt water") == []
    assert report["steps"]["documents"]["removed"] == 1
    assert "quill.md" not in documents_found(home, "Who founded Quill Instruments? Mara Voss")
    for table in ("documents", "sections", "chunks", "events"):
        assert not any("quill.md" in row for row in rows(home, table)), table
    tables = list((home / "tables").rglob("*.parquet"))
    assert all("Mara Voss" not in str(duckdb.read_parquet(str(p)).fetchall()) for p in tables)


def _files_with(folder: Path, words: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words in path.read_bytes()]


def test_a_renamed_document_is_found_under_its_new_name(home, source, tmp_path):
    kept_ingest([source(FILES)])
    (tmp_path / "inbox" / "quill.md").rename(tmp_path / "inbox" / "sensors.md")

    bare_ingest(["inbox"])

    assert documents_found(home, "Who founded Quill Instruments?")[0] == "sensors.md"
    assert open_release(home).manifest.counts["documents"] == 3


def test_sources_are_followed_each_on_its_own(home, source, tmp_path):
    kept_ingest([source(FILES)])
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"id": "heron.md", "text": "A second text of the same name."}), encoding="utf-8")

    bare_ingest([str(other)])
    found = status_of(load_settings())

    assert open_release(home).manifest.counts["documents"] == 3
    (aside,) = found["put_aside"]
    assert aside["file"] == "other.jsonl"
    assert "heron.md" in aside["reason"]


def test_given_events_are_taken_as_they_are(home, tmp_path):
    line = {
        "id": "d1",
        "title": "Heron",
        "text": "Lumen Optics sold 120 buoys. They float.",
        "events": [
            {
                "content": "Lumen Optics sold 120 buoys.",
                "keys": [
                    {"type": "organisation", "value": "Lumen Optics"},
                    {"type": "amount", "value": 120},
                    {"type": "is_sale", "value": True},
                ],
                "triples": [["Lumen Optics", "sold", "buoys"]],
            }
        ],
    }
    (tmp_path / "given.jsonl").write_text(json.dumps(line), encoding="utf-8")

    bare_ingest(["given.jsonl"])

    (hit,) = open_release(home).search("buoys sold").hits
    assert [event.content for event in hit.events] == ["Lumen Optics sold 120 buoys."]
    values = {(key.type, key.value) for key in hit.keys}
    assert {("organisation", "Lumen Optics"), ("amount", 120.0), ("is_sale", True)} <= values
    assert _triples(home) == [("Lumen Optics", "sold", "buoys")]


def _triples(home: Path) -> list[tuple]:
    table = open_release(home).table("triples")
    return list(table[["head", "relation", "tail"]].itertuples(index=False, name=None))


def test_an_older_release_can_be_opened_and_promoted(home, source):
    first = kept_ingest([source(FILES)])["release"]
    second = bare_ingest([source({"quill.md": QUILL.replace("Mara Voss", "Ilse Brandt")})])["release"]

    old = open_release(home, release=first)

    assert first != second
    assert "Mara Voss" in old.search("Who founded Quill Instruments?").hits[0].text
    assert "Ilse Brandt" in open_release(home).search("Who founded Quill Instruments?").hits[0].text


def test_the_same_input_gives_the_same_release_in_any_process(tmp_path, source):
    source(FILES)
    found = []
    for seed, threads in (("1", "1"), ("77", "2")):
        environment = os.environ | {
            "PYTHONHASHSEED": seed,
            "OMP_NUM_THREADS": threads,
            "SAG_HOME": f"home{seed}",
        }
        command = [sys.executable, "-m", "sag_retrieval.cli.main", "ingest", "inbox", "--json"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, text=True)
        release = json.loads(done.stdout)["release"]
        made = tmp_path / f"home{seed}" / "releases" / release / "communities"
        found.append((release, {path.name: path.read_bytes() for path in made.iterdir()}))

    assert found[0] == found[1]
    assert found[0][1], "communities are made of the documents"
