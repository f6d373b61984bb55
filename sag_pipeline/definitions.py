"""Everything Dagster knows of the pipeline: the whole graph on one page.

documents ─► summaries ─┐
    └─────► sections ───┴─► chunks ─► events ─► keys ─► event_keys ─► idf ─┐
                              │         └────► triples ────────────────────┤
                              └──────────────► vectors ────────────────────┴─► release ─► communities ─► report
"""

import dagster as dg

from sag_pipeline import assets
from sag_pipeline.definitions import inbox, ingest, nightly_ingest, report_job
from sag_pipeline.resources import PipelineResource

defs = dg.Definitions(
    assets=dg.load_assets_from_package_module(assets),
    jobs=[ingest, report_job],
    schedules=[nightly_ingest],
    sensors=[inbox],
    resources={"sag": PipelineResource()},
    executor=dg.in_process_executor,  # steps are short and share one store: a process each costs 2 s a step
)
