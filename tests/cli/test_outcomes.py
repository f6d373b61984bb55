"""How commands end: exit codes, errors in words, and what a reader of them is told to do."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sag_pipeline.store.store import Store
from sag_retrieval.cli.main import _extra_of, main
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

NOTE = "# Heron\n\nLumen Optics built the Heron buoy in 2021.\n"
PYTHON_PATH = re.compile(r"\b(?:sag_pipeline|sag_retrieval|dagster)\.\w+|Dagster\w+Error|\.py\b|Traceback")


def sag(*command: str) -> Result:
    return CliRunner().invoke(main, list(command))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a source and its home."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "inbox").mkdir()
    (folder / "inbox" / "heron.md").write_text(NOTE, encoding="utf-8")
    quill = "# Quill\n\nQuill Instruments makes the sensors of the Heron buoy.\n"
    (folder / "inbox" / "quill.md").write_text(quill, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        bare_ingest(["inbox"])
    return folder


@pytest.fixture
def ingested(made, home, tmp_path) -> Path:
    """A home of one's own that follows `inbox`."""
    for name in ("home", "inbox"):
        shutil.copytree(made / name, tmp_path / name)
    assert sag("sources", "move", str(made / "inbox"), "inbox").exit_code == 0
    return home


@pytest.fixture
def kept(made, home, monkeypatch) -> None:
    """Stand in that folder, to call what changes nothing."""
    monkeypatch.setenv("SAG_HOME", str(made / "home"))
    monkeypatch.chdir(made)


def test_an_ingest_of_nothing_but_broken_files_fails(home, source):
    source({"a.pdf": "%PDF-1.7 no page"})

    result = sag("ingest", "inbox")

    assert result.exit_code == 1
    assert "the only file was skipped with errors; `sag status` shows why" in result.stderr
    assert "skipped with errors inbox: a.pdf: " in " ".join(sag("status").stdout.split())


def test_a_broken_file_among_others_is_reported_and_the_rest_is_published(home, source):
    source({"a.pdf": "%PDF-1.7 no page", "heron.md": NOTE})

    result = sag("ingest", "inbox")

    assert result.exit_code == 0
    assert "1 skipped with errors; `sag status` shows why" in result.stdout


def test_a_step_that_failed_for_a_document_is_in_the_exit_code_and_in_the_status(ingested):
    with Store.locked(ingested) as store:
        (entry, _) = store.ledger.entries("step = 'keys' AND kind = 'document'")
        store.ledger.commit([replace(entry, status="failed", part="", row_count=0, reason="ValueError: no key")])

    result = sag("ingest", "inbox")

    assert result.exit_code == 1
    assert "Error: keys of 1 document are missing or incomplete in the release; `sag status` shows why" in result.stderr
    assert f"failed in keys {entry.unit}: ValueError: no key" in " ".join(sag("status").stdout.split())


def test_what_a_parser_warned_of_is_shown_with_its_file(ingested):
    with Store.locked(ingested) as store:
        (entry, _) = store.ledger.entries("step = 'documents' AND kind = 'document'")
        store.ledger.commit([replace(entry, reason="Cannot set gray color")])

    said = " ".join(sag("status").stdout.split())

    assert f"read with warnings inbox: {entry.path}: Cannot set gray color" in said
    assert "skipped with errors inbox:" not in said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["search", ""], "the query is empty"),
        (["search", "Heron", "--where", "nosuch=1"], "unknown filter field 'nosuch'"),
        (["search", "Heron", "--where", "key.foo=1"], "no key of this release has the type 'foo'"),
        (["search", "Heron", "--sql", "nosuch = 1"], "there is no column 'nosuch'"),
        (["search", "Heron", "--set", "foo=1"], "method 'sag' has no option 'foo'"),
        (["search", "Heron", "--method", "foo"], "'foo' is not one of 'sag', "),
        (["ask", "Heron", "--set", "foo=1"], "ask has no option 'foo'"),
        (["ask", "Heron", "--mode", "foo"], "'foo' is not one of 'fast', 'normal', 'deep'"),
        (["report", "--set", "foo=1"], "report has no option 'foo'"),
        (["ingest", "inbox", "--set", "foo=1"], "ingest has no option 'foo'"),
        (["nosuch"], "No such command 'nosuch'"),
    ],
)
def test_a_wrong_call_ends_with_2_and_says_what_is_wrong(kept, command, said):
    result = sag(*command)

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr
    assert not PYTHON_PATH.search(result.stderr)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("dagster.yaml", "storage: 3\n", "dagster.yaml in this folder cannot be used: "),
        (
            "dagster.yaml",
            "run_storage:\n  module: nosuch\n  class: X\n",
            "dagster.yaml in this folder cannot be used: ",
        ),
        (".env", "SAG_LANGUAGE=xx\n", "SAG_LANGUAGE"),
        ("home", "no folder", "home"),
    ],
)
def test_work_that_cannot_be_done_ends_with_1_and_without_names_of_modules(home, source, name, content, said):
    source({"heron.md": NOTE})
    Path(name).write_text(content, encoding="utf-8")

    result = sag("ingest", "inbox")

    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert not PYTHON_PATH.search(result.stderr.replace("dagster.yaml", "")), result.stderr


def test_a_source_that_is_missing_is_said_in_words(ingested):
    result = sag("ingest", "nosuch")

    assert result.exit_code == 1
    assert "nosuch" in result.stderr
    assert not PYTHON_PATH.search(result.stderr), result.stderr


READERS = [
    *(["status"], ["sources"], ["settings"], ["releases"], ["open"], ["search", "Heron"], ["ask", "Heron"], ["--help"]),
    *(["verify"], ["ingest", "--estimate", "inbox"]),
]


def test_a_command_that_reads_creates_nothing_in_the_working_directory(home, source, monkeypatch):
    monkeypatch.delenv("SAG_HOME")
    source({"heron.md": NOTE})

    for command in READERS:
        sag(*command)
        assert [path.name for path in Path().iterdir()] == ["inbox"], command


def test_the_latest_report_is_opened(ingested):
    nothing = sag("open", "--json")
    assert sag("report").exit_code == 0
    first = sag("open", "--json").stdout
    assert sag("report", "--where", "language=en").exit_code == 0
    second = sag("open", "--json").stdout

    assert nothing.exit_code == 1
    assert nothing.stderr == "Error: no report yet; write one with `sag report`\n"
    assert "report.html" in first
    assert "report.html" in second
    assert first != second


def test_the_list_of_sources_says_what_is_missing_and_what_to_do(ingested):
    Path("inbox").rename("moved")

    listed = sag("sources")

    said = " ".join(listed.stdout.split())
    assert "inbox 2 0 " in said
    assert "(missing)" in said
    assert "inbox is missing: `sag sources move inbox NEW`, or `sag sources forget inbox`" in said
    assert sag("sources", "move", "inbox", "moved").exit_code == 0
    assert "missing:" not in sag("sources").stdout


def test_a_home_without_sources_says_how_to_add_one(home):
    assert sag("sources").stdout == "no source yet; add one with `sag ingest FOLDER`\n"


def test_a_query_of_words_that_no_document_has_finds_nothing(ingested):
    for nonsense in ("zxqv blorp wuggle", "量子纠缠"):
        result = sag("search", nonsense)

        assert "nothing fits this query" in result.stdout
        assert "0 hits" in result.stdout
    for known in ("Heron", "Herons", "buoyy sensorz", "Heron 浮标"):
        assert "0 hits" not in sag("search", known).stdout


def test_an_empty_restriction_is_named_and_not_the_words_of_the_query(kept):
    result = sag("search", "Heron buoy", "--where", "language=zh")

    assert "nothing fits within the restriction" in result.stdout
    assert "its words" not in result.stdout


def test_questions_about_other_documents_are_refused(ingested, tmp_path):
    line = {"id": "q1", "question": "Who?", "answers": ["x"], "gold_documents": ["elsewhere.md"]}
    (tmp_path / "q.jsonl").write_text(json.dumps(line), encoding="utf-8")

    for command in (("evaluate", "q.jsonl"), ("evaluate", "q.jsonl", "--answers", "fast")):
        result = sag(*command)
        assert result.exit_code == 1
        assert "none of the 1 documents that q.jsonl names is in release" in result.stderr


def test_an_ingest_calls_unchanged_documents_unchanged(ingested):
    assert "unchanged" in sag("ingest", "inbox").stdout
    assert "skipped" not in sag("ingest", "inbox").stdout


def test_a_web_address_that_leads_nowhere_says_so(home):
    result = sag("ingest", "http://127.0.0.1:9/docs")

    assert "lies at the private address 127.0.0.1; `web.private=true` allows such" in result.stderr


def test_the_status_without_records_of_runs_says_where_to_keep_them(ingested, monkeypatch):
    monkeypatch.delenv("DAGSTER_HOME", raising=False)

    assert re.search(
        r"last run: no record of it \(DAGSTER_HOME .*\); last ingest 20\d\d-", " ".join(sag("status").stdout.split())
    )


def test_a_period_may_be_one_year_or_month(ingested):
    assert sag("report", "--period", "2021", "--out", "a").exit_code == 0
    assert sag("report", "--period", "2021-03", "--out", "b").exit_code == 0


@pytest.mark.parametrize(
    ("module", "extra"), [("dagster", "pipeline"), ("obstore", "object-store"), ("ray", "ray"), ("sag_pipeline.x", "")]
)
def test_a_missing_library_is_told_by_its_extra(module, extra):
    assert _extra_of(module) == extra


def test_no_help_shows_a_mark_of_its_formatting():
    for command in [[], *([name] for name in main.list_commands(None))]:
        assert "\\b" not in CliRunner().invoke(main, [*command, "--help"]).stdout
