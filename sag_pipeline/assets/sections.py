"""Asset `sections`: titled runs of documents."""

import dagster as dg

from sag_pipeline.divide import sections_by_model, sections_by_rules
from sag_pipeline.resources import Workshop


@dg.asset(group_name="read", deps=["documents"], kinds={"parquet", "python"}, owners=["team:sag"])
def sections(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a section; the sections of a document partition its text."""
    options = workshop.options()
    rules = sections_by_rules(options)
    if not workshop.sections_by_model:
        return workshop.make(context, "sections", rules)
    return workshop.extract(context, "sections", rules, lambda model, _: sections_by_model(model.chat, options))
