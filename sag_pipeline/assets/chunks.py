"""Asset `chunks`: passages."""

import dagster as dg

from sag_pipeline.resources import Workshop
from sag_pipeline.steps.chunks import split_chunks
from sag_pipeline.work import Inputs, each
from sag_retrieval.records import Chunk


@dg.asset(
    group_name="read",
    deps=["documents", "summaries", "sections"],
    kinds={"parquet", "python"},
    owners=["team:sag"],
)
def chunks(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a chunk: whole sentences of one section, with the lines that are embedded before them."""
    return workshop.make(context, "chunks", each(_split))


def _split(inputs: Inputs) -> list[Chunk]:
    return split_chunks(inputs.one("documents"), inputs.tables["sections"])
