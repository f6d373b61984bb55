"""Asset `events`: atomic statements."""

import dagster as dg

from sag_pipeline.offline.events import offline_events
from sag_pipeline.resources import Workshop
from sag_pipeline.steps.events import given_events
from sag_pipeline.work import Inputs, each
from sag_retrieval.records import Event


@dg.asset(
    group_name="extract",
    deps=["documents", "summaries", "chunks"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def events(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row an event, read from its chunk, or taken as given with the document."""
    return workshop.extract(context, "events", each(_read), lambda model, _: model.events())


def _read(inputs: Inputs) -> list[Event]:
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        return [event for found in given_events(document, chunks) for event in found.events]
    return [event for found in offline_events(document, chunks) for event in found]
