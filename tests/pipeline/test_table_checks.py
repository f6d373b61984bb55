"""Checks of every table: they have figures, warnings stop nothing, and a failed one shows no fresh release."""

import logging

import dagster as dg
import numpy as np
import pyarrow as pa
import pytest

from sag_pipeline.definitions import defs
from sag_pipeline.defs.checks import (
    CHECKS,
    check_table,
    communities_are_dense,
    disk_has_room,
    few_names_are_one,
    few_statements_are_revised,
    file_has_every_triple,
    report_is_whole,
    weights_are_finite,
)
from sag_pipeline.publish.checks import MEANINGS
from sag_pipeline.store.store import Store

HERON = "# Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne leads Lumen Optics.\n"


def run(instance: dg.DagsterInstance, job: str = "ingest", **resource: object) -> dg.ExecuteInProcessResult:
    config: dict[str, object] = {
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
        "resources": {"sag": {"config": resource}},
    }
    if job == "ingest":
        config["ops"] = {"documents": {"config": {"sources": ["inbox"]}}}
    return defs.resolve_job_def(job).execute_in_process(config, instance=instance, raise_on_error=False)


def outcomes(result: dg.ExecuteInProcessResult) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
    return {(each.asset_key.to_user_string(), each.check_name): each for each in result.get_asset_check_evaluations()}


def told(instance: dg.DagsterInstance, result: dg.ExecuteInProcessResult) -> set[tuple[str, str]]:
    """Lines of a run's log, with their levels."""
    return {
        (logging.getLevelName(entry.level), entry.user_message)
        for entry in instance.all_logs(result.run_id)
        if entry.dagster_event is None
    }


def test_every_asset_has_checks_that_say_what_they_check():
    specs = [
        spec for asset in defs.assets or [] if isinstance(asset, dg.AssetsDefinition) for spec in asset.check_specs
    ]

    assert {spec.asset_key for spec in specs} == {spec.key for spec in defs.resolve_all_asset_specs()}
    assert [spec.name for spec in specs if not spec.description] == []


@pytest.mark.slow
def test_every_check_is_made_with_figures_and_a_failed_one_shows_no_fresh_release(home, source, monkeypatch):
    monkeypatch.setenv("SAG_SOURCE", "inbox")
    source({"heron.md": HERON, "locked.pdf": "this is no PDF"})
    with dg.DagsterInstance.ephemeral() as instance:
        first = run(instance)

        assert first.success  # half of the files cannot be read: a warning
        found = outcomes(first)
        assert set(found) == {
            *(
                (asset, check.name)
                for asset in CHECKS
                if asset not in ("report", "kg_output", "storage")
                for check in CHECKS[asset]
            ),
            *(("release", name) for name in MEANINGS),
        }
        unread = found["documents", "files_are_read"]
        assert (unread.passed, unread.severity) == (False, dg.AssetCheckSeverity.WARN)
        assert unread.metadata["skipped_with_errors"].value == 1
        assert found["chunks", "documents_have_rows"].metadata["rows_per_document"].value == 1.0
        assert found["release", "counts_tie_up"].metadata["documents"].value == 1
        shown = instance.get_latest_materialization_event(dg.AssetKey("release"))

        home.joinpath("questions.jsonl").write_text("not json\n", encoding="utf-8")
        source({"heron.md": HERON + "\nMore was sold in 2022 by Ada Byrne.\n"})
        refused = run(instance)

        assert not refused.success
        of_release = outcomes(refused)["release", "answers_do_not_fall"]
        assert not of_release.passed
        assert of_release.metadata["release"].value != shown.asset_materialization.metadata["release"].value
        assert ("WARNING", "check files_are_read failed: 1 of 2 files are skipped with errors") in told(instance, first)
        reason = f"check answers_do_not_fall failed: {of_release.description}"
        (failed,) = refused.filter_events(lambda event: event.is_step_failure)
        assert reason in failed.step_failure_data.error.message
        latest = instance.get_latest_materialization_event(dg.AssetKey("release"))
        assert latest.timestamp == shown.timestamp
        assert "communities" not in {
            event.asset_key.to_user_string() for event in refused.get_asset_materialization_events()
        }


@pytest.mark.slow
def test_a_check_that_is_no_warning_stops_the_run_before_anything_is_published(home, source, monkeypatch):
    monkeypatch.setenv("SAG_SOURCE", "inbox")
    source({"heron.md": HERON})
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(instance).success
        with Store.locked(home) as store:
            made, rows = store.ledger.whole("idf"), store.whole("idf")
            broken = rows.set_column(rows.column_names.index("idf"), "idf", pa.array(np.full(len(rows), np.nan)))
            store.commit_wholes({"idf": broken}, made.input_hash)

        refused = run(instance)

        assert not refused.success
        assert not outcomes(refused)["idf", "weights_are_finite"].passed
        assert "release" not in {
            event.asset_key.to_user_string() for event in refused.get_asset_materialization_events()
        }


def test_a_table_of_nothing_passes(tmp_path):
    store = Store(tmp_path)

    assert [check.name for table in ("documents", "events", "vectors") for check in check_table(store, table)
            if not check.passed] == []  # fmt: skip


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (few_names_are_one(5, 10), True),
        (few_names_are_one(6, 10), False),
        (few_statements_are_revised(25, 100), True),
        (few_statements_are_revised(26, 100), False),
        (weights_are_finite(np.array([0.0, 1.5])), True),
        (weights_are_finite(np.array([0.0, np.inf])), False),
        (weights_are_finite(np.array([-0.1])), False),
        (communities_are_dense({}, 0), True),
        (communities_are_dense({"modularity": 0.4}, 3), True),
        (communities_are_dense({"modularity": 0.0}, 3), False),
        (report_is_whole({"events": 3}, ""), True),
        (report_is_whole({"events": 0}, ""), False),
        (report_is_whole({"events": 3}, "its predecessor is damaged"), False),
        (disk_has_room(10.0, 5.0), True),
        (disk_has_room(9.0, 5.0), False),
        (file_has_every_triple(3, 3), True),
        (file_has_every_triple(2, 3), False),
    ],
)
def test_the_bound_of_a_check_decides(check, passed):
    assert check.passed is passed
    assert check.message
