"""Asset `documents`: what the sources hold."""

import dagster as dg

from sag_pipeline.follow import follow_source
from sag_pipeline.plan import IngestOptions, step_of
from sag_pipeline.plots import table
from sag_pipeline.resources import Workshop, progress_of, result_of
from sag_pipeline.work import Tally


class Sources(dg.Config):
    """Folders or files to follow; none means SAG_SOURCE."""

    sources: list[str] = []


@dg.asset(group_name="read", kinds={"parquet"}, owners=["team:sag"])
def documents(context: dg.AssetExecutionContext, config: Sources, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a document: new and changed ones are read, vanished ones removed, broken ones put aside with a reason."""
    options = IngestOptions()
    step = step_of("documents", options)
    tally = Tally()
    with workshop.store() as store:
        for source in config.sources or [workshop.settings().source]:
            found = follow_source(store, step, source, options.source, progress_of(context))
            tally.counts.update(found.counts)
            tally.seconds += found.seconds
        aside = [
            {"source": e.source, "file": e.path, "line": e.line if e.line >= 0 else "", "reason": e.reason}
            for e in store.ledger.entries("step = 'documents' AND status = 'failed'")
        ]
        return result_of(store, step, tally, put_aside=table(aside, width=200))
