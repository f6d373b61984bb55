"""An ingest that finds home, sources, options and code as the last one left them starts no run."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from sag_pipeline.runs.unchanged import FILE, Inputs
from sag_pipeline.store.store import Store
from sag_retrieval.cli.main import main
from sag_retrieval.core.settings import load_settings


def ingest(*options):
    """What `sag ingest --json` prints; no release is due to be deleted, which would lead to a run."""
    words = ["ingest", "inbox", "--set", "keep_releases=100", *options, "--json"]
    return json.loads(CliRunner().invoke(main, words).stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of the home and of the source `inbox`."""
    made = tmp_path_factory.mktemp("known")
    (made / "inbox").mkdir()
    return made


@pytest.fixture
def known(home, folder, monkeypatch):
    """A home whose last ingest read two documents; what the test before did to them is undone."""
    monkeypatch.setenv("SAG_HOME", str(folder / "home"))
    monkeypatch.chdir(folder)
    texts = {"a.md": "# Heron\n\nLin opened the Heron plant in 2024.\n", "b.md": "# Crane\n\nXu left Crane in 2023.\n"}
    for path in Path("inbox").iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = Path("inbox", name)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    time.sleep(0.1)  # files that changed within a tick of the clock are read again
    ingest()
    return folder / "home"


def is_run(*options):
    """Whether an ingest starts a run; a step of one takes some time."""
    return ingest(*options)["steps"]["documents"]["seconds"] > 0


def test_an_ingest_with_nothing_to_do_says_what_a_run_would_say(known):
    quick = ingest()
    (known / FILE).unlink()
    slow = ingest()

    assert [quick[name] for name in ("release", "is_new", "put_aside")] == [slow["release"], False, 0]
    for step, counts in slow["steps"].items():
        assert {**quick["steps"][step], "seconds": 0} == {**counts, "seconds": 0}, step


def test_it_is_recorded_when_the_source_was_read(known):
    before = json.loads((known / "sources.json").read_text())["sources"][0]["last_ingest"]
    time.sleep(1.1)

    assert not is_run()
    assert json.loads((known / "sources.json").read_text())["sources"][0]["last_ingest"] > before


@pytest.mark.slow
def test_other_options_lead_to_a_run(known):
    assert not is_run()
    for options in (("--reprocess", "events"), ("--exclude", "b.md"), ("--set", "en_size=500")):
        assert is_run(*options), options


def touch_as_before(known):
    """Other bytes of the same length, under the times of the old ones."""
    file = Path("inbox/a.md")
    told = file.stat()
    file.write_text(file.read_text().replace("2024", "2025"))
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns))


CHANGES = {
    "a file has other bytes of the same length and time": touch_as_before,
    "a file came": lambda _: Path("inbox/c.md").write_text("# Teal\n\nTeal was founded in 1999.\n"),
    "a file is gone": lambda _: Path("inbox/b.md").unlink(),
    "a link to a folder came": lambda home: Path("inbox/more").symlink_to(home.parent),
    "people decided on names": lambda home: (home / "aliases.csv").write_text("verb,key,other\n"),
    "the ledger has another commit": lambda home: Store(home).redo("events", ["a.md"]),
    "what was kept is no JSON": lambda home: (home / FILE).write_text("{"),
    "a file of the release is gone": lambda home: next((home / "releases").rglob("key_idf.npy")).unlink(),
    "a part is gone": lambda home: next((home / "tables").rglob("*.parquet")).unlink(),
}
DAMAGE = {"a part is gone", "people decided on names"}  # no ingest mends it


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_leads_to_a_run(known, change):
    assert not is_run()
    CHANGES[change](known)
    try:
        found = is_run()
    except (KeyError, ValueError):  # the run ended with what is wrong
        found = True
    if change in DAMAGE:
        shutil.rmtree(known)
    assert found


@pytest.mark.slow
def test_records_of_runs_are_no_input(known):
    (known / ".dagster").mkdir()
    assert [is_run(), is_run()] == [True, False]
    (known / ".dagster" / "runs.db").touch()
    assert not is_run()
    shutil.rmtree(known / ".dagster")


@pytest.mark.parametrize("name", ["reports", "lock", "sources.json", "__pycache__"])
def test_a_folder_of_a_source_counts_though_a_home_has_one_of_its_name(home, source, name):
    states = set()
    for year in (2024, 2026):
        folder = source({f"{name}/a.md": f"# Heron\n\nLin opened the Heron plant in {year}.\n"})
        time.sleep(0.1)
        states.add(Inputs(load_settings(), [folder], {})._state)
    assert len(states - {""}) == 2


def test_a_file_that_was_skipped_with_errors_is_tried_again(home, source):
    source({"a.md": "# Heron\n\nLin opened the Heron plant in 2024.\n", "b.md": ""})
    time.sleep(0.1)
    assert [is_run(), is_run()] == [True, True]


def test_of_a_source_only_files_that_changed_are_opened(known, monkeypatch):
    opened = []
    monkeypatch.setattr(
        "sag_pipeline.sources.listing.open_regular", lambda file: opened.append(file.name) or file.open("rb")
    )
    touch_as_before(known)
    assert ingest()["steps"]["documents"]["changed"] == 1
    assert set(opened) == {"a.md"}

    for file in (known / "listed").iterdir():
        file.write_bytes(b"torn")
    Path("inbox/c.md").write_text("# Teal\n\nTeal was founded in 1999.\n")
    assert ingest()["steps"]["documents"]["new"] == 1
    assert set(opened) == {"a.md", "b.md", "c.md"}
