"""The jobs, and the nightly schedule of the ingest."""

import dagster as dg

ingest = dg.define_asset_job(
    "ingest",
    selection=dg.AssetSelection.assets("release").upstream(),
    description="Documents to a release: only what changed is done.",
)
report_job = dg.define_asset_job(
    "report",
    selection=dg.AssetSelection.assets("communities", "report"),
    description="Communities of the release in force, and the report page about them.",
)
nightly_ingest = dg.ScheduleDefinition(
    name="nightly_ingest",
    job=ingest,
    cron_schedule="0 2 * * *",
    description="The ingest of SAG_SOURCE at two in the night.",
)
