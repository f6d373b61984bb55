"""Runs that Dagster starts: the hour of the schedule, a model that is out of reach, runs that take turns."""

import runpy
from pathlib import Path

import dagster as dg
import pytest
import yaml

from sag_pipeline.definitions import defs
from sag_pipeline.defs.resources import POOL
from sag_pipeline.sources.folders import launched_here
from sag_pipeline.tables import STORED
from sag_retrieval.core.errors import SettingsError

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9/v1"  # the port `discard`, where nothing listens


def of_settings() -> dg.Definitions:
    """The definitions as Dagster would load them now."""
    return runpy.run_path(str(ROOT / "sag_pipeline" / "definitions.py"))["defs"]


def test_schedules_run_when_the_settings_say(monkeypatch):
    monkeypatch.setenv("SAG_SCHEDULE", "30 5 * * 1")
    monkeypatch.setenv("SAG_PRUNE_SCHEDULE", "0 6 * * 1")
    monkeypatch.setenv("SAG_REPORT_SCHEDULE", "15 7 * * 2")
    monkeypatch.setenv("SAG_TIME_ZONE", "Asia/Shanghai")

    found = {each.name: (each.cron_schedule, each.execution_timezone) for each in of_settings().schedules}

    assert found == {
        "nightly_ingest": ("30 5 * * 1", "Asia/Shanghai"),
        "nightly_prune": ("0 6 * * 1", "Asia/Shanghai"),
        "report_schedule": ("15 7 * * 2", "Asia/Shanghai"),
    }


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SAG_SCHEDULE", "daily", "SAG_SCHEDULE is 'daily'"),
        ("SAG_PRUNE_SCHEDULE", "61 4 * * *", "SAG_PRUNE_SCHEDULE is '61 4"),
        ("SAG_TIME_ZONE", "Mars/North", "'Mars/North' is no time"),
    ],
)
def test_a_wrong_hour_or_zone_is_named(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=said):
        of_settings()


def outage(retries: int) -> dg.ExecuteInProcessResult:
    """A run whose model cannot be reached."""
    Path("inbox").mkdir(exist_ok=True)
    Path("inbox/a.md").write_text("# Heron\n\nLumen Optics sold 120 buoys in 2021.", encoding="utf-8")
    config = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {
            "sag": {
                "config": {
                    "chat_model": "openai:scripted",
                    "outage_retries": retries,
                    "outage_minutes": 0.0,
                    "tries": 2,
                    "failures_until_down": 1,
                    "patience_seconds": 0.0,
                }
            }
        },
        "ops": {"documents": {"config": {"sources": ["inbox"]}}},
    }
    return defs.resolve_job_def("ingest").execute_in_process(run_config=config, raise_on_error=False)


@pytest.fixture
def unreachable(home, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", NOWHERE)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("SAG_SOURCE", "inbox")


@pytest.mark.slow
@pytest.mark.parametrize("retries", [0, 2])
def test_a_step_is_repeated_while_the_model_is_out_of_reach(unreachable, retries):
    result = outage(retries)

    assert not result.success
    assert len(result.filter_events(lambda event: event.is_step_up_for_retry)) == retries


@pytest.mark.slow
def test_a_run_of_a_command_fails_at_once_when_the_model_is_out_of_reach(unreachable):
    with launched_here():
        result = outage(2)

    assert not result.success
    assert not result.filter_events(lambda event: event.is_step_up_for_retry)


def test_assets_that_write_to_the_home_share_a_pool_with_one_place():
    writing = {*STORED, "event_keys", "idf", "revisions", "vectors", "release", "storage"}
    pools = {
        key.to_user_string(): asset.op.pool
        for asset in defs.assets or []
        if isinstance(asset, dg.AssetsDefinition)
        for key in asset.keys
    }

    assert {name for name, pool in pools.items() if pool == POOL} == writing
    for path in ("dagster.yaml", "deploy/postgres/dagster.yaml"):
        pool = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))["concurrency"]["pools"]
        assert pool == {"granularity": "run", "default_limit": 1}, path
