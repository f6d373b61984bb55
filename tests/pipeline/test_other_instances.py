"""An instance of Dagster without the shipped `dagster.yaml` says what it lacks, and how to add it."""

import json
import os
import shutil
from pathlib import Path

import dagster as dg
import pytest
import yaml

from sag_pipeline.runs.dagster_runs import lacks
from tests.support import forked

ROOT = Path(__file__).parents[2]


def lines_of(faults: list[str]) -> dict:
    """What they say to add, as the file that has it all."""
    return {
        key: value for fault in faults for line in fault.split("`")[1::2] for key, value in yaml.safe_load(line).items()
    }


@pytest.mark.parametrize("config", ["dagster.yaml", "deploy/postgres/dagster.yaml", "deploy/helm/dagster.yaml"])
def test_the_shipped_files_ask_for_what_is_looked_for(config):
    found = yaml.safe_load((ROOT / config).read_text(encoding="utf-8"))
    pools = found["concurrency"]["pools"]

    assert pools.get("default_limit", pools.get("defaultLimit")) == 1
    assert pools["granularity"] == "run"


def test_what_an_instance_lacks_is_gone_once_the_lines_are_added(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        faults = lacks(instance)
    assert [fault.split("`")[1].partition(":")[0] for fault in faults] == ["concurrency", "run_monitoring"]

    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=lines_of(faults)) as instance:
        assert lacks(instance) == []


@pytest.mark.slow
@pytest.mark.parametrize("shipped", [True, False])
def test_settings_and_the_log_of_a_run_say_what_the_instance_lacks(tmp_path, shipped, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.md").write_text("# Heron\n\nThe Heron was sold to Mara Holt in 1990.\n")
    (tmp_path / "dagster").mkdir()
    if shipped:
        shutil.copy(ROOT / "dagster.yaml", tmp_path / "dagster")
    told = {**os.environ, "DAGSTER_HOME": str(tmp_path / "dagster"), "SAG_HOME": str(tmp_path / "home")}

    def sag(*command: str) -> str:
        done = forked.sag(*command, cwd=tmp_path, env=told)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (row,) = [each for each in json.loads(sag("settings", "--json")) if each["name"] == "DAGSTER_HOME"]
    sag("ingest", "inbox")
    monkeypatch.setenv("SAG_HOME", told["SAG_HOME"])  # the shipped file keeps runs in the home
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
        (run,) = instance.get_runs()
        logged = [each.message for each in instance.all_logs(run.run_id) if "lacks something" in each.message]

    assert ("default_limit: 1" in row["meaning"]) is not shipped
    assert len(logged) == (0 if shipped else 2)
