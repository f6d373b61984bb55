"""A home stays in size: the job `prune` and its schedule, and what `sag status` says of sizes, runs and growth."""

import json
import os
import shutil
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner

from sag_pipeline.definitions import defs
from sag_pipeline.jobs import run_ingest
from sag_pipeline.runs.dagster_runs import HOME, process_tag
from sag_pipeline.runs.status import age_hours, sizes_of, status_of
from sag_pipeline.store.store import Store
from sag_retrieval import open_release
from sag_retrieval.cli.main import main
from sag_retrieval.core.errors import SagError
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.releases import Releases
from tests.support.bare_ingest import kept_ingest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
KEEP_ALL = {"grace_hours": 1000.0}


def grow(nights: int) -> list[str]:
    """Releases of some nights, each with one document more, oldest first."""
    made = []
    for night in range(nights):
        Path("inbox").mkdir(exist_ok=True)
        text = f"# Heron {night}\n\nLumen Optics sold {100 + night} buoys in Port Ansel in 20{10 + night}."
        Path(f"inbox/{night}.md").write_text(text, encoding="utf-8")
        made.append(kept_ingest(["inbox"], KEEP_ALL)["release"])
    return made


@pytest.fixture(scope="module")
def nights(tmp_path_factory) -> tuple[Path, list[str]]:
    """A home of five nights, and the names of its releases, oldest first."""
    folder = tmp_path_factory.mktemp("nights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAG_HOME", str(folder / "home"))
        patch.chdir(folder)
        return folder / "home", grow(5)


@pytest.fixture
def made(nights, home) -> list[str]:
    """The releases of a copy of that home, which may be pruned."""
    shutil.copytree(nights[0], home)
    return nights[1]


def prune(**options: float) -> dg.ExecuteInProcessResult:
    config = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {"sag": {"config": options}},
    }
    return defs.resolve_job_def("prune").execute_in_process(run_config=config, raise_on_error=False)


def started(run: dg.DagsterRun) -> dg.EventLogEntry:
    """Dagster's record of the start of a run."""
    event = dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_START.value, job_name=run.job_name)
    return dg.EventLogEntry(
        error_info=None,
        level="debug",
        user_message="",
        run_id=run.run_id,
        timestamp=time.time(),
        job_name=run.job_name,
        dagster_event=event,
    )


def metadata(result: dg.ExecuteInProcessResult) -> dict[str, object]:
    (event,) = result.asset_materializations_for_node("storage")
    return {name: value.value for name, value in event.metadata.items()}


def test_pruning_keeps_three_releases_and_all_of_the_last_day(home, made):
    kept = metadata(prune())
    gone = metadata(prune(grace_hours=0.0))

    assert kept["pruned_releases"] == 0
    assert gone["pruned_releases"] == 2
    assert [each.folder.name for each in Releases(home).found()] == made[2:]


def test_pruning_keeps_the_current_release_and_one_that_is_open(home, made):
    Releases(home).promote(made[0])
    with open_release(home, release=made[1]):
        gone = metadata(prune(grace_hours=0.0, keep_releases=1))

    assert gone["pruned_releases"] == 2
    assert [each.folder.name for each in Releases(home).found()] == [made[0], made[1], made[4]]


def test_a_job_that_cannot_prune_fails_with_the_reason_after_it_pruned_the_rest(home, made):
    (home / "reports" / "lock").unlink(missing_ok=True)
    (home / "reports" / "lock").mkdir(parents=True)  # a folder where the lock of reports lies

    result = prune(grace_hours=0.0)

    error = result.failure_data_for_node("storage").error.cause
    assert "pruned_reports: " in error.message
    assert "run the job `prune` again" in error.message
    assert [each.folder.name for each in Releases(home).found()] == made[2:]


def test_the_nightly_schedule_starts_the_job_that_prunes():
    (nightly_prune,) = [each for each in defs.schedules or [] if each.name == "nightly_prune"]
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(instance, scheduled_execution_time=datetime(2024, 1, 1, 4, 30, tzinfo=UTC))
        ticked = nightly_prune.evaluate_tick(context)

    assert len(ticked.run_requests or []) == 1
    assert (nightly_prune.job_name, nightly_prune.cron_schedule) == ("prune", "30 4 * * *")


def test_sizes_cover_every_file_and_count_shared_files_once(home):
    grow(2)
    files = {(p.stat().st_dev, p.stat().st_ino): p.stat().st_size for p in home.rglob("*") if p.is_file()}

    sizes = sizes_of(home)

    assert sum(sizes.values()) == pytest.approx(sum(files.values()) / 1e6, abs=0.01)
    assert min(sizes[kind] for kind in ("tables", "ledger", "vectors", "releases")) > 0


def test_what_takes_the_space_is_told_beside_the_text(home):
    grow(2)

    done = CliRunner().invoke(main, ["status", "--sizes", "--json"])
    told, sizes = json.loads(done.output)["space"], sizes_of(home)
    shown = CliRunner().invoke(main, ["status", "--sizes"]).output

    text = [text for rows in Store(home).scan("documents") for text in rows["text"].to_pylist()]
    assert told["text_megabytes"] == pytest.approx(sum(len(each.encode()) for each in text) / 1e6)
    assert told["times"] == pytest.approx(sum(sizes.values()) / told["text_megabytes"], rel=0.01)
    kinds = Counter()
    for row in told["parts"]:
        kinds[row["part"].partition("/")[0]] += row["megabytes"]
    assert dict(kinds) == pytest.approx({kind: size for kind, size in sizes.items() if kind in kinds}, abs=0.001)
    assert {"releases/arrays", "releases/tables", "tables/documents", "vectors/projected_chunks"} <= {
        row["part"] for row in told["parts"]
    }
    assert "times the text" in shown


def test_the_status_has_sources_sizes_age_and_growth(home):
    made = grow(3)

    found = status_of(load_settings())

    (source,) = found["sources"]
    assert (source["source"], source["documents"], source["is_there"]) == ("inbox", 3, True)
    assert [step["release"] for step in found["growth"]] == made[1:]
    assert [step["documents"] for step in found["growth"]] == [1, 1]
    assert found["mean_growth"]["documents"] == 1.0
    assert 0 <= found["release_age_hours"] < 1
    assert age_hours(home, datetime.now(UTC) + timedelta(hours=30)) == pytest.approx(30, abs=0.5)
    assert found["last_run"] is None


def test_an_empty_home_has_a_status(home):
    found = status_of(load_settings())

    assert (found["sources"], found["growth"], found["mean_growth"], found["release_age_hours"]) == ([], [], {}, None)
    assert sum(found["sizes"].values()) == 0


def test_the_status_has_the_last_run_and_its_outcome(home, tmp_path):
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    grow(1)
    run_ingest(["inbox"])
    done = status_of(load_settings())["last_run"]
    with pytest.raises(SagError):
        run_ingest(["nowhere"])
    failed = status_of(load_settings())["last_run"]
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        job = defs.resolve_job_def("ingest")
        tag = (
            {HOME: os.path.realpath(home)}
            | process_tag()
            | {"sag/process": process_tag()["sag/process"].rpartition(":")[0] + ":1"}
        )
        run = instance.create_run_for_job(job, tags=tag)
        instance.handle_new_event(started(run))
        other = instance.create_run_for_job(job, tags={HOME: "/another/home"})
        instance.report_run_canceled(other)

    killed = status_of(load_settings())["last_run"]

    assert done["outcome"] == "success"
    assert done["seconds"] > 0
    assert failed["outcome"] == "failure"
    assert (killed["outcome"], killed["run_id"]) == ("killed", run.run_id)


def test_the_command_shows_runs_sizes_sources_and_growth(home, tmp_path):
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    made = grow(2)
    run_ingest(["inbox"])

    shown = CliRunner().invoke(main, ["status"], catch_exceptions=False).stdout

    for words in ("last run: success", "hours old", "vectors", "inbox", made[1], "mean"):
        assert words in shown, words


def test_records_of_runs_that_cannot_be_read_hide_nothing_else(home, tmp_path):
    grow(1)
    (tmp_path / "dagster.yaml").write_text("storage: {nonsense: 1}\n", encoding="utf-8")

    found = status_of(load_settings())

    assert found["last_run"]["outcome"] == "unknown"
    assert "dagster.yaml" in found["last_run"]["reason"]
    assert found["sources"]
