"""While a step is under way, the log of its run and the page of its asset say how far it is."""

import threading

import dagster as dg
import pytest

from sag_pipeline.defs.corpus_assets import beating
from sag_pipeline.progress import listener, listening, offer


def lines_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    return [
        each.event_log_entry.user_message
        for each in instance.get_records_for_run(run_id).records
        if each.event_log_entry.user_message.startswith("keys: ")
    ]


def observations(instance: dg.DagsterInstance) -> list[dict[str, object]]:
    found = instance.fetch_observations(dg.AssetKey("keys"), limit=100).records
    return [{name: each.value for name, each in one.asset_observation.metadata.items()} for one in reversed(found)]


@pytest.mark.slow
def test_a_step_that_reports_nothing_for_long_is_told_at_a_steady_pace_with_its_figures(tmp_path):
    heard: list[tuple[str, int, int, str]] = []

    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:

        @dg.asset
        def keys(context: dg.AssetExecutionContext) -> None:
            with listening(lambda *told: heard.append(told)), beating(context, 0.05):
                offer(failed=lambda: 2, tokens=lambda: 12_000, cost=lambda: 0.25)
                listener()("keys", 100, 1_000, "heron.md")
                while len(lines_of(instance, context.run.run_id)) < 4:  # nothing is reported meanwhile
                    threading.Event().wait(0.02)

        done = dg.materialize([keys], instance=instance)
        lines, seen = lines_of(instance, done.run_id), observations(instance)

    assert lines[0].startswith("keys: 100 of 1,000")
    assert all(part in lines[0] for part in ("heron.md", "failed 2", "tokens 12000", "cost 0.25"))
    assert 2 <= len(seen) <= len(lines)
    assert {name: seen[0][name] for name in ("step", "done", "total", "failed", "tokens", "cost", "dagster_run")} == {
        "step": "keys",
        "done": 100,
        "total": 1_000,
        "failed": 2,
        "tokens": 12_000,
        "cost": 0.25,
        "dagster_run": done.run_id,
    }
    assert heard == [("keys", 100, 1_000, "heron.md")]  # who listened before still hears


def test_a_step_that_ends_at_once_says_nothing_and_leaves_no_thread(tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:

        @dg.asset
        def keys(context: dg.AssetExecutionContext) -> None:
            with beating(context):
                listener()("keys", 1, 1)

        done = dg.materialize([keys], instance=instance)

        assert lines_of(instance, done.run_id) == []
        assert observations(instance) == []
    assert [thread.name for thread in threading.enumerate() if thread.name == "sag-told"] == []
