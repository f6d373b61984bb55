"""Asset `chunks`: passages."""

import dagster as dg

from sag_pipeline.divide import chunks_under_headers
from sag_pipeline.resources import Workshop


@dg.asset(
    group_name="read",
    deps=["documents", "summaries", "sections"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def chunks(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a chunk: whole sentences of one section, with the lines that are embedded before them."""
    return workshop.make(context, "chunks", chunks_under_headers(workshop.options()))
