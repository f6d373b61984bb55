"""Asset `events`: atomic statements."""

import dagster as dg

from sag_pipeline.llm.extract import events_work
from sag_pipeline.resources import PipelineResource
from sag_pipeline.rules.events import offline_events
from sag_pipeline.runner import StepInput, per_document
from sag_pipeline.steps.events import given_events
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.records import Event


@dg.asset(
    group_name="extract",
    deps=INPUTS["events"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def events(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row an event, read from its chunk, or taken as given with the document."""
    return sag.extract(
        context, "events", per_document(_read), lambda chat, _: events_work(chat, sag.settings().language)
    )


def _read(inputs: StepInput) -> list[Event]:
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        return [event for found in given_events(document, chunks) for event in found.events]
    return [event for found in offline_events(document, chunks) for event in found]
