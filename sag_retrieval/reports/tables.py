"""The tables of a report: the content of the page for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import pyarrow as pa

from sag_retrieval.reports.citations import Citations
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.facts import folders_of
from sag_retrieval.reports.render import Content

_STRING, _INT, _FLOAT, _BOOL = pa.string(), pa.int32(), pa.float64(), pa.bool_()


def _schema(*required: tuple[str, pa.DataType], **optional: pa.DataType) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in required]
    return pa.schema(fields + [pa.field(name, kind) for name, kind in optional.items()])


REPORT_SCHEMAS: dict[str, pa.Schema] = {
    "report_communities": _schema(
        ("report_id", _STRING),
        ("release", _STRING),
        ("community_id", _STRING),
        ("level", _INT),
        ("title", _STRING),
        ("summary", _STRING),
        ("event_count", _INT),
        ("new_count", _INT),
        parent_id=_STRING,
        rank=_INT,
        first_date=_STRING,
        last_date=_STRING,
    ),
    "report_documents": _schema(
        ("folder", _STRING),
        ("name", _STRING),
        ("documents", _INT),
        ("kind", _STRING),
        ("event_count", _INT),
        title=_STRING,
        date=_STRING,
    ),
    "report_events": _schema(
        ("community_id", _STRING),
        ("event_id", _STRING),
        ("chunk_id", _STRING),
        ("document_id", _STRING),
        ("centrality", _FLOAT),
        ("is_new", _BOOL),
        ("span_start", _INT),
        ("span_end", _INT),
        ("is_approximate", _BOOL),
        date=_STRING,
        citation=_INT,
    ),
    "report_findings": _schema(
        ("text", _STRING),
        ("event_ids", pa.list_(_STRING)),
        ("is_of_report", _BOOL),
        community_id=_STRING,
        importance=_INT,
        reason=_STRING,
    ),
    "report_left_out": _schema(("kind", _STRING), ("reason", _STRING), ("text", _STRING), community_id=_STRING),
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
            start, end, approximate = citations.span(row)
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
            "community_id": each.topic.community_id,
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
