"""Asset `chunks`: passages."""

import dagster as dg

from sag_pipeline.resources import PipelineResource
from sag_pipeline.sectioning import chunks_under_headers
from sag_pipeline.tables import INPUTS


@dg.asset(
    group_name="read",
    deps=INPUTS["chunks"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def chunks(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a chunk: whole sentences of one section, with the lines that are embedded before them."""
    return sag.make(context, "chunks", chunks_under_headers(sag.options()))
