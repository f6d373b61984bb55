"""Asset `sections`: titled runs of documents."""

import dagster as dg

from sag_pipeline.resources import PipelineResource
from sag_pipeline.sectioning import sections_by_rules
from sag_pipeline.tables import INPUTS


@dg.asset(group_name="read", deps=INPUTS["sections"], kinds={"parquet", "python"}, owners=["team:sag"])
def sections(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a section; the sections of a document partition its text."""
    run = sag.run_options()
    options = run.steps
    rules = sections_by_rules(options)
    if not run.sections_by_model:
        return sag.make(context, "sections", rules)
    return sag.extract(context, "sections", rules, lambda chat, _: sections_by_model(chat, options))
