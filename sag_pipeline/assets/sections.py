"""Asset `sections`: titled runs of documents."""

import dagster as dg

from sag_pipeline.offline.sections import offline_sections
from sag_pipeline.resources import Workshop
from sag_pipeline.work import each


@dg.asset(group_name="read", deps=["documents"], kinds={"parquet", "python"}, owners=["team:sag"])
def sections(context: dg.AssetExecutionContext, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a section; the sections of a document partition its text."""
    return workshop.make(context, "sections", each(lambda inputs: offline_sections(inputs.one("documents"))))
