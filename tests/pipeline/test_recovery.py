"""Releases, the pointer, reports and Dagster's records: what is damaged is made again, what is old goes, nothing else."""

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from sag_pipeline.embed.embed import open_embedding
from sag_pipeline.jobs import run_report
from sag_pipeline.publish.publish import publish
from sag_pipeline.runs.dagster_runs import PROCESS, end_lost_runs, prune_runs
from sag_pipeline.runs.maintenance import Keep, prune_all, vacuum
from sag_pipeline.store.store import Store
from sag_retrieval import ReleaseError, SettingsError, SourceError, open_release
from sag_retrieval.cli.main import main
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.folders import write_lock
from sag_retrieval.release.reader import open_reader
from sag_retrieval.release.releases import Releases, prune_releases
from sag_retrieval.reports.series import prune_reports
from sag_retrieval.topics.stored import release_communities
from tests.support.bare_ingest import bare_ingest
from tests.support.kept_home import unpack

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LATER = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict]:
    """A folder with a home that began with version 0.1: two releases of today's form, two reports of one series."""
    folder = tmp_path_factory.mktemp("made")
    home = folder / "home"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("SAG_")]:
            patch.delenv(name)
        patch.setenv("SAG_HOME", str(home))
        patch.chdir(folder)
        kept = unpack(folder)
        for name in ("releases", "reports"):
            shutil.rmtree(home / name)
        (home / "CURRENT").unlink()
        more = folder / "inbox" / "more.md"
        more.write_text("# More\n\nThe Heron was repaired in 2023.\n", encoding="utf-8")
        bare_ingest(["inbox"])
        run_report()
        more.unlink()
        release = bare_ingest(["inbox"])["release"]
        run_report()
        with open_release(home) as opened:
            return folder, kept | {"release": release, "counts": dict(opened.manifest.counts)}


@pytest.fixture
def kept(made, home, tmp_path) -> dict:
    """A copy of that home, in the test's own folder."""
    folder, told = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return told


def again(home: Path):
    """Publish what the tables hold."""
    with Store.locked(home) as store:
        embedding = open_embedding(store, "hashing")
        made = publish(store, embedding, "2026-01-01T00:00:00+00:00")
        vacuum(store, embedding.vectors)
        return made


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def other(home: Path, kept: dict) -> Path:
    (folder,) = [path for path in (home / "releases").iterdir() if path.name != kept["release"]]
    return folder


# ── a damaged release ────────────────────────────────────────────────────────────────────────────────────────────


def lose(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("part", ["manifest.json", "arrays/vectors", "."])
def test_a_release_that_lost_a_part_is_built_again_though_nothing_changed(part, home, kept):
    lose(home / "releases" / kept["release"] / part)

    made = again(home)

    assert made.is_new
    assert made.manifest.release_id == kept["release"]
    with open_release(home) as release:
        assert [hit.chunk_id for hit in release.search(next(iter(kept["hits"]))).hits]
        assert release.search("Heron", sql="language = 'en'").hits
    assert not again(home).is_new
    assert [name for name in names(home / "releases") if name.startswith(".")] == []


def test_the_next_release_is_not_built_on_a_damaged_one(home, kept, tmp_path):
    for path in (home / "releases" / kept["release"] / "arrays/vectors").rglob("*.npy"):
        path.write_bytes(b"")
    (tmp_path / "inbox" / "new.md").write_text("# New\n\nThe Heron sank in 2024.\n", encoding="utf-8")

    report = bare_ingest(["inbox"])

    assert report["is_new"]
    assert open_release(home).manifest.counts["documents"] == kept["counts"]["documents"] + 1


def test_a_half_deleted_release_does_not_stand_in_the_way_and_goes_after_the_grace(home, kept):
    half = other(home, kept)
    (half / "manifest.json").unlink()
    (home / "releases" / ".gone-x").mkdir()
    (home / "releases" / ".draft-x").mkdir()
    (home / ".CURRENT.123").write_text("x")

    assert prune_releases(home, keep=1) == []
    assert names(home / "releases") == {half.name, kept["release"]}
    assert prune_releases(home, keep=1, now=datetime.now(UTC) + timedelta(hours=25)) == [half.name]

    assert names(home / "releases") == {kept["release"]}
    assert not (home / ".CURRENT.123").exists()


# ── pruning and the pointer ──────────────────────────────────────────────────────────────────────────────────────


def test_pruning_keeps_the_newest_the_one_in_force_and_the_one_held(home, kept):
    older = other(home, kept)
    Releases(home).promote(older.name)
    assert prune_releases(home, keep=1, now=LATER) == []
    Releases(home).promote(kept["release"])
    held = open_release(home, release=older.name)
    assert prune_releases(home, keep=1, now=LATER) == []
    held.close()

    assert prune_releases(home, keep=1, now=LATER) == [older.name]
    assert names(home / "releases") == {kept["release"]}


def test_releases_of_another_version_are_listed_and_pruned_like_all(home, kept):
    older = other(home, kept)
    path = older / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 1}))

    rows = json.loads(CliRunner().invoke(main, ["releases", "--json"]).output)

    assert [(row["release"], bool(row["fault"])) for row in rows] == [(older.name, True), (kept["release"], False)]
    assert prune_releases(home, keep=2, now=LATER) == []
    assert prune_releases(home, keep=1, now=LATER) == [older.name]


def test_nothing_but_a_release_is_put_in_force_or_opened(home, kept):
    for named in ("", " ", ".", "..", "../releases", "r0", "\x00", "x" * 5000, ".gone-x", "鹭", "a/b"):
        with pytest.raises(ReleaseError, match="is not below"):
            Releases(home).promote(named)
        with pytest.raises(ReleaseError, match="is not below"):
            open_release(home, release=named)

    assert Releases(home).current() == kept["release"]


def test_whoever_prunes_or_promotes_waits_for_the_writer(home, kept):
    code = (
        "import sys, pathlib; from sag_retrieval.release.folders import write_lock\n"
        "with write_lock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(SourceError, match="for 0 s"):
            with write_lock(home, patience=0):
                pass
        with ThreadPoolExecutor() as pool:
            pruning = pool.submit(prune_releases, home, keep=1, grace_hours=0)
            time.sleep(0.5)
            waited = not pruning.done() and len(names(home / "releases")) == 2
            holder.kill()
            pruning.result(300)

    assert waited
    assert names(home / "releases") == {kept["release"]}


# ── communities and reports ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("damage", ["made", "garbage"])
def test_communities_that_are_damaged_are_made_again(damage, home, kept):
    reader = open_reader(home, None, open_embedder)
    first = release_communities(reader, ClusterOptions())
    folder = reader.folder / "communities"
    if damage == "garbage":
        for path in folder.glob("*.parquet"):
            path.write_bytes(b"PAR1 no table")
    else:
        (folder / damage).unlink()
    (reader.folder / ".communities-killed").mkdir()

    second = release_communities(reader, ClusterOptions())

    assert [each.community_id for each in second] == [each.community_id for each in first]
    assert (folder / "made").is_file()
    assert [name for name in names(reader.folder) if name.startswith(".")] == []


def series_of(home: Path) -> Path:
    (folder,) = [path for path in (home / "reports").iterdir() if path.is_dir()]
    return folder


def test_a_report_does_not_wait_for_a_run_that_writes_tables(home, kept):
    with write_lock(home):
        report = open_release(home).report()
        found = release_communities(open_reader(home, None, open_embedder), ClusterOptions())

    assert report.page.is_file()
    assert len(found) > 0


def forget(report: Path) -> None:
    shutil.rmtree(report)


def spoil(report: Path) -> None:
    for path in report.rglob("*.parquet"):
        path.write_bytes(b"PAR1")


@pytest.mark.parametrize("damage", [forget, spoil])
def test_a_report_whose_predecessor_cannot_be_read_is_written_and_says_so(damage, home, kept):
    before = next(name for name in names(series_of(home)) if name not in {kept["release"], "LATEST"})
    damage(series_of(home) / before)

    report = open_release(home).report()

    assert report.previous == before
    assert before in report.fault
    assert "nothing is compared" in report.fault
    assert report.counts["new"] == 0
    assert open_release(home).report().page.read_bytes() == report.page.read_bytes()


@pytest.mark.parametrize("said", [b"\xff\x00", b"../.."])
def test_a_series_whose_latest_is_garbage_goes_on(said, home, kept):
    shutil.rmtree(series_of(home) / kept["release"])
    (series_of(home) / "LATEST").write_bytes(said)

    report = open_release(home).report()

    assert report.page.is_file()
    assert (series_of(home) / "LATEST").read_text() == kept["release"]
    assert open_release(home).report().previous == report.previous


def test_a_report_that_forgot_its_own_predecessor_is_not_compared_with_itself(home, kept):
    (series_of(home) / kept["release"] / "report.json").write_bytes(b"{")

    assert open_release(home).report().previous == ""


def test_old_reports_go_but_never_the_latest(home, kept):
    both = names(series_of(home)) - {"LATEST"}
    (series_of(home) / kept["release"] / ".draft-killed").mkdir()

    assert prune_reports(home, keep=1) == []
    gone = prune_reports(home, keep=1, now=LATER)

    assert [name.partition("/")[2] for name in gone] == sorted(both - {kept["release"]})
    assert names(series_of(home)) == {"LATEST", kept["release"]}
    assert not (series_of(home) / kept["release"] / ".draft-killed").exists()
    assert open_release(home).report().fault


# ── Dagster's records, and what else a home keeps ────────────────────────────────────────────────────────────────


@pytest.fixture
def instance(home, tmp_path):
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        yield instance


@dg.op
def nothing() -> None:
    """Do nothing."""


@dg.job
def idle() -> None:
    """Run for its record."""
    nothing()


def test_old_runs_go_with_their_files_and_running_ones_stay(instance, home, tmp_path):
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    ids = [idle.execute_in_process(run_config=quiet, instance=instance).run_id for _ in range(4)]
    running = instance.create_run_for_job(idle, status=dg.DagsterRunStatus.STARTED)

    gone = prune_runs(instance, keep=2, days=90)

    assert gone == 2
    assert {run.run_id for run in instance.get_runs()} == {*ids[2:], running.run_id}
    assert not [path for path in (home / ".dagster").rglob("*") if path.name.partition(".")[0] in ids[:2]]
    assert instance.all_logs(ids[3])
    assert prune_runs(instance, keep=200, days=90, now=datetime.now(UTC) + timedelta(days=91)) == 2


def test_a_run_whose_process_was_killed_is_told_as_failed(instance, home):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    here = os.uname().nodename
    lost = instance.create_run_for_job(
        idle, status=dg.DagsterRunStatus.STARTED, tags={PROCESS: f"{here}:{ended.pid}:1"}
    )
    own = instance.create_run_for_job(idle, status=dg.DagsterRunStatus.STARTED, tags={PROCESS: f"elsewhere:{1}:1"})

    assert end_lost_runs(instance) == 1

    assert instance.get_run_by_id(lost.run_id).status is dg.DagsterRunStatus.FAILURE
    assert instance.get_run_by_id(own.run_id).status is dg.DagsterRunStatus.STARTED


def test_an_ingest_prunes_by_default_and_as_it_is_told(home, source):
    folder = source({"a.md": "# A\n\nLumen Optics sold 120 buoys in 2021.\n"})
    bare_ingest([folder])
    source({"b.md": "# B\n\nThe Egret left the pier at noon.\n"})
    bare_ingest([folder])
    assert len(Releases(home).found()) == 2

    bare_ingest([folder], {"keep_releases": 1, "grace_hours": 0})

    assert [each.folder.name for each in Releases(home).found()] == [Releases(home).current()]


def test_vectors_of_an_earlier_fit_go_with_the_last_release_that_has_them(home, tmp_path):
    unpack(tmp_path)
    fits = len(names(home / "vectors"))
    prune_releases(home, keep=1, now=LATER)
    (home / "tables" / "events" / ".x.parquet.123").write_bytes(b"cut")
    (home / ".draft-x").mkdir()

    bare_ingest(["inbox"])

    assert fits > 1
    assert len(names(home / "vectors")) == 1
    assert not (home / "tables" / "events" / ".x.parquet.123").exists()
    assert not (home / ".draft-x").exists()


def test_a_home_that_cannot_be_pruned_is_still_ingested(home, kept, instance):
    for lock in (home / "lock", home / "reports" / "lock"):
        lock.unlink(missing_ok=True)
        lock.mkdir()

    gone, faults = prune_all(home, instance, Keep())

    assert gone == {"pruned_releases": 0, "pruned_reports": 0, "pruned_runs": 0}
    assert [each.partition(":")[0] for each in faults] == ["pruned_releases", "pruned_reports"]


@pytest.mark.parametrize(
    "wrong", [{"keep_releases": 0}, {"keep_reports": -1}, {"keep_runs": 0}, {"grace_hours": float("nan")}]
)
def test_bounds_of_what_is_kept_are_told(wrong):
    with pytest.raises(SettingsError, match="must be"):
        Keep(**wrong)
