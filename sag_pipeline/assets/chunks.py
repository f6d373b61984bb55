"""Asset `chunks`: passages."""

import dagster as dg

from sag_pipeline.options import IngestOptions
from sag_pipeline.resources import PipelineResource
from sag_pipeline.runner import StepInput, per_document
from sag_pipeline.steps.chunks import chunks_of
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.records import Chunk


@dg.asset(
    group_name="read",
    deps=INPUTS["chunks"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def chunks(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a chunk: whole sentences of one section, with the lines that are embedded before them."""
    options = sag.options()
    return sag.make(context, "chunks", per_document(lambda inputs: _read(inputs, options)))


def _read(inputs: StepInput, options: IngestOptions) -> list[Chunk]:
    summary = inputs.tables["summaries"][0].summary if inputs.tables["summaries"] else ""
    return chunks_of(inputs.one("documents"), inputs.tables["sections"], summary, options.chunk, options.header)
