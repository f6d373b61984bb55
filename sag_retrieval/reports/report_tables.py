"""The tables of a report: what the page says, for programs, and what the next report is compared with."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.communities.groups import Communities
from sag_retrieval.reports.changes import Previous
from sag_retrieval.reports.content import Content
from sag_retrieval.reports.context import ReportContext

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
        x=_FLOAT,
        y=_FLOAT,
        theme=_INT,
        status=_STRING,
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
    "report_keys": _schema(
        ("community_id", _STRING),
        ("key_type", _STRING),
        ("value", _STRING),
        ("event_count", _INT),
        ("idf", _FLOAT),
    ),
    "report_links": _schema(("one", _STRING), ("other", _STRING), ("weight", _FLOAT)),
    "report_changes": _schema(
        ("community_id", _STRING),
        ("title", _STRING),
        ("status", _STRING),
        ("event_count", _INT),
        ("added", _INT),
        ("removed", _INT),
        ("sources", pa.list_(_STRING)),
    ),
}
"""Columns of the tables. Rank, place and theme are null for communities that the page does not show."""


def report_tables(content: Content, draft: ReportContext, communities: Communities) -> dict[str, pa.Table]:
    """The tables of `REPORT_SCHEMAS`."""
    rows: dict[str, Iterator[Mapping[str, object]]] = {
        "report_communities": _communities(content, draft, communities),
        "report_events": _events(content, draft, communities),
        "report_keys": _keys(draft),
        "report_links": ({"one": t.one, "other": t.other, "weight": t.weight} for t in communities.ties),
        "report_changes": _changes(draft),
    }
    return {name: pa.Table.from_pylist(list(each), REPORT_SCHEMAS[name]) for name, each in rows.items()}


def read_previous(folder: Path) -> Previous | None:
    """What an earlier report knew, or None if the folder holds no report."""
    files = [folder / f"{name}.parquet" for name in ("report_communities", "report_events")]
    if not all(file.is_file() for file in files):
        return None
    communities, events = (pq.read_table(file) for file in files)
    finest = [row for row in communities.to_pylist() if row["level"] == 0]
    members: dict[str, set[str]] = {row["community_id"]: set() for row in finest}
    for community, event in zip(events["community_id"].to_pylist(), events["event_id"].to_pylist(), strict=True):
        members[community].add(event)
    return Previous(
        release=finest[0]["release"] if finest else "",
        titles={row["community_id"]: row["title"] for row in finest},
        members={key: frozenset(each) for key, each in members.items()},
    )


def _communities(content: Content, draft: ReportContext, communities: Communities) -> Iterator[Mapping[str, object]]:
    articles = {each.community_id: each for each in content.articles}
    circles = {each.article.community_id: each for each in content.map.circles} if content.map else {}
    statuses = {change.community_id: change.status for change in draft.changes}
    for each in communities:
        article, circle = articles.get(each.community_id), circles.get(each.community_id)
        dates = sorted(date for row in each.members.tolist() if (date := draft.events.dates[row]))
        yield {
            "report_id": content.report_id,
            "release": draft.options.release,
            "community_id": each.community_id,
            "parent_id": each.parent_id,
            "level": each.level,
            "rank": article.number if article else None,
            "title": each.title,
            "summary": each.summary_text,
            "event_count": len(each.members),
            "new_count": draft.new_count(each),
            "first_date": dates[0] if dates else None,
            "last_date": dates[-1] if dates else None,
            "x": circle.x if circle else None,
            "y": circle.y if circle else None,
            "theme": article.theme if article else None,
            "status": statuses.get(each.community_id),
        }


def _events(content: Content, draft: ReportContext, communities: Communities) -> Iterator[Mapping[str, object]]:
    numbers = {source.chunk_id: source.number for source in content.sources}
    events = draft.events
    for each in communities.at(0):
        for row, centrality in zip(each.members.tolist(), each.centrality.tolist(), strict=True):
            chunk = int(events.chunk[row])
            start, end, approximate = draft.citations.span(row)
            yield {
                "community_id": each.community_id,
                "event_id": events.event_ids[row],
                "chunk_id": events.chunks.chunk_ids[chunk],
                "document_id": events.documents.document_ids[int(events.chunks.document[chunk])],
                "date": events.dates[row],
                "centrality": centrality,
                "is_new": bool(draft.is_new[row]),
                "span_start": start,
                "span_end": end,
                "is_approximate": approximate,
                "citation": numbers.get(events.chunks.chunk_ids[chunk]),
            }


def _keys(draft: ReportContext) -> Iterator[Mapping[str, object]]:
    for each, keys in zip(draft.ranked, draft.telling, strict=True):
        for key in keys:
            yield {
                "community_id": each.community_id,
                "key_type": draft.events.keys.types[key.row],
                "value": draft.events.keys.values[key.row],
                "event_count": key.count,
                "idf": float(draft.idf[key.row]),
            }


def _changes(draft: ReportContext) -> Iterator[Mapping[str, object]]:
    for change in draft.changes:
        yield {
            "community_id": change.community_id,
            "title": change.title,
            "status": change.status,
            "event_count": change.size,
            "added": change.added,
            "removed": change.removed,
            "sources": list(change.sources),
        }
