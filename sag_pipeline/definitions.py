"""What Dagster loads of this project: one corpus without a name, with the home, source and schedule of the settings.

documents ─► summaries ─┐
    └─────► sections ───┴─► chunks ─► events ─► keys ─► event_keys ─► idf ─┐
                              │         └────► triples ────────────────────┤
                              └──────────────► vectors ────────────────────┴─► release ─► communities ─► report
                                                                                       ├──► kg_output
                                                                                       └──► storage
"""

import dagster as dg

from sag_pipeline.components.corpus import Corpus, corpus_definitions
from sag_retrieval.core.settings import load_settings

settings = load_settings()
defs = dg.Definitions.merge(
    corpus_definitions(
        Corpus(
            schedule=settings.schedule,
            prune_schedule=settings.prune_schedule,
            report_schedule=settings.report_schedule,
            time_zone=settings.time_zone,
        )
    ),
    dg.Definitions(executor=dg.in_process_executor),  # a process per step costs 2 s per step
)
