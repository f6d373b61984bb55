"""Run configuration that users stored with version 0.1 is accepted, and the run's log says what to change."""

import dagster as dg
import pytest

from sag_pipeline.definitions import defs
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.sources.folders import launched_here
from sag_retrieval import open_release

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
OF_0_1 = {
    "zh_size": 300,
    "en_size": 40,
    "header": "full",
    "sections_by_model": False,
    "triples_by_model": False,
    "concurrency": 16,
    "requests_per_minute": None,
    "tokens_per_minute": None,
    "max_calls": 5,
    "max_tokens": None,
    "max_cost": 1.5,
    "prices": "0.25/2",
    "chat_model": "offline",
    "embedding_model": "hashing",
}
"""Every field but `home`, as a scaffolded run configuration of 0.1 has them."""
CLUSTERING_OF_0_1 = {
    "method": "leiden",
    "alpha": 0.7,
    "threshold": 0.1,
    "key_types": [],
    "levels": 2,
    "use_idf": True,
    "resolution": None,
}
REPORT_OF_0_1 = {
    **CLUSTERING_OF_0_1,
    "title": "Herons",
    "language": "en",
    "period": "2019..",
    "where": {},
    "sql": "",
    "out": "",
}
TEXT = "# The Heron\n\n" + "Lumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019. " * 6


def log_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    """Warnings of a run as its page shows them."""
    return [
        record.user_message
        for record in (each.event_log_entry for each in instance.get_records_for_run(run_id).records)
        if record.level >= 30
    ]


def run(instance: dg.DagsterInstance, job: str, config: dict[str, object]) -> list[str]:
    """Run a job as it was stored; the warnings in its log."""
    with launched_here():
        done = defs.resolve_job_def(job).execute_in_process(run_config={**QUIET, **config}, instance=instance)
    assert done.success
    return log_of(instance, done.run_id)


@pytest.mark.slow
def test_jobs_run_with_the_configuration_of_0_1_and_their_logs_name_the_new_key(tmp_path, home, source, monkeypatch):
    folder = source({"heron.md": TEXT})
    monkeypatch.setenv("OLD_HOME", str(tmp_path / "old"))
    resources = {"workshop": {"config": {**OF_0_1, "home": {"env": "OLD_HOME"}}}}
    ingest = {"resources": resources, "ops": {"documents": {"config": {"sources": [folder]}}}}
    report = {
        "resources": resources,
        "ops": {"communities": {"config": CLUSTERING_OF_0_1}, "write_report": {"config": REPORT_OF_0_1}},
    }

    with dg.DagsterInstance.ephemeral() as instance:
        warnings = [run(instance, "ingest", ingest), run(instance, "report", report)]

    for found in warnings:
        assert any("DeprecationWarning" in line and "workshop" in line and "`resources: sag`" in line for line in found)
    assert not home.exists()
    with open_release(tmp_path / "old") as release:
        chunks = release.table("chunks")
    assert len(chunks) > 1  # en_size, smaller than the default
    assert all("Document context:" in header for header in chunks.header)
    (page,) = (tmp_path / "old" / "reports").glob("*/*/*.html")
    assert "<title>Herons" in page.read_text(encoding="utf-8")


def resource_of(config: dict[str, object]) -> tuple[PipelineResource, list[str]]:
    """The resource that an asset receives under a run configuration, and the warnings in the log."""
    received = []

    @dg.op(name="look")
    def look(sag: PipelineResource) -> None:
        received.append(sag)

    @dg.job(resource_defs=dict(defs.resources or {}))
    def one() -> None:
        look()

    with dg.DagsterInstance.ephemeral() as instance:
        done = one.execute_in_process(run_config=config, instance=instance)
        return received[0], log_of(instance, done.run_id)


def test_a_field_below_both_names_has_the_value_of_the_current_one():
    old, new = {"en_size": 50, "zh_size": 60}, {"en_size": 70}

    found, warnings = resource_of({"resources": {"workshop": {"config": old}, "sag": {"config": new}}})

    assert (found.en_size, found.zh_size) == (70, 60)
    assert len(warnings) == 1


def test_a_configuration_of_the_current_name_gives_no_warning():
    found, warnings = resource_of({"resources": {"sag": {"config": {"en_size": 70}}}})

    assert (found.en_size, warnings) == (70, [])


def test_a_value_that_no_longer_exists_is_refused_below_the_old_name_too():
    with pytest.raises(dg.DagsterInvalidConfigError, match="lines"):
        resource_of({"resources": {"workshop": {"config": {"header": "lines"}}}})
