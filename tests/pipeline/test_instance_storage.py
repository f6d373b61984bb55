"""Runs are kept where the two shipped configurations say: in SQLite below the home, or in PostgreSQL."""

import shutil
from pathlib import Path

import dagster as dg
import pytest

from sag_pipeline.definitions import defs
from sag_pipeline.jobs import run_ingest as ingest
from sag_pipeline.runs.dagster_runs import open_instance
from sag_pipeline.sources.folders import launched_here
from sag_retrieval.core.errors import SettingsError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run_ingest(instance: dg.DagsterInstance) -> list[dg.DagsterRun]:
    Path("inbox").mkdir()
    Path("inbox/a.md").write_text("# Heron\n\nLumen Optics sold 120 buoys in 2021.", encoding="utf-8")
    config = {**QUIET, "ops": {"documents": {"config": {"sources": ["inbox"]}}}}
    with launched_here():
        result = defs.resolve_job_def("ingest").execute_in_process(run_config=config, instance=instance)
    assert result.success
    return list(instance.get_runs())


def test_by_default_runs_lie_in_sqlite_below_the_home_and_are_found_from_any_folder(home, tmp_path, monkeypatch):
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        (run,) = run_ingest(instance)
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert list((home / ".dagster").rglob("*.db"))

    monkeypatch.setenv("SAG_HOME", str(home.resolve()))
    monkeypatch.chdir(tmp_path / "elsewhere")
    ingest([str(tmp_path / "inbox")])

    with open_instance() as instance:
        assert [each.run_id for each in instance.get_runs()][1:] == [run.run_id]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_with_the_second_configuration_runs_lie_in_postgresql(home, tmp_path, monkeypatch):
    pgserver = pytest.importorskip("pgserver", reason="pgserver, a PostgreSQL from PyPI, is not installed")
    server = pgserver.get_server(tmp_path / "pg", cleanup_mode="delete")
    address = server.get_uri().replace("postgresql://", "postgresql+psycopg2://")
    monkeypatch.setenv("SAG_DAGSTER_PG_URL", address)

    try:
        with dg.DagsterInstance.from_config(str(ROOT / "deploy/postgres")) as instance:
            (run,) = run_ingest(instance)
        rows = server.psql("SELECT status FROM runs;")
    finally:
        server.cleanup()

    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert "SUCCESS" in rows
    assert not (home / ".dagster").exists()


def test_runs_of_the_command_line_are_on_the_page_of_dagster_home(home, tmp_path, monkeypatch):
    (tmp_path / "dagster_home").mkdir()
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster_home"))
    Path("inbox").mkdir()
    Path("inbox/a.md").write_text("# Heron\n\nLumen Optics sold 120 buoys in 2021.", encoding="utf-8")

    ingest(["inbox"])

    with dg.DagsterInstance.get() as instance:
        (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert not (home / ".dagster").exists()


def test_a_dagster_home_that_is_no_folder_is_named(home, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "/nowhere/dagster")

    with pytest.raises(SettingsError, match="DAGSTER_HOME is '/nowhere/dagster', which is not a folder"):
        ingest(["inbox"])
