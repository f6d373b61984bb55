"""The job `report` with a changed run config, launched as Dagster's page launches it: through its GraphQL endpoint."""

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceFileTarget
from dagster_webserver.app import create_app_from_workspace_process_context
from starlette.testclient import TestClient

from sag_pipeline.defs.assets.report import Clustering, Reporting
from sag_pipeline.defs.resources import PipelineResource
from sag_pipeline.jobs import run_report
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.options import options_of
from sag_retrieval.reports.options import ReportOptions
from tests.support.bare_ingest import bare_ingest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LAUNCH = """
mutation ($job: String!, $config: RunConfigData!) {
  launchRun(executionParams: {
    selector: {repositoryLocationName: "sag", repositoryName: "__repository__", jobName: $job}, runConfigData: $config
  }) { __typename ... on LaunchRunSuccess { run { runId } } ... on RunConfigValidationInvalid { errors { message } }
    ... on PythonError { message } }
}
"""
OUTCOME = """
query ($id: ID!) { runOrError(runId: $id) { ... on Run { status assetMaterializations {
  assetKey { path } metadataEntries { label ... on PathMetadataEntry { path } ... on IntMetadataEntry { intValue } }
} } } }
"""
INSTANCE = """
run_coordinator: {module: dagster._core.run_coordinator, class: DefaultRunCoordinator}  # no daemon has to pick runs up
telemetry: {enabled: false}
"""
FIRST = "# The Heron\n\nLumen Optics sold 120 buoys in 2021. Ada Byrne led Lumen Optics from 2019.\n"
SECOND = "# The Egret\n\nLumen Optics sold 300 lamps in 2023. Ada Byrne left Lumen Optics in 2024.\n"


class Page:
    """What a browser asks of Dagster's webserver."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def asks(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = self.client.post("/graphql", json={"query": query, "variables": variables}).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def launch(self, job: str, config: dict[str, Any]) -> dict[str, Any]:
        return self.asks(LAUNCH, job=job, config=config)["launchRun"]

    def runs(self, job: str, config: dict[str, Any]) -> dict[str, dict[str, Any]]:
        launched = self.launch(job, config)
        assert launched["__typename"] == "LaunchRunSuccess", launched
        until = time.monotonic() + 600
        while time.monotonic() < until:
            run = self.asks(OUTCOME, id=launched["run"]["runId"])["runOrError"]
            if run["status"] in ("SUCCESS", "FAILURE"):
                break
            time.sleep(0.1)
        assert run["status"] == "SUCCESS"
        return {
            made["assetKey"]["path"][0]: {e["label"]: e.get("path", e.get("intValue")) for e in made["metadataEntries"]}
            for made in run["assetMaterializations"]
        }


@pytest.fixture
def page(home: Path, tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "dagster.yaml").write_text(INSTANCE, encoding="utf-8")
    with (
        dg.DagsterInstance.from_config(str(tmp_path)) as instance,
        WorkspaceProcessContext(instance, WorkspaceFileTarget([str(ROOT / "workspace.yaml")])) as context,
        TestClient(create_app_from_workspace_process_context(context)) as client,
    ):
        yield Page(client)


def test_a_report_launched_with_a_changed_run_config_follows_it_and_tells_what_is_new_since_the_last(page, source):
    chosen = {
        "title": "Lamps",
        "language": "zh",
        "alpha": 0.5,
        "where": {"content__contains": "Ada Byrne"},
        "period": "2018..",
    }
    bare_ingest([source({"heron.md": FIRST})])
    first = run_report(chosen)["report"]
    bare_ingest([source({"egret.md": SECOND})])

    second = page.runs("report", {"ops": {"write_report": {"config": chosen}}})["report"]

    assert (first["events"], second["events"], second["new"]) == (1, 2, 1)
    assert {"previous", "fault"} & {*second} == {"previous"}
    assert not {"previous", "fault"} & {*first}  # the page shows no empty rows
    told = Path(second["page"]).read_text(encoding="utf-8")
    assert "<h1>Lamps</h1>" in told
    assert all(part in told for part in ("alpha 0.5", "Ada Byrne", "2018.."))
    assert "新增 1 条陈述，来自 1 篇文档：“The Egret”" in told
    refused = page.launch("report", {"ops": {"write_report": {"config": {"language": "de"}}}})
    assert refused["__typename"] == "RunConfigValidationInvalid"
    assert "language not in enum type" in refused["errors"][0]["message"]


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


@pytest.mark.parametrize("config", [Clustering, Reporting])
def test_a_field_at_its_former_place_is_used_with_a_warning_and_an_unknown_one_is_refused(config, caplog):
    log, sag = logging.getLogger("run"), PipelineResource(cluster={"levels": 2})

    moved = config(method="key-type", alpha=0.5, key_types=["place"]).cluster(sag, log)

    assert moved == ClusterOptions(method="key-type", alpha=0.5, key_types=("place",), levels=2)
    assert re.search("configuration of .*alpha", caplog.text)
    assert "is now below `resources: sag: cluster`" in caplog.text
    with pytest.raises(SettingsError, match=r"'resolutoin' is none of.*did you mean 'resolution'"):
        config(resolutoin=1).cluster(sag, log)
