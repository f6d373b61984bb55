"""Make a report of a release: an HTML page, the same as Markdown, and tables."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import Communities
from sag_retrieval.clusters.storage import REPORTS
from sag_retrieval.core.errors import QueryError, nearest, shown
from sag_retrieval.core.public import Convertible, public
from sag_retrieval.llm_writing.write import with_texts
from sag_retrieval.llm_writing.written import WrittenReport
from sag_retrieval.models.protocols import ChatModel, Usage
from sag_retrieval.notebook import render_html
from sag_retrieval.release.folders import SUMS, write_sums
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.citations import Citations
from sag_retrieval.reports.context import ReportContext, make_context
from sag_retrieval.reports.facts import Pile, folders_of, pile_of
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.prepare import Definition, prepare_report
from sag_retrieval.reports.render import (
    Content,
    compose,
    own_templates,
    render_markdown,
    render_page,
    render_preview,
)
from sag_retrieval.reports.scope import Scope, remember_seen
from sag_retrieval.reports.series import LATEST, Previous, pull_reports, remember, send_reports
from sag_retrieval.reports.word_file import WORD_FILE, word_file
from sag_retrieval.topics.naming import name_communities

PAGE_FILE = "report.html"
MARKDOWN_FILE = "report.md"


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
    """Markdown of at most two kilobytes: figures, findings, the largest topics, changes."""
    largest: tuple[tuple[str, int, int], ...]
    """Title, events and new events of the ten largest communities."""
    page_bytes: int
    findings: tuple[Mapping[str, Any], ...] = ()
    """What a model wrote of the whole: text, topic, sources, importance and reason; none without a model."""
    written: WrittenReport = field(default_factory=WrittenReport)
    """What a model wrote, what was left out of it and why, and what it cost."""
    title: str = ""
    release: str = ""
    """What it is about."""
    previous: str = ""
    """Release of the report before it in its series; empty for the first."""
    fault: str = ""
    """Why it could not be compared with the report before; empty if it was, or is the first."""

    @property
    def usage(self) -> Usage:
        """Calls and tokens of the model."""
        return self.written.usage

    def __repr__(self) -> str:
        return f"Report({self.headline!r}, {self.counts['events']} events, {self.counts['communities']} communities)"

    def _repr_html_(self) -> str:
        return render_html("report", made=self)

    @property
    def docx(self) -> Path | None:
        """The Word file, where the options asked for one."""
        path = self.folder / WORD_FILE
        return path if path.is_file() else None

    def to_dict(self) -> dict[str, Any]:
        """Headline, files and counts as plain values: what `sag report --json` prints."""
        return {
            "headline": self.headline,
            "page": str(self.page),
            "markdown": str(self.markdown),
            **({"docx": str(self.docx)} if self.docx else {}),
            "tables": {name: str(path) for name, path in self.tables.items()},
            "counts": dict(self.counts),
            "findings": [dict(each) for each in self.findings],
            "previous": self.previous,
            "fault": self.fault,
            "usage": asdict(self.usage),
            "left_out": self.written.reasons,
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


def write_report(  # noqa: PLR0913, PLR0917  what it is about, beside what, how, and where to
    events: EventTable,
    communities: Communities,
    options: ReportOptions,
    out: Path,
    previous: Previous | None = None,
    written: WrittenReport | None = None,
    pile: Pile | None = None,
) -> Report:
    """Write `report.html`, `report.md` and the tables `report_*.parquet` into a folder.

    The same inputs give the same bytes. Communities without a title are named by rules first.

    Args:
        events: What the report is about.
        communities: The events in groups.
        options: Title, language and level of detail.
        out: The folder.
        previous: What is compared with.
        written: What a model wrote about these communities.
        pile: What is known of the documents beside their events.

    """
    written = written or WrittenReport()
    if not any(each.title for each in communities):
        communities = name_communities(events, communities).communities
    communities = with_texts(communities, written)
    context = make_context(events, communities, options, previous, written, pile)
    content = compose(context)
    header = content.parts["header"]
    out.mkdir(parents=True, exist_ok=True)
    page, markdown = out / PAGE_FILE, out / MARKDOWN_FILE
    with own_templates(options.template):
        html = render_page(content, context).encode("utf-8", "replace")
    page.write_bytes(html)
    told = render_markdown(content, context)
    markdown.write_bytes(told.encode("utf-8", "replace"))
    (out / WORD_FILE).unlink(missing_ok=True)
    if options.docx:
        (out / WORD_FILE).write_bytes(word_file(told, context.language))
    by_size = sorted(context.topics, key=lambda each: (-each.size, each.number))
    tables = {}
    for name, table in report_tables(content, context).items():
        tables[name] = out / f"{name}.parquet"
        pq.write_table(table, tables[name], compression="zstd")
    return Report(
        report_id=content.report_id,
        folder=out,
        page=page,
        markdown=markdown,
        tables=tables,
        headline=header.headline,
        counts={**context.counts, "citations": content.citations.count},
        preview=render_preview(content, context),
        largest=tuple((each.title, each.size, each.new_count) for each in by_size[:10]),
        page_bytes=len(html),
        title=header.title,
        release=options.release,
        findings=tuple(_told_findings(content)),
        written=written,
    )


def _told_findings(content: Content) -> Iterator[dict[str, Any]]:
    """The findings of a finished report as plain values."""
    for each in content.parts.get("findings", ()):
        sources = len({cite.source for cite in each.statement.cites})
        told = {"text": each.statement.text, "theme": each.topic.title if each.topic else "", "sources": sources}
        yield {**told, "importance": each.importance, "reason": each.reason}


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
    same report written again is the same. A model writes titles, summaries and findings; where it fails, those of
    the rules stand.
    """
    definition = Definition(scope or Scope(), options or ReportOptions())
    series = home / REPORTS / definition.series
    own = series / reader.manifest.release_id
    pull_reports(home)
    made = prepare_report(reader, home, definition, chat)
    pile = pile_of(reader.index, home, made.options.released)
    can_write = made.options.max_calls and len(made.events)
    written = made.writer(pile).write(chat) if chat and can_write else WrittenReport()
    (own / SUMS).unlink(missing_ok=True)
    report = write_report(made.events, made.communities, made.options, out or own, made.before.previous, written, pile)
    kept = {"previous": made.before.release, "language": made.options.language}
    remember(series, own, kept, with_texts(made.communities, written), made.events.event_ids)
    if definition.scope.only_new:
        remember_seen(own, made.seen)
    write_sums(own)
    send_reports(home, f"{series.name}/{own.name}/", f"{series.name}/{LATEST}")
    return replace(report, previous=made.before.release, fault=made.before.fault)


_KINDS = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "int": pa.int32(),
    "float": pa.float64(),
    "flag": pa.bool_(),
}


def _schema(required: str, optional: str) -> pa.Schema:
    """Columns as `name kind, name kind`: those that every row has, then those that may be null."""
    columns = [(each.split(), is_optional) for is_optional, listed in enumerate((required, optional))
               for each in listed.split(",")]  # fmt: skip
    return pa.schema([pa.field(name, _KINDS[kind], nullable=bool(null)) for (name, kind), null in columns])


REPORT_SCHEMAS: dict[str, pa.Schema] = {
    "report_communities": _schema(
        "report_id text, release text, community_id text, level int, title text, summary text, event_count int, "
        "new_count int",
        "parent_id text, rank int, first_date text, last_date text",
    ),
    "report_documents": _schema(
        "folder text, name text, documents int, kind text, event_count int", "title text, date text"
    ),
    "report_events": _schema(
        "community_id text, event_id text, chunk_id text, document_id text, centrality float, is_new flag, "
        "span_start int, span_end int, is_approximate flag",
        "date text, citation int",
    ),
    "report_findings": _schema(
        "text text, event_ids texts, is_of_report flag", "community_id text, importance int, reason text"
    ),
    "report_left_out": _schema("kind text, reason text, text text", "community_id text"),
}
"""Columns of the tables. Rank is null for communities that the page does not show."""


def report_tables(content: Content, context: ReportContext) -> dict[str, pa.Table]:
    """The tables of `REPORT_SCHEMAS`.

    Args:
        content: The finished report.
        context: What it was built from.

    """
    rows: dict[str, Iterator[Mapping[str, object]]] = {
        "report_communities": _communities(content, context),
        "report_events": _events(context, content.citations),
        "report_documents": _documents(context),
        "report_findings": _findings(content, context),
        "report_left_out": _left_out(context),
    }
    return {name: pa.Table.from_pylist(list(each), REPORT_SCHEMAS[name]) for name, each in rows.items()}


def _communities(content: Content, context: ReportContext) -> Iterator[Mapping[str, object]]:
    ranks = {each.community_id: each.number for each in context.topics}
    for each in context.communities:
        dates = sorted(date for row in each.members.tolist() if (date := context.events.dates[row]))
        yield {
            "report_id": content.report_id,
            "release": context.options.release,
            "community_id": each.community_id,
            "parent_id": each.parent_id,
            "level": each.level,
            "rank": ranks.get(each.community_id),
            "title": each.title,
            "summary": each.summary_text,
            "event_count": len(each.members),
            "new_count": context.comparison.count_new(each),
            "first_date": dates[0] if dates else None,
            "last_date": dates[-1] if dates else None,
        }


def _events(context: ReportContext, citations: Citations) -> Iterator[Mapping[str, object]]:
    numbers, events = citations.numbers, context.events
    for each in context.communities.at(0):
        for row, centrality in zip(each.members.tolist(), each.centrality.tolist(), strict=True):
            chunk = int(events.chunk[row])
            ((start, end), *_), approximate = citations.spans(row)
            yield {
                "community_id": each.community_id,
                "event_id": events.event_ids[row],
                "chunk_id": events.chunks.chunk_ids[chunk],
                "document_id": events.documents.document_ids[int(events.chunks.document[chunk])],
                "date": events.dates[row],
                "centrality": centrality,
                "is_new": bool(context.comparison.is_new[row]),
                "span_start": start,
                "span_end": end,
                "is_approximate": approximate,
                "citation": numbers.get(events.chunks.chunk_ids[chunk]),
            }


def _documents(context: ReportContext) -> Iterator[Mapping[str, object]]:
    for folder, entries in folders_of(context.events, context.pile).items():
        for each in entries:
            yield {
                "folder": folder,
                "name": each.name,
                "title": each.title or None,
                "documents": each.documents,
                "kind": each.kind,
                "date": each.date or None,
                "event_count": len(each.rows),
            }


def _findings(content: Content, context: ReportContext) -> Iterator[Mapping[str, object]]:
    """The findings that a model wrote: those of the first page, then those of each topic."""
    for each in content.parts.get("findings", ()):
        yield {
            "community_id": each.topic.community_id if each.topic else None,
            "text": each.statement.text,
            "event_ids": [context.events.event_ids[reference.row] for reference in each.statement.references],
            "is_of_report": True,
            "importance": each.importance,
            "reason": each.reason or None,
        }
    for text in context.written.themes.values():
        for finding in text.findings:
            yield {**asdict(finding), "event_ids": list(finding.event_ids), "is_of_report": False}


def _left_out(context: ReportContext) -> Iterator[Mapping[str, object]]:
    """What a model wrote and events do not support, and what it did not write, each with the reason."""
    for each in context.written.left_out:
        yield {**asdict(each), "community_id": each.community_id or None}
