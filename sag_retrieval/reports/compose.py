"""From events and communities to everything a report says."""

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.titles import clean
from sag_retrieval.core.records import make_id
from sag_retrieval.reports import overview
from sag_retrieval.reports.articles import article_stubs, write_themes
from sag_retrieval.reports.changes import Previous
from sag_retrieval.reports.content import Content, Theme
from sag_retrieval.reports.context import ReportContext, make_context
from sag_retrieval.reports.drawing import draw_map, draw_timeline
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.provenance import provenance
from sag_retrieval.reports.select import period_of

EVENTS_FILE = "report_events.parquet"
COMMUNITIES_FILE = "report_communities.parquet"
CHANGES_FILE = "report_changes.parquet"


def compose(
    events: EventTable, communities: Communities, options: ReportOptions, previous: Previous | None
) -> tuple[Content, ReportContext]:
    """Everything the report says, in the order of reading, and the materials it was made of.

    Source:
        docs/algorithm.md §reports.6 to §reports.9.

    """
    draft = make_context(events, communities, options, previous)
    if not len(events):
        return _empty(draft), draft
    articles = article_stubs(draft)
    stands_out = overview.highlights(draft, articles)
    told = overview.news(draft)
    themes = write_themes(draft, articles)
    singles, singles_left = overview.singles(draft)
    listed = _listed(themes) | {each.row for each in singles}
    content = Content(
        title=_title(draft),
        report_id=_report_id(draft),
        headline=_headline(draft),
        figures=_figures(draft),
        highlights=stands_out,
        news_sentence=overview.news_sentence(draft),
        news=tuple(each for each in told if each.change.added),
        regrouped=tuple(each for each in told if not each.change.added),
        news_left=len(draft.changes) - len(told),
        themes=themes,
        map=draw_map(draft, articles, listed),
        timeline=draw_timeline(draft, articles, listed),
        top_keys=overview.top_keys(draft),
        singles=singles,
        singles_left=singles_left,
        further=draft.proper_count - len(draft.ranked),
        sources=tuple(draft.citations.sources()),
        facts=provenance(draft, communities),
        counts=_counts(draft),
        citation_count=draft.citations.count,
        has_new=bool(draft.is_new.any()),
    )
    return content, draft


def _empty(draft: ReportContext) -> Content:
    options, labels = draft.options, draft.labels
    counts = labels.empty_counts.format(before=f"{options.events_before:,}", after=f"{options.events_after:,}")
    return Content(
        title=_title(draft),
        report_id=_report_id(draft),
        headline=labels.empty,
        figures=(),
        facts=provenance(draft, Communities(communities=(), quality=())),
        empty=(counts, "sag report" if options.scope or options.period else "sag ingest"),
        counts=_counts(draft),
    )


def _listed(themes: tuple[Theme, ...]) -> set[int]:
    return {each.row for theme in themes for article in theme.articles for each in (*article.typical, *article.rest)}


def _title(draft: ReportContext) -> str:
    return clean(draft.options.title) or draft.labels.kind


def _report_id(draft: ReportContext) -> str:
    options = draft.options
    before = draft.previous.release if draft.previous else ""
    return make_id("r", options.release, options.scope, options.period, options.cluster, options.title, before)


def _headline(draft: ReportContext) -> str:
    labels, counts = draft.labels, _counts(draft)
    if not draft.ranked:
        return labels.counted(labels.event_count, len(draft.events)) + labels.stop
    text = labels.headline.format(
        documents=labels.counted(labels.document_count, counts["documents"]),
        events=labels.counted(labels.event_count, counts["events"]),
        communities=labels.counted(labels.community_count, counts["communities"]),
        title=draft.ranked[0].title,
        size=labels.counted(labels.event_count, len(draft.ranked[0].members)),
    )
    if draft.previous and counts["new"]:
        text += labels.headline_new.format(new=f"{counts['new']:,}")
    return text + labels.stop


def _counts(draft: ReportContext) -> dict[str, int]:
    return {
        "events": len(draft.events),
        "documents": len(set(draft.events.document.tolist())),
        "communities": draft.proper_count,
        "keys": int((draft.total > 0).sum()),
        "new": int(draft.is_new.sum()),
        "single": sum(len(each.members) for each in draft.singles),
    }


def _figures(draft: ReportContext) -> tuple[tuple[str, str], ...]:
    labels, counts = draft.labels, _counts(draft)
    period = period_of(draft.events, np.arange(len(draft.events), dtype=np.int32))
    return (
        (labels.events, f"{counts['events']:,}"),
        (labels.documents, f"{counts['documents']:,}"),
        (labels.communities, f"{counts['communities']:,}"),
        (labels.keys, f"{counts['keys']:,}"),
        (labels.new, f"{counts['new']:,}" if draft.previous else "–"),
        (labels.period, period or "–"),
    )
