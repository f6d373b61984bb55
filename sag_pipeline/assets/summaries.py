"""Asset `summaries`: short texts about documents."""

import dagster as dg

from sag_pipeline.resources import PipelineResource
from sag_pipeline.runner import per_document
from sag_pipeline.steps.summaries import summarise


@dg.asset(group_name="read", deps=["documents"], kinds={"parquet", "python"}, owners=["team:sag"])
def summaries(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a document: its most telling sentences, or what a language model makes of them."""
    options = sag.options().summary
    rules = per_document(lambda inputs: [summarise(inputs.one("documents"), options)])
    return sag.extract(context, "summaries", rules, lambda model, _: model.summaries(options))
