"""Dagster's definitions of the pipeline: the asset graph, jobs, the nightly schedule and the inbox sensor.

documents ─► summaries ─┐
    └─────► sections ───┴─► chunks ─► events ─► keys ─► event_keys ─► idf ─┐
                              │         └────► triples ────────────────────┤
                              └──────────────► vectors ────────────────────┴─► release ─► communities ─► report
                                                                                       └──► kg_output
"""

from hashlib import blake2b
from pathlib import Path

import dagster as dg

from sag_pipeline import assets
from sag_pipeline.assets.report import INGEST
from sag_pipeline.resources import DEPRECATED_KEY, KEY, DeprecatedPipelineResource, PipelineResource
from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.settings import load_settings

ingest = dg.define_asset_job(
    INGEST,
    selection=dg.AssetSelection.assets("communities").upstream(),
    description="Documents to a release and its communities; only what changed is processed.",
)
report_job = dg.define_asset_job(
    "report",
    selection=dg.AssetSelection.assets("communities", "report"),
    description="Communities of the current release, and the report page about them.",
)


def _nightly() -> dg.ScheduleDefinition:
    """The schedule at the time that the settings give.

    Raises:
        SettingsError: If `SAG_SCHEDULE` is no cron expression.

    """
    settings = load_settings()
    try:
        return dg.ScheduleDefinition(
            name="nightly_ingest",
            job=ingest,
            cron_schedule=settings.schedule,
            execution_timezone=settings.time_zone,
            description="Ingests SAG_SOURCE, by default every night at 02:00 UTC (SAG_SCHEDULE, SAG_TIME_ZONE).",
        )
    except dg.DagsterInvalidDefinitionError as error:
        raise SettingsError(f"SAG_SCHEDULE is {settings.schedule!r}, write it as cron, like 0 2 * * *") from error


nightly_ingest = _nightly()


def state_of(source: Path) -> str:
    """Hash of the names, sizes and times of the files of a source; empty if the source does not exist."""
    if not source.exists():
        return ""
    digest = blake2b(digest_size=12)
    for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if path.is_file():
            stat = path.stat()
            digest.update(f"{path}\x1f{stat.st_size}\x1f{stat.st_mtime_ns}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dg.sensor(
    job=ingest,
    minimum_interval_seconds=60,
    description="Starts an ingest when SAG_SOURCE has changed.",
)
def inbox(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Request one run per state of the source; a known state starts nothing."""
    source = Path(load_settings().source)
    state = state_of(source)
    if not state:
        return dg.SkipReason(f"{source} does not exist; set SAG_SOURCE to a folder or file of documents")
    if state == context.cursor:
        return dg.SkipReason(f"{source} has not changed")
    return dg.SensorResult(run_requests=[dg.RunRequest(run_key=state)], cursor=state)


defs = dg.Definitions(
    assets=dg.load_assets_from_package_module(assets),
    jobs=[ingest, report_job],
    schedules=[nightly_ingest],
    sensors=[inbox],
    resources={KEY: PipelineResource(), DEPRECATED_KEY: DeprecatedPipelineResource()},
    executor=dg.in_process_executor,  # steps are short and share one store: one process per step costs 2 s per step
)
