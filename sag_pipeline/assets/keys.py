"""Asset `keys`: typed attributes of events."""

import dagster as dg

from sag_pipeline.llm.extract import known_keys_work
from sag_pipeline.resources import PipelineResource, current_index
from sag_pipeline.rules.keys import offline_keys
from sag_pipeline.runner import StepInput, per_document
from sag_pipeline.steps.events import given_events
from sag_pipeline.steps.keys import main_keys
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.records import EventKey


@dg.asset(
    group_name="extract",
    deps=INPUTS["keys"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def keys(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a key of an event, as its document spells it, and one for what each chunk is mainly about."""
    settings = sag.settings()
    index = current_index(settings)
    return sag.extract(
        context, "keys", per_document(_read), lambda chat, store: known_keys_work(chat, settings, store, index)
    )


def _read(inputs: StepInput) -> list[EventKey]:
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        found = [key for extraction in given_events(document, chunks) for key in extraction.keys]
    else:
        found = offline_keys(document, chunks, inputs.tables["events"])
    return [*found, *main_keys(document, chunks)]
