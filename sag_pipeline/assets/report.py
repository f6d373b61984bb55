"""Assets made from the current release: communities of events, and the report page."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import dagster as dg
from pydantic import Field, create_model

from sag_pipeline.catalogue import check_result
from sag_pipeline.config import config_fields, given_options
from sag_pipeline.corpus_assets import corpus_asset
from sag_pipeline.resources import PipelineResource, table
from sag_pipeline.table_checks import communities_are_dense, file_has_every_triple, report_is_whole
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.core.options import build_options
from sag_retrieval.release.releases import Releases
from sag_retrieval.reports.options import ReportOptions

_SHOWN = 10
BY_RULES: Final = "sag/communities_by_rules"
"""Tag of a run that names communities by rules alone: an ingest has no budget for titles."""
_CLUSTER_FIELDS = config_fields(ClusterOptions)
_ClusterConfig = create_model("_ClusterConfig", __base__=dg.Config, **_CLUSTER_FIELDS)


class Clustering(_ClusterConfig):
    """How events become communities (`sag settings --options cluster`)."""

    def cluster(self) -> ClusterOptions:
        """The same as options, checked."""
        return build_options(ClusterOptions, given_options(self, _CLUSTER_FIELDS), what="cluster")


@corpus_asset(group="publish", deps=["release"], kinds={"parquet"})
def communities(context: dg.AssetExecutionContext, config: Clustering, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Communities of events of the current release: one row per community, with title, summary and events."""
    started, settings = time.perf_counter(), sag.settings()
    if not sag.run_options().communities:
        none = check_result(communities_are_dense({}, 0))
        return dg.MaterializeResult(metadata={"is_made": False, "seconds": 0.0}, check_results=[none])
    from sag_retrieval.communities.of_release import release_communities  # noqa: PLC0415  graph libraries
    from sag_retrieval.models.open import open_chat, open_embedder  # noqa: PLC0415
    from sag_retrieval.release.reader import open_reader  # noqa: PLC0415

    with closing(open_reader(settings.home, None, open_embedder)) as reader:
        releases = [each.folder for each in Releases(settings.home).found() if each.folder != reader.folder]
        chat = None if BY_RULES in context.run.tags else open_chat(settings)
        found = release_communities(reader, config.cluster(), chat, releases[-1] if releases else None)
        release_id = reader.manifest.release_id
    finest = found.at(0)
    largest = [{"title": each.title, "events": len(each.members)} for each in finest[:_SHOWN]]
    quality = {name: round(float(value), 4) for name, value in _quality(found).items()}
    return dg.MaterializeResult(
        metadata={
            "is_made": True,
            "dagster/row_count": len(finest),
            "rows": len(finest),
            "release": release_id,
            "levels": found.levels,
            **quality,
            "largest": table(largest),
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(communities_are_dense(quality, len(finest)))],
    )


def _quality(found: Any) -> dict[str, float]:  # noqa: ANN401  Communities
    quality = found.quality[0] if found.quality else None
    names = ("modularity", "coverage", "conductance")
    return {name: getattr(quality, name) for name in names} if quality else {}


class Exporting(dg.Config):
    """Where the knowledge graph is written."""

    out: str = Field(default="", description="The file to write; empty: kg_output.json in SAG_HOME.")


@corpus_asset(group="report", deps=["release"], kinds={"json"})
def kg_output(config: Exporting, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """The triples of the current release as kg_output.json, for other systems; `sag import kg` reads it again."""
    from sag_pipeline.kg_export import FILE, write_graph  # noqa: PLC0415  an ingest needs neither this
    from sag_retrieval.api import open_release  # noqa: PLC0415  nor the whole of retrieval

    started, home = time.perf_counter(), sag.settings().home
    out = Path(config.out) if config.out else Path(home) / FILE
    with open_release(home) as release:
        counts = write_graph(release, out)
        check = file_has_every_triple(counts["total_triples"], release.manifest.counts["triples"])
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": counts["total_triples"],
            "file": dg.MetadataValue.path(str(out.resolve())),
            "dagster/uri": out.resolve().as_uri(),
            **counts,
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(check)],
    )


_REPORT_FIELDS = config_fields(ReportOptions, without=frozenset({"cluster"}))
_ReportConfig = create_model("_ReportConfig", __base__=Clustering, **_REPORT_FIELDS)


class Reporting(_ReportConfig):
    """Title, language, restriction and grouping of the report (`sag settings --options report`); empty: everything."""

    period: str = Field(
        default="",
        description="Only events of this time: 2019..2021-06, either end may be open; last 7 days; this quarter.",
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
        given = given_options(self, _REPORT_FIELDS)
        return build_options(ReportOptions, {**given, "cluster": self.cluster()}, what="report")


@corpus_asset(group="report", deps=["communities"], kinds={"html", "markdown", "parquet"}, verb="write")
def report(config: Reporting, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One page about the events of the current release, each statement cited; what is new since the last one."""
    from sag_retrieval.api import open_release  # noqa: PLC0415  an ingest does not need the whole of retrieval

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
        metadata={
            "headline": made.headline,
            "preview": dg.MetadataValue.md(made.preview),
            "largest": table(largest),
            "page": dg.MetadataValue.path(str(made.page.resolve())),
            "dagster/uri": made.page.resolve().as_uri(),
            "page_bytes": made.page_bytes,
            "previous": made.previous,
            "fault": made.fault,
            **{name: int(count) for name, count in made.counts.items()},
            "calls": made.usage.calls,
            "tokens": made.usage.input_tokens + made.usage.output_tokens,
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(report_is_whole(made.counts, made.fault))],
    )
