"""Asset `triples`: who is related to whom."""

import dagster as dg

from sag_pipeline.resources import PipelineResource
from sag_pipeline.runner import StepInput, per_document
from sag_pipeline.steps.events import given_events
from sag_pipeline.steps.triples import derive_triples
from sag_retrieval.core.records import Triple


@dg.asset(
    group_name="extract",
    deps=["documents", "chunks", "events", "keys"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def triples(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a triple: given with the document, or derived from the keys that an event ties together."""
    if not sag.run_options().triples_by_model:
        return sag.make(context, "triples", per_document(_read))
    return sag.extract(context, "triples", per_document(_read), lambda model, _: model.triples())


def _read(inputs: StepInput) -> list[Triple]:
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        given = [triple for found in given_events(document, chunks) for triple in found.triples]
        if given:
            return given
    return derive_triples(document.document_id, inputs.tables["events"], inputs.tables["keys"])
