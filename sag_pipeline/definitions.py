"""Everything Dagster knows of the pipeline: the whole graph on one page.

documents ─► summaries ─┐
    └─────► sections ───┴─► chunks ─► events ─► keys ─► event_keys ─► idf ─┐
                              │         └────► triples ────────────────────┤
                              └──────────────► vectors ────────────────────┴─► release ─► communities ─► report
"""

import dagster as dg

from sag_pipeline.assets.chunks import chunks
from sag_pipeline.assets.communities import communities
from sag_pipeline.assets.documents import documents
from sag_pipeline.assets.event_keys import event_keys
from sag_pipeline.assets.events import events
from sag_pipeline.assets.idf import idf
from sag_pipeline.assets.keys import keys
from sag_pipeline.assets.release import release
from sag_pipeline.assets.report import report
from sag_pipeline.assets.sections import sections
from sag_pipeline.assets.summaries import summaries
from sag_pipeline.assets.triples import triples
from sag_pipeline.assets.vectors import vectors
from sag_pipeline.automation import inbox, ingest, nightly_ingest, report_job
from sag_pipeline.resources import PipelineResource

READ = [documents, summaries, sections, chunks]
EXTRACT = [events, keys, triples, event_keys, idf]
PUBLISH = [vectors, release]
REPORT = [communities, report]

defs = dg.Definitions(
    assets=[*READ, *EXTRACT, *PUBLISH, *REPORT],
    jobs=[ingest, report_job],
    schedules=[nightly_ingest],
    sensors=[inbox],
    resources={"sag": PipelineResource()},
    executor=dg.in_process_executor,  # steps are short and share one store: a process each costs 2 s a step
)
