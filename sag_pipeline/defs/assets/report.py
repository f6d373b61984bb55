"""Assets made from the current release: communities of events, and the report page."""

import time
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from shutil import disk_usage
from typing import Any, Final

import dagster as dg
from pydantic import Field, create_model

from sag_pipeline.defs.checks import communities_are_dense, disk_has_room, file_has_every_triple, report_is_whole
from sag_pipeline.defs.config import config_fields, given_options
from sag_pipeline.defs.corpus_assets import CorpusSpec, corpus_asset
from sag_pipeline.defs.dagster_metadata import check_result
from sag_pipeline.defs.resources import PipelineResource, table
from sag_pipeline.runs.delivery import check_target, deliver_report, link_of
from sag_pipeline.runs.maintenance import prune_all
from sag_pipeline.runs.status import age_hours, growth_of, mean_growth, sizes_of
from sag_retrieval.clusters.options import ClusterMethod, ClusterOptions
from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError
from sag_retrieval.core.options import build_options
from sag_retrieval.release.folders import MADE, mark_of
from sag_retrieval.release.releases import Releases
from sag_retrieval.release.schema import LANCE
from sag_retrieval.reports.options import ReportOptions

_SHOWN = 10
_AFTER_A_CHANGE: Final = dg.AutomationCondition.eager().replace(
    "any_deps_updated", dg.AutomationCondition.any_deps_match(dg.AutomationCondition.data_version_changed())
)
"""Made when what is before it has changed, not each time it was looked at: a night without changes makes nothing."""
INGEST: Final = "ingest"
"""The job that names communities by rules alone: it has no budget for titles."""


class Clustering(dg.Config):
    """How communities are named."""

    by_rules: bool = Field(
        default=True,
        description="Name communities by rules; False: by the language model, as search in tiers uses. A report's own "
        "titles are written with its topics, and an ingest always names by rules.",
    )


@corpus_asset(group="publish", deps=["release"], kinds={"parquet", "lancedb"}, automation_condition=_AFTER_A_CHANGE)
def communities(
    context: dg.AssetExecutionContext, config: Clustering, sag: PipelineResource, spec: CorpusSpec
) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """Communities of events of the current release: one row per community, with title, summary and events."""
    started, settings = time.perf_counter(), sag.settings()
    options = sag.run_options().cluster
    if not sag.run_options().communities:
        none = check_result(communities_are_dense({}, 0))
        return dg.MaterializeResult(metadata={"is_made": False, "seconds": 0.0}, check_results=[none])
    from sag_retrieval.models.open import open_chat, open_embedder  # noqa: PLC0415
    from sag_retrieval.release.reader import open_reader  # noqa: PLC0415
    from sag_retrieval.topics.stored import release_communities  # noqa: PLC0415  graph libraries

    with closing(open_reader(settings.home, None, open_embedder)) as reader:
        releases = [each.folder for each in Releases(settings.home).found() if each.folder != reader.folder]
        is_ingest = context.run.job_name == spec.named(INGEST)
        chat = None if config.by_rules or is_ingest else open_chat(settings)
        earlier = releases[-1] if releases else None
        found = release_communities(reader, options, chat, earlier, is_carried=is_ingest)
        if not _is_shown(reader.folder):
            from sag_pipeline.publish.open_tables import show_communities  # noqa: PLC0415  loads Lance

            show_communities(reader.folder, reader.index.embedder)
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
        data_version=dg.DataVersion(_version(reader.manifest.content_hash, options)),
        check_results=[check_result(communities_are_dense(quality, len(finest)))],
    )


def _is_shown(release: Path) -> bool:
    """Whether the Lance table of communities is whole, and of the communities that lie beside the release."""
    from sag_retrieval.clusters.storage import COMMUNITIES  # noqa: PLC0415  loads Parquet

    made = release / COMMUNITIES / MADE
    return made.is_file() and mark_of(release / LANCE / f"{COMMUNITIES}.lance") == durable.digest_of(made)


def _version(content: str, options: ClusterOptions) -> str:
    """What communities depend on: the content of the release, and how they are made."""
    return blake2b(f"{content}|{options!r}".encode(), digest_size=12).hexdigest()


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
    from sag_pipeline.importers.knowledge_graph import FILE, write_graph  # noqa: PLC0415  an ingest needs neither this
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
_ReportConfig = create_model("_ReportConfig", __base__=dg.Config, **_REPORT_FIELDS)


class Reporting(_ReportConfig):
    """Title, language, restriction and grouping of the report (`sag settings --options report`); empty: everything."""

    method: ClusterMethod = Field(
        default=ReportOptions().cluster.method,
        description="How the events of the report are grouped; the other options of grouping, and how communities are "
        "grouped, are below `cluster` of the resource `sag`.",
    )
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
    only_new: bool = Field(default=False, description="Only what the last report of the same kind was not about.")
    key_types: list[str] = Field(
        default=[], description="Events are tied by keys of these types only; empty: those of the resource `sag`."
    )
    model: str = Field(default="", description="The language model that writes, or offline; empty: that of the corpus.")
    out: str = Field(default="", description="Folder for the files; empty: below reports in SAG_HOME.")
    deliver: list[str] = Field(
        default=[], description="Where it is sent: https://… (a hook), mailto:NAME@HOST (by SAG_SMTP), or a folder."
    )
    address: str = Field(
        default="", description="Address below which the folder of `deliver` is served: the run then links the page."
    )

    def options(self, cluster: ClusterOptions | None = None) -> ReportOptions:
        """The same as options, checked, with those of the clustering but for the report's own."""
        given = given_options(self, _REPORT_FIELDS)
        cluster = cluster or ReportOptions().cluster
        own = replace(cluster, method=self.method, key_types=tuple(self.key_types) or cluster.key_types)
        return build_options(ReportOptions, {**given, "cluster": own}, what="report")


@corpus_asset(
    group="report",
    deps=["communities"],
    kinds={"html", "markdown", "parquet"},
    verb="write",
    automation_condition=_AFTER_A_CHANGE,
)
def report(context: dg.AssetExecutionContext, config: Reporting, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """One page about the events of the current release, each statement cited; what is new since the last one."""
    for target in config.deliver:
        check_target(target)
    from sag_retrieval.api import open_release  # noqa: PLC0415  an ingest does not need the whole of retrieval

    started = time.perf_counter()
    with open_release(sag.settings().home) as release:
        made = release.report(
            sql=config.sql or None,
            where=config.where or None,
            period=config.period,
            only_new=config.only_new,
            model=config.model or sag.settings().chat_model,
            out=config.out or None,
            options=config.options(sag.run_options().cluster),
        )
    name = context.asset_key.to_user_string().replace("/", "_")
    faults = deliver_report(made, config.deliver, name=name, smtp=sag.settings().smtp, address=config.address)
    for fault in faults:
        context.log.warning("%s; the report is kept at %s", fault, made.page)
    largest = [{"title": title, "events": events, "new": new} for title, events, new in made.largest]
    return dg.MaterializeResult(
        metadata={
            "headline": made.headline,
            "preview": dg.MetadataValue.md(made.preview),
            "findings": table(made.findings, 200),
            "largest": table(largest),
            "page": dg.MetadataValue.path(str(made.page.resolve())),
            "link": dg.MetadataValue.url(link_of(made, name, config.deliver, config.address)),
            "dagster/uri": made.page.resolve().as_uri(),
            **({"not_delivered": "; ".join(faults)} if faults else {}),
            "page_bytes": made.page_bytes,
            **{name: said for name, said in (("previous", made.previous), ("fault", made.fault)) if said},
            **{name: int(count) for name, count in made.counts.items()},
            "calls": made.usage.calls,
            "cached_calls": made.usage.cached_calls,
            "tokens": made.usage.input_tokens + made.usage.output_tokens,
            **({"left_out": dg.MetadataValue.json(made.written.reasons)} if made.written.left_out else {}),
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(report_is_whole(made.counts, made.fault))],
    )


@corpus_asset(group="publish", deps=["release"], kinds={"python"}, is_writing=True)
def storage(context: dg.AssetExecutionContext, sag: PipelineResource) -> dg.MaterializeResult:  # type: ignore[type-arg]
    """What lies below the home after pruning: megabytes by kind, age of the release, growth of one release.

    What is kept are options of the resource `sag`: `keep_releases`, `keep_reports`, `grace_hours` and
    `keep_runs`. The current release and those held open always stay.
    """
    started, home = time.perf_counter(), Path(sag.settings().home)
    gone, faults = prune_all(home, context.instance, sag.run_options().keep)
    if faults:
        raise StoreError(f"{'; '.join(faults)}; free the cause, then run the job `prune` again")
    sizes, age = sizes_of(home), age_hours(home)
    return dg.MaterializeResult(
        metadata={
            **gone,
            **{f"megabytes_{kind}": size for kind, size in sizes.items()},
            "megabytes": round(sum(sizes.values()), 3),
            **({} if age is None else {"release_age_hours": age}),
            **{f"mean_growth_{name}": value for name, value in mean_growth(growth_of(home)).items()},
            "seconds": round(time.perf_counter() - started, 3),
        },
        check_results=[check_result(disk_has_room(disk_usage(home).free / 1e6, sizes.get("releases", 0.0)))],
    )
