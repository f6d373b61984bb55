"""Sources from the command line and from the Dagster page: told, moved, forgotten down to the bytes, and bounded."""

import json
import os
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sag_pipeline.definitions import defs
from sag_retrieval import SagError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.release.releases import Releases
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

SECRET = "Zanzibar Quorum Holdings"
FILES = {f"{n}.md": f"The Egret left pier {n} at noon." for n in range(12)}


def sag(*arguments: str) -> tuple[int, object, str]:
    """Exit code, JSON of standard output, and standard error of a command."""
    done = CliRunner().invoke(main, [*arguments, "--json"])
    return done.exit_code, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr


def documents(home: Path) -> list[tuple[str, str]]:
    rows = open_release(home).index.rows["documents"]
    return list(zip(rows["document_id"].to_pylist(), rows["source"].to_pylist(), strict=True))


def test_a_missing_source_is_told_and_the_rest_is_published(home, source):
    code, report, told = sag("ingest", "nowhere", source({"a.md": "Quill makes sensors."}))

    assert code == 1
    assert "'nowhere' does not exist" in told
    assert documents(home) == [("a.md", "inbox")]
    assert report["unread_sources"] == ["source 'nowhere' does not exist; give a folder or a file that does"]
    assert report["release"] == Releases(home).current()


def test_a_source_that_is_suddenly_empty_leaves_the_release_in_force(home, source, tmp_path):
    first = bare_ingest([source(FILES)])["release"]
    for path in (tmp_path / "inbox").iterdir():
        path.unlink()

    code, _, told = sag("ingest", "inbox")

    assert code == 1
    assert "12 of its 12 documents are gone" in told
    assert "--allow-removals" in told
    assert Releases(home).current() == first
    _, status, _ = sag("status")
    assert "12 of its 12 documents are gone" in status["put_aside"][0]["reason"]
    assert next(row for row in status["tables"] if row["table"] == "documents")["documents"] == 12

    code, report, _ = sag("ingest", "inbox", "--allow-removals")
    assert code == 0
    assert documents(home) == []
    assert report["put_aside"] == 0


def test_a_moved_source_keeps_its_documents_and_nothing_is_read_again(home, source, tmp_path):
    bare_ingest([source({**FILES, "empty.md": ""})])
    (tmp_path / "inbox").rename(tmp_path / "archive")

    code, row, _ = sag("sources", "move", "./inbox", "archive")
    report = bare_ingest(["archive"])

    assert code == 0
    assert (row["source"], row["path"], row["documents"], row["put_aside"]) == (
        "archive", str(tmp_path / "archive"), 12, 1,
    )  # fmt: skip
    assert {step["new"] + step["changed"] for step in report["steps"].values() if "new" in step} == {0}
    assert report["steps"]["documents"]["skipped"] == 12
    assert {name for _, name in documents(home)} == {"archive"}
    (listed,) = sag("sources")[1]
    assert listed["is_there"]
    assert listed["last_ingest"] >= row["last_ingest"]


def test_a_source_is_not_moved_onto_another_and_an_unknown_one_not_at_all(home, source, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"text": "Lumen."}', encoding="utf-8")
    bare_ingest([source({"a.md": "Quill."}), "other.jsonl"])

    assert "is already a source" in sag("sources", "move", "inbox", "other.jsonl")[2]
    assert "known: inbox, other.jsonl" in sag("sources", "forget", "nowhere")[2]


def test_sources_are_listed_from_any_working_directory(home, source, tmp_path, monkeypatch):
    bare_ingest([source({"a.md": "Quill makes sensors."})])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    code, listed, _ = sag("sources", "list")

    assert code == 0
    assert [(row["source"], row["path"], row["documents"]) for row in listed] == [("inbox", str(tmp_path / "inbox"), 1)]


def test_a_forgotten_source_is_in_no_byte_below_the_home(home, source, tmp_path):
    """The recipe of docs/how-to/own-documents.md, to the end."""
    secret = tmp_path / "secret.jsonl"
    rows = [
        {"id": f"s{n}", "text": f"{SECRET} was founded by Mara {n} Voss in 2009. {SECRET} sold {n} boats."}
        for n in range(3)
    ]
    secret.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    first = bare_ingest([source(FILES), "secret.jsonl"])["release"]
    assert {path.relative_to(home).parts[0] for path in holding(home, SECRET)} == {"tables", "releases", "vectors"}

    code, report, _ = sag("sources", "forget", "secret.jsonl")
    second = bare_ingest(["inbox"])["release"]

    assert (code, report["documents"]) == (0, 3)
    assert {path.relative_to(home).parts[:2] for path in holding(home, SECRET)} == {("releases", first)}
    sag("releases", "prune", "--keep", "1", "--grace-hours", "0")
    assert holding(home, SECRET) == []
    assert holding(home, "secret.jsonl") == []
    assert Releases(home).current() == second
    assert len(documents(home)) == 12


def test_the_only_source_is_forgotten_and_published_without_another(home, source):
    bare_ingest([source({"a.md": f"{SECRET} makes sensors."})])
    sag("sources", "forget", "inbox")

    code, _, told = sag("ingest")

    assert code == 1
    assert "data/documents" in told
    assert documents(home) == []


def holding(home: Path, words: str) -> list[Path]:
    """Files that hold the words: as bytes, folded, as values of Parquet, or in a database."""
    return [path for path in sorted(home.rglob("*")) if path.is_file() and _holds(path, words)]


def _holds(path: Path, words: str) -> bool:
    text = path.read_bytes().lower()
    if path.suffix == ".parquet":
        text += str(pq.read_table(path).to_pylist()).lower().encode()
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as database:
            names = [name for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
            text += "".join(str(database.execute(f'SELECT * FROM "{n}"').fetchall()) for n in names).lower().encode()
    return words.lower().encode() in text


def from_the_page(*sources: str) -> dg.ExecuteInProcessResult:
    config = {"ops": {"documents": {"config": {"sources": list(sources)}}}} if sources else {}
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    job = defs.resolve_job_def("ingest")
    return job.execute_in_process(
        run_config={**config, **quiet}, raise_on_error=False, asset_selection=[dg.AssetKey("documents")]
    )


def test_a_run_from_the_page_reads_what_the_settings_allow_and_nothing_else(home, source, tmp_path, monkeypatch):
    source({"a.md": "Quill.", "sub/b.md": "Lumen."})
    (tmp_path / "inbox-secret").mkdir()
    (tmp_path / "inbox" / "out").symlink_to(tmp_path / "inbox-secret")

    assert not from_the_page("inbox").success
    monkeypatch.setenv("SAG_SOURCE", "inbox")
    assert from_the_page("inbox").success
    assert from_the_page().success
    assert not from_the_page("inbox/sub").success
    monkeypatch.setenv("SAG_SOURCE_ROOTS", os.pathsep.join([str(tmp_path / "elsewhere"), str(tmp_path / "inbox")]))
    assert from_the_page("inbox/sub").success
    for outside in ("inbox-secret", "inbox/out", "inbox/../inbox-secret", "/etc", "/"):
        assert not from_the_page(outside).success

    with pytest.raises(SagError, match="SAG_SOURCE_ROOTS"):
        bare_ingest(["inbox-secret"])


def test_linked_files_are_searchable_only_if_that_is_wanted(home, source, tmp_path):
    (tmp_path / "out.txt").write_text(f"{SECRET} makes sensors.", encoding="utf-8")
    source({"a.md": "Lumen makes buoys."})
    (tmp_path / "inbox" / "link.txt").symlink_to(tmp_path / "out.txt")

    sag("ingest", "inbox")
    before = documents(home)
    sag("ingest", "inbox", "--follow-links")

    assert before == [("a.md", "inbox")]
    assert documents(home) == [("a.md", "inbox"), ("link.txt", "inbox")]
