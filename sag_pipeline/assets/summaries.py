"""Asset `summaries`: short texts about documents."""

import dagster as dg

from sag_pipeline.resources import Workshop
from sag_pipeline.steps.summaries import summarise
from sag_pipeline.work import each


@dg.asset(group_name="read", deps=["documents"], kinds={"parquet", "python"}, owners=["team:sag"])
def summaries(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a document: its most telling sentences, or what a language model makes of them."""
    rules = each(lambda inputs: [summarise(inputs.one("documents"))])
    return workshop.extract(context, "summaries", rules, lambda model, _: model.summaries())
