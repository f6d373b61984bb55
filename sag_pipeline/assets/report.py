"""Asset `report`: the page that people read."""

import time
from typing import Any

import dagster as dg
from pydantic import Field, create_model

from sag_pipeline.assets.report import Clustering
from sag_pipeline.config import config_fields, given_options
from sag_pipeline.resources import PipelineResource, table
from sag_retrieval.api import open_release
from sag_retrieval.core.options import build_options
from sag_retrieval.reports.options import ReportOptions

_FIELDS = config_fields(ReportOptions, without=frozenset({"cluster"}))
_Configured = create_model("_Configured", __base__=Clustering, **_FIELDS)


class Reporting(_Configured):
    """What the report is about and called (`sag settings --options report`), and how it groups; empty: everything."""

    period: str = Field(
        default="", description="Only events of this time, such as 2019..2021-06; either end may be open."
    )
    where: dict[str, Any] = Field(
        default={},
        description="Only these events, by field, such as {language: en, content__contains: Heron, date__gte: '2020'}.",
    )
    sql: str = Field(
        default="",
        description="Only these events: a SELECT of ids, or a condition such as: language = 'zh' AND date > '2020'.",
    )
    out: str = Field(default="", description="Folder for the files; empty: below reports in SAG_HOME.")

    def options(self) -> ReportOptions:
        """The same as options, checked."""
        given = given_options(self, _FIELDS)
        return build_options(ReportOptions, {**given, "cluster": self.cluster()}, what="report")


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
def report(config: Reporting, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One page about the events of the release in force, each statement cited; what is new since the last one."""
    started = time.perf_counter()
    with open_release(sag.settings().home) as release:
        made = release.report(
            sql=config.sql or None,
            where=config.where or None,
            period=config.period,
            out=config.out or None,
            options=config.options(),
        )
    largest = [{"title": title, "events": events, "new": new} for title, events, new in made.largest]
    return dg.MaterializeResult(
        asset_key="report",
        metadata={
            "headline": made.headline,
            "preview": dg.MetadataValue.md(made.preview),
            "largest": table(largest),
            "page": dg.MetadataValue.path(str(made.page.resolve())),
            "page_bytes": made.page_bytes,
            "previous": made.previous,
            "fault": made.fault,
            **{name: int(count) for name, count in made.counts.items()},
            "calls": made.usage.calls,
            "tokens": made.usage.input_tokens + made.usage.output_tokens,
            "seconds": round(time.perf_counter() - started, 3),
        },
    )
