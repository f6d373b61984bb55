"""Make a report of a release: an HTML page, the same as Markdown, and tables."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.communities.clustering import build_communities
from sag_retrieval.communities.events import EventTable, event_table
from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.naming import KnownNames, known_names, name_communities
from sag_retrieval.communities.of_release import kept_communities, stored_names
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.storage import COMMUNITIES, REPORTS, settings_hash
from sag_retrieval.core.errors import QueryError, nearest, shown
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.models.protocols import ChatModel, Usage
from sag_retrieval.notebook import render_html
from sag_retrieval.release.folders import SUMS, write_sums
from sag_retrieval.release.reader import Reader
from sag_retrieval.remote.reports import pull_reports, send_reports
from sag_retrieval.reports.compose import Content, compose, render_markdown, render_page, render_preview, render_theme
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.periods import resolved_period
from sag_retrieval.reports.section import ReportContext, make_context
from sag_retrieval.reports.sections.header import SECTION as HEADER
from sag_retrieval.reports.series import LATEST, Previous, find_before, remember
from sag_retrieval.reports.tables import report_tables
from sag_retrieval.reports.theme_pages import FOLDER, theme_pages

PAGE_FILE = "report.html"
MARKDOWN_FILE = "report.md"
FEWEST_TOPICS = 3
"""With fewer topics, events are grouped by their keys."""


@public
@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Convertible):
    """The written files, and the key figures of the report."""

    report_id: str
    folder: Path
    page: Path
    markdown: Path
    tables: Mapping[str, Path]
    headline: str
    counts: Mapping[str, int]
    """events, documents, communities, keys, new, single, citations."""
    preview: str
    """Markdown of at most two kilobytes: facts, five communities, changes."""
    largest: tuple[tuple[str, int, int], ...]
    """Title, events and new events of the ten largest communities."""
    page_bytes: int
    usage: Usage
    """Of titles and summaries, where the communities had none."""
    previous: str = ""
    """Release of the report before it in its series; empty for the first."""
    fault: str = ""
    """Why it could not be compared with the report before; empty if it was, or is the first."""

    def __repr__(self) -> str:
        return f"Report({self.headline!r}, {self.counts['events']} events, {self.counts['communities']} communities)"

    def _repr_html_(self) -> str:
        return render_html("report", made=self)

    def to_dict(self) -> dict[str, Any]:
        """Headline, files and counts as plain values: what `sag report --json` prints."""
        return {
            "headline": self.headline,
            "page": str(self.page),
            "markdown": str(self.markdown),
            "tables": {name: str(path) for name, path in self.tables.items()},
            "counts": dict(self.counts),
            "previous": self.previous,
            "fault": self.fault,
        }

    def to_arrow(self, table: str = "report_communities") -> pa.Table:
        """One of the report's tables, by default one row for each community.

        Examples:
            >>> from sag_retrieval import open_release
            >>> with open_release() as release:
            ...     report = release.report(period="2022..2023")
            >>> report.to_arrow("report_events").num_rows == report.counts["events"]
            True

        Args:
            table: One of `report.tables`.

        Raises:
            QueryError: If the report has no table of this name.

        """
        if table not in self.tables:
            known = ", ".join(self.tables)
            raise QueryError(f"table {shown(table)} is none of {known}{nearest(table, self.tables)}")
        return pq.read_table(self.tables[table])


def write_report(
    events: EventTable,
    communities: Communities,
    options: ReportOptions,
    out: Path,
    previous: Previous | None = None,
    chat: ChatModel | None = None,
) -> Report:
    """Write `report.html`, `report.md` and the tables `report_*.parquet` into a folder.

    The same inputs give the same bytes. Communities without a title are named first, by the model if given.

    Raises:
        ModelUnavailable: If communities have to be named and the model's server does not answer.
        BudgetExceeded: If the budget is used up meanwhile.

    """
    usage = Usage()
    if not any(each.title for each in communities):
        named = name_communities(events, communities, chat)
        communities, usage = named.communities, named.usage
        options = replace(options, failures=options.failures + named.failures)
    context = make_context(events, communities, options, previous)
    content = compose(context)
    header = content.of(HEADER)
    out.mkdir(parents=True, exist_ok=True)
    page, markdown = out / PAGE_FILE, out / MARKDOWN_FILE
    html = render_page(content, context).encode("utf-8", "replace")
    page.write_bytes(html)
    markdown.write_bytes(render_markdown(content, context).encode("utf-8", "replace"))
    _write_theme_pages(out, content, context)
    tables = {}
    for name, table in report_tables(content, context, events).items():
        tables[name] = out / f"{name}.parquet"
        pq.write_table(table, tables[name], compression="zstd")
    return Report(
        report_id=content.report_id,
        folder=out,
        page=page,
        markdown=markdown,
        tables=tables,
        headline=header.headline if header else "",
        counts={**context.counts, "citations": content.citations.count},
        preview=render_preview(content, context),
        largest=tuple((each.title, each.size, each.new_count) for each in context.ranking.communities[:10]),
        page_bytes=len(html),
        usage=usage,
    )


def _write_theme_pages(out: Path, content: Content, context: ReportContext) -> None:
    """The pages beside the report; those of an earlier report of the same folder go."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)
    for page in theme_pages(context):
        path = out / page.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(render_theme(page, content, context).encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which events a report is about: `sql`, `where`, and a period.

    A period is two dates such as `2019..2021-06` (either end may be open), or a rolling one such as `last 7 days`,
    which ends with the date of the release.
    """

    sql: str | None = None
    where: Mapping[str, object] | None = None
    period: str = ""

    def in_words(self) -> str:
        """The restriction in words; empty for everything."""
        parts = [
            self.sql or "",
            json.dumps(self.where, ensure_ascii=False, sort_keys=True) if self.where else "",
        ]
        return " · ".join(filter(None, parts))

    def conditions(self, today: date) -> list[str]:
        """SQL conditions of the period; a rolling one ends with `today`.

        Raises:
            QueryError: If it is no period.

        """
        if not self.period:
            return []
        first, _, last = resolved_period(self.period, today).partition("..")
        return [*([f"date >= '{first}'"] if first else []), *([f"date < '{last}~'"] if last else [])]


def chosen_events(reader: Reader, scope: Scope) -> EventTable:
    """The events of a release that a scope selects.

    Raises:
        FilterError: If the restriction was refused.

    """
    flags = np.ones(reader.index.arrays.event_count, dtype=np.bool_)
    if scope.sql is not None or scope.where is not None:
        allowed = reader.sandbox.allowed(scope.sql, scope.where)
        flags &= flags if allowed is None else allowed.events
    released = date.fromisoformat(reader.manifest.created_at[:10])
    for condition in scope.conditions(released):
        allowed = reader.sandbox.allowed(condition)
        flags &= flags if allowed is None else allowed.events
    return event_table(reader.index, flags)


def _communities(
    reader: Reader, events: EventTable, options: ClusterOptions, chat: ChatModel | None
) -> tuple[Communities, KnownNames]:
    """The communities of the events, and names to keep: those of the release where the report is about all of it."""
    kept = kept_communities(reader, options) if len(events) == reader.index.arrays.event_count else None
    if kept is None:
        return _built(events, options), {}
    return kept, stored_names(reader.folder / COMMUNITIES).by(chat).names


def _built(events: EventTable, options: ClusterOptions) -> Communities:
    """Communities as the options say; those of the keys where the events have too few words for topics."""
    found = build_communities(events, options)
    if options.method == "topics" and sum(1 for each in found if each.title) < FEWEST_TOPICS:
        return build_communities(events, replace(options, method="leiden"))
    return found


def make_report(
    reader: Reader,
    home: Path,
    *,
    scope: Scope | None = None,
    options: ReportOptions | None = None,
    out: Path | None = None,
    chat: ChatModel | None = None,
) -> Report:
    """Write a report about a release, and what changed since the report of the same kind before it.

    Reports of one scope, title and options are a series below `home/reports`; each stores its predecessor, so the
    same report written again is the same.
    """
    scope, options = scope or Scope(), options or ReportOptions()
    events = chosen_events(reader, scope)
    total = reader.index.arrays.event_count
    options = replace(
        options,
        release=reader.manifest.release_id,
        released=reader.manifest.created_at[:10],
        scope=scope.in_words(),
        period=scope.period,
        events_before=total,
        events_after=len(events),
        models=f"{chat.model_id if chat else 'offline'}, {reader.manifest.embedding_model}",
    )
    series = (
        home
        / REPORTS
        / settings_hash(options.title, scope.in_words(), scope.period, asdict(options.cluster), options.language)
    )
    own = series / reader.manifest.release_id
    pull_reports(home)
    before = find_before(series, own, events.event_ids)
    known = known_names(before.communities) if before.communities is not None else None
    built, names = _communities(reader, events, options.cluster, chat)
    named = name_communities(events, built, chat, {**names, **(known or {})})
    options = replace(options, failures=named.failures)
    (own / SUMS).unlink(missing_ok=True)
    report = write_report(events, named.communities, options, out or own, before.previous, chat)
    remember(series, own, before.release, named.communities, events.event_ids)
    write_sums(own)
    send_reports(home, f"{series.name}/{own.name}/", f"{series.name}/{LATEST}")
    return replace(report, previous=before.release, fault=before.fault)
