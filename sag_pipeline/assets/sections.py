"""Asset `sections`: titled runs of documents."""

import dagster as dg

from sag_pipeline.llm.extract import sections_work
from sag_pipeline.plan import IngestOptions
from sag_pipeline.resources import PipelineResource
from sag_pipeline.rules.sections import offline_sections
from sag_pipeline.runner import StepInput, per_document
from sag_pipeline.steps.headers import offline_section_summaries
from sag_pipeline.tables import INPUTS
from sag_retrieval.core.records import Section


@dg.asset(group_name="read", deps=INPUTS["sections"], kinds={"parquet", "python"}, owners=["team:sag"])
def sections(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One row a section; the sections of a document partition its text."""
    run = sag.run_options()
    options = run.steps
    rules = per_document(lambda inputs: _read(inputs, options))
    if not run.sections_by_model:
        return sag.make(context, "sections", rules)
    return sag.extract(context, "sections", rules, lambda chat, _: sections_work(chat, options))


def _read(inputs: StepInput, options: IngestOptions) -> list[Section]:
    found = offline_sections(inputs.one("documents"), options.section)
    return offline_section_summaries(inputs.one("documents"), found) if options.header.section_summary else found
