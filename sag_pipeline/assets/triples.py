"""Asset `triples`: who is related to whom."""

import dagster as dg

from sag_pipeline.resources import Workshop
from sag_pipeline.steps.events import given_events
from sag_pipeline.steps.triples import derive_triples
from sag_pipeline.work import Inputs, each
from sag_retrieval.records import Triple


@dg.asset(
    group_name="extract",
    deps=["documents", "chunks", "events", "keys"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def triples(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a triple: given with the document, or derived from the keys that an event ties together."""
    if not workshop.triples_by_model:
        return workshop.make(context, "triples", each(_read))
    return workshop.extract(context, "triples", each(_read), lambda model, _: model.triples())


def _read(inputs: Inputs) -> list[Triple]:
    document, chunks = inputs.one("documents"), inputs.tables["chunks"]
    if document.extraction is not None:
        given = [triple for found in given_events(document, chunks) for triple in found.triples]
        if given:
            return given
    return derive_triples(document.document_id, inputs.tables["events"], inputs.tables["keys"])
