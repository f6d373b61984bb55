"""The tables of a report: the content of the page for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import pyarrow as pa

from sag_retrieval.reports.citations import Citations
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.facts import folders_of
from sag_retrieval.reports.render import Content

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
