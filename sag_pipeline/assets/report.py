"""Asset `report`: the page that people read."""

import time

import dagster as dg

from sag_pipeline.assets.communities import Clustering
from sag_pipeline.plots import table
from sag_pipeline.resources import Workshop
from sag_retrieval.opened import open_release
from sag_retrieval.reports.options import ReportOptions


class Reporting(Clustering):
    """What the report is about and called; empty fields mean everything, and the page's own title."""

    title: str = ""
    sql: str = ""
    period: str = ""
    language: str = "auto"
    out: str = ""

    def options(self) -> ReportOptions:  # type: ignore[override]
        """The same as options, checked."""
        cluster = Clustering(**{name: getattr(self, name) for name in Clustering.model_fields}).options()
        return ReportOptions(title=self.title, language=self.language, cluster=cluster)  # type: ignore[arg-type]


@dg.multi_asset(
    name="write_report",  # the job is called `report`, and Dagster wants every name once
    specs=[
        dg.AssetSpec(
            "report",
            deps=["communities"],
            group_name="report",
            kinds={"html", "markdown", "parquet"},
            owners=["team:sag"],
            description="One page about the events of the release in force, each statement cited.",
        )
    ],
)
def report(config: Reporting, workshop: Workshop) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One page about the events of the release in force, each statement cited; what is new since the last one."""
    started = time.perf_counter()
    with open_release(workshop.settings().home) as release:
        made = release.report(
            config.sql or None, period=config.period, out=config.out or None, options=config.options()
        )
    largest = [{"title": title, "events": events, "new": new} for title, events, new in made.largest]
    return dg.MaterializeResult(
        asset_key="report",
        metadata={
            "headline": made.headline,
            "preview": dg.MetadataValue.md(made.preview),
            "largest": dg.MetadataValue.md(table(largest)),
            "page": dg.MetadataValue.path(str(made.page.resolve())),
            "page_bytes": made.page_bytes,
            **{name: int(count) for name, count in made.counts.items()},
            "calls": made.usage.calls,
            "tokens": made.usage.input_tokens + made.usage.output_tokens,
            "seconds": round(time.perf_counter() - started, 3),
        },
    )
