"""Asset `documents`: what the sources hold."""

from dataclasses import replace

import dagster as dg
from pydantic import create_model

from sag_pipeline.config import config_fields, given_options
from sag_pipeline.reading.sync import SyncOptions, TooManyRemoved, note_ingest, sync_source, tell_fault
from sag_pipeline.resources import PipelineResource, now, progress_of, result_of, table
from sag_pipeline.runner import RunStats, step_of
from sag_pipeline.steps.folders import SourceOptions, refuse_source
from sag_pipeline.store.store import PURGE
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.options import build_options

_FIELDS = config_fields(SyncOptions, without=frozenset({"source"}))
_Configured = create_model("_Configured", __base__=dg.Config, **_FIELDS)


class SourcesConfig(_Configured):
    """Folders or files to follow, none means SAG_SOURCE; and what of them may be read and removed."""

    sources: list[str] = []
    follow_links_outside: bool = False

    def options(self, bounds: SourceOptions) -> SyncOptions:
        """As following takes them, with the bounds of the run on what is read."""
        links = self.follow_links_outside or bounds.follow_links_outside
        source = replace(bounds, follow_links_outside=links)
        return build_options(SyncOptions, {**given_options(self, _FIELDS), "source": source}, what="ingest")


@dg.asset(group_name="read", kinds={"parquet"}, owners=["team:sag"])
def documents(context: dg.AssetExecutionContext, config: SourcesConfig, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a document: new and changed ones are read, vanished ones removed, broken ones put aside with a reason."""
    settings, ingest = sag.settings(), sag.options()
    options, step = config.options(ingest.source), step_of("documents", ingest)
    sources = config.sources or [settings.source]
    for source in sources:
        refuse_source(source, settings)
    tally, faults = RunStats(), list[SourceError]()
    with sag.store() as store:
        for source in sources:
            try:
                found = sync_source(store, step, source, options, progress_of(context))
            except SourceError as error:
                context.log.warning("%s", error)
                tell_fault(store, source, str(error))
                faults.append(error)
                continue
            note_ingest(store, source, now())
            tally.counts.update(found.counts)
            tally.seconds += found.seconds
        refused = [error for error in faults if isinstance(error, TooManyRemoved)]
        if refused or (len(faults) == len(sources) and store.ledger.whole(PURGE) is None):
            raise SourceError("; ".join(map(str, refused or faults)))
        aside = [
            {"source": e.source, "file": e.path, "line": e.line if e.line >= 0 else "", "reason": e.reason}
            for e in store.ledger.entries("step = 'documents' AND kind = 'aside'")
        ]
        return result_of(
            store,
            step,
            tally,
            put_aside=table(aside, width=200),
            unread_sources=dg.MetadataValue.json([str(error) for error in faults]),
        )
