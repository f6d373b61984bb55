"""Asset `summaries`: short texts about documents."""

import dagster as dg

from sag_pipeline.llm.extract import summaries_work
from sag_pipeline.resources import PipelineResource
from sag_pipeline.runner import per_document
from sag_pipeline.steps.summaries import summarise
from sag_pipeline.tables import INPUTS


@dg.asset(group_name="read", deps=INPUTS["summaries"], kinds={"parquet", "python"}, owners=["team:sag"])
def summaries(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a document: its most telling sentences, or what a language model makes of them."""
    options, language = sag.options().summary, sag.settings().language
    rules = per_document(lambda inputs: [summarise(inputs.one("documents"), options)])
    return sag.extract(context, "summaries", rules, lambda chat, _: summaries_work(chat, options, language))
