"""The job `report` with a changed run config, as Dagster's page hands it over."""

from pathlib import Path

import dagster as dg
import pytest

from sag_pipeline.definitions import defs
from sag_pipeline.defs.assets.report import Clustering, Reporting
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.jobs import run_report
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.options import options_of
from sag_retrieval.reports.options import ReportOptions
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
FIRST = "# The Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019.\n"
SECOND = "# The Egret\n\nLumen Optics sold 300 lamps in 2023. Ada Byrne left Lumen Optics in 2024.\n"


def test_a_report_launched_with_a_changed_run_config_follows_it_and_tells_what_is_new_since_the_last(home, source):
    chosen = {
        "title": "Lamps",
        "language": "zh",
        "where": {"content__contains": "Ada Byrne"},
        "period": "2018..",
    }
    bare_ingest([source({"heron.md": FIRST})])
    first = run_report(chosen)["report"]
    bare_ingest([source({"egret.md": SECOND})])

    job = defs.resolve_job_def("report")
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process({**QUIET, "ops": {"write_report": {"config": chosen}}}, instance=instance)
    (made,) = done.asset_materializations_for_node("write_report")
    second = {name: value.value for name, value in made.metadata.items()}

    assert (first["events"], second["events"], second["new"]) == (1, 2, 1)
    assert {"previous", "fault"} & {*second} == {"previous"}
    assert not {"previous", "fault"} & {*first}  # the page shows no empty rows
    told = Path(second["page"]).read_text(encoding="utf-8")
    assert "<h1>Lamps</h1>" in told
    assert all(part in told for part in ("Ada Byrne", "2018.."))
    assert "新增 1 条陈述，来自 1 篇文档：“The Egret”" in told
    with pytest.raises(dg.DagsterInvalidConfigError, match="language not in enum type"):
        dg.validate_run_config(job, {"ops": {"write_report": {"config": {"language": "de"}}}})


def test_the_page_offers_the_same_defaults_as_the_command_and_says_what_each_field_is():
    assert Reporting().options() == ReportOptions()
    assert all(field.description for field in Reporting.model_fields.values())


def test_the_clustering_is_configured_at_one_place():
    clustering = {option.name for option in options_of(ClusterOptions)}
    resource = PipelineResource(cluster={"resolution": 0.5, "key_types": ["place"]})

    # a report is grouped otherwise than communities
    assert clustering & {*Reporting.model_fields} == {"method", "key_types"}
    assert not clustering & {*Clustering.model_fields}
    assert resource.run_options().cluster == ClusterOptions(resolution=0.5, key_types=("place",))
