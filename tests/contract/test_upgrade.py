"""A home that version 0.1 made goes on with today's code: nothing is lost or doubled, and what is asked anew is told before."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from sag_pipeline.integrity.verify import verify_home
from sag_pipeline.jobs import run_report
from sag_pipeline.options import RunOptions
from sag_pipeline.runs.estimate import estimate_run
from sag_pipeline.runs.status import status_of
from sag_retrieval import ReleaseError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.options import build_options
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.release.schema import SCHEMA_VERSION
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer
from tests.support.kept_home import edit_manifest, unpack
from tests.support.scripted_answers import read_well

pytestmark = pytest.mark.slow

MADE_ANEW = ("summaries", "keys", "triples")
"""What no release counts, and what the rules of another version read otherwise."""
READ = ("documents", "sections", "summaries", "chunks", "events", "keys", "triples")


@pytest.fixture
def old(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.setenv("SAG_SOURCE", "inbox")
    return unpack(tmp_path)


def told(*command: str) -> str:
    done = CliRunner().invoke(main, command)
    return done.output + (done.stderr or "")


def in_force(home: Path) -> Path:
    return Releases(home).path()


def make_unreadable(home: Path, version: int, **fields: object) -> None:
    for release in (home / "releases").iterdir():
        edit_manifest(release, schema_version=version, a_field_of_that_version=1, **fields)


def test_its_release_answers_as_it_did_or_says_what_to_run(home, old):
    version = json.loads((in_force(home) / "manifest.json").read_text(encoding="utf-8"))["schema_version"]
    if version != SCHEMA_VERSION:
        with pytest.raises(ReleaseError, match="publish again with `sag ingest`"):
            open_release(home)
        return

    with open_release(home) as release:
        found = {text: [hit.chunk_id for hit in release.search(text).hits] for text in old["hits"]}

    assert found == old["hits"]


def test_it_is_upgraded_in_place_with_every_row_it_had(home, old):
    make_unreadable(home, 1)

    report = bare_ingest(["inbox"])

    steps = report["steps"]
    assert all(steps[name]["new"] == steps[name]["removed"] == steps[name]["failed"] == 0 for name in READ[1:]), steps
    assert steps["documents"]["new"] == steps["documents"]["removed"] == 0
    with open_release(home) as release:
        assert {name: release.manifest.counts[name] for name in READ if name not in MADE_ANEW} == {
            name: old["counts"][name] for name in READ if name not in MADE_ANEW
        }
        assert {text: [hit.chunk_id for hit in release.search(text).hits] for text in old["hits"]} == old["hits"]


def test_it_is_whole_before_and_after_the_upgrade_and_its_releases_go_after_the_grace_period(home, old):
    of_then = {path.name for path in (home / "releases").iterdir()}
    make_unreadable(home, 1, created_at=datetime.now(UTC).isoformat())

    assert "nothing is wrong" in told("verify", "--deep")
    assert "nothing is wrong" in told("repair", "--yes")
    kept = prune_releases(home, grace_hours=0, keep=2)
    report = bare_ingest(["inbox"])
    whole = verify_home(home, deep=True)
    young = prune_releases(home, grace_hours=1_000_000)
    gone = prune_releases(home, grace_hours=0)

    assert kept == young == []
    assert whole.faults == []
    assert [each.of for each in whole.checked if each.name == "releases"] == [
        f"releases, {len(of_then)} of another version of sag, not compared"
    ]
    assert set(gone) == of_then
    assert Releases(home).current() == report["release"]


def test_status_report_releases_and_the_next_change_work_on_it(home, old, tmp_path):
    before = status_of(load_settings())
    listed = json.loads(told("releases", "list", "--json"))
    bare_ingest(["inbox"])  # a release of an older form is published again before anything reads it
    report = run_report()["report"]
    (tmp_path / "inbox" / "new.md").write_text("# New\n\nThe Heron sank in 2024.\n", encoding="utf-8")

    after = bare_ingest(["inbox"])

    assert before["release"] == old["release"]
    assert len(before["put_aside"]) == 1
    assert [row["in_force"] for row in listed] == [False, True]
    assert "previous" not in report  # reports of 0.1 grouped events by keys, this one is about topics
    assert "fault" not in report
    documents = after["steps"]["documents"]
    assert documents["new"] == 1
    assert documents["skipped"] + documents["changed"] == old["counts"]["documents"]


def test_what_the_prompts_of_this_version_ask_again_is_told_before_and_paid_once(home, old, tmp_path, monkeypatch):
    monkeypatch.setenv("SAG_HOME", str(tmp_path / "asked"))
    monkeypatch.setenv("SAG_CHAT_MODEL", "openai:scripted")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    make_unreadable(tmp_path / "asked", 1)
    for log in (tmp_path / "inbox").glob("log-*.md"):
        log.unlink()
    options = build_options(RunOptions, {"triples_by_model": False}, what="ingest")  # 0.1 asked for none by default

    with ChatServer(read_well) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        told_before = estimate_run(["inbox"], options)["steps"][-1]["calls"]
        report = bare_ingest(["inbox"], options)
        paid = len(server.calls)
        bare_ingest(["inbox"], options)

    assert 0 < paid == told_before == len(server.calls)
    assert report["steps"]["events"]["failed"] == 0
    assert open_release(tmp_path / "asked").manifest.counts["events"] > 0


def test_a_home_of_a_newer_version_says_so_and_can_still_be_published_from(home, old):
    make_unreadable(home, SCHEMA_VERSION + 7)

    with pytest.raises(ReleaseError, match=rf"newer version of sag.*{SCHEMA_VERSION + 7}.*reads {SCHEMA_VERSION}"):
        open_release(home)
    assert "newer version" in told("releases", "list")
    bare_ingest(["inbox"])

    assert open_release(home).manifest.schema_version == SCHEMA_VERSION
