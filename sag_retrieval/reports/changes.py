"""What changed since the earlier report: new and removed documents and statements, and topics that are others."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.context import ReportContext
from sag_retrieval.reports.ranking import RankedTopic, in_time_order
from sag_retrieval.reports.series import Change
from sag_retrieval.statements.scorer import good_rows

_MOST = 20
_EVENTS = 3
_DOCUMENTS = 5


@dataclass(frozen=True, slots=True)
class ChangedTopic:
    """A change, its figures in words, its topic's number (None: it is not on the page), and its newest events."""

    change: Change
    figures: str
    number: int | None
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """A sentence about statements and documents, then the topics that changed; `left` counts those not listed."""

    sentence: str
    outside: tuple[Statement, ...] = ()
    """Of a report about new events only: those without a topic, which nothing else on the page would show."""
    with_events: tuple[ChangedTopic, ...] = ()
    regrouped: tuple[ChangedTopic, ...] = ()
    """Topics that changed without a new event."""
    left: int = 0

    @property
    def is_list(self) -> bool:
        """Whether there is more than the sentence."""
        return bool(self.with_events or self.regrouped or self.outside)


def build_changes(context: ReportContext) -> Changes | None:
    """The changed topics, those with most new events first, each with its newest events."""
    if not len(context.events):
        return None
    comparison = context.comparison
    by_id = {each.community_id: each for each in context.topics}
    found = [_changed(context, change, by_id.get(change.community_id)) for change in comparison.changes[:_MOST]]
    return Changes(
        sentence=_sentence(context),
        outside=tuple(_outside(context)) if context.options.since else (),
        with_events=tuple(each for each in found if each.change.added),
        regrouped=tuple(each for each in found if not each.change.added),
        left=len(comparison.changes) - len(found),
    )


def _outside(context: ReportContext) -> Iterator[Statement]:
    """The first events without a topic that read as statements, by date."""
    events = context.events
    grouped = np.concatenate([np.zeros(0, np.int32), *(each.members for each in context.topics)])
    rows = np.setdiff1d(np.arange(len(events), dtype=np.int32), grouped)
    for row in in_time_order(events, good_rows(events, rows, _MOST)[:_MOST]).tolist():
        yield context.statement(row, context.messages.heading_changes)


def _sentence(context: ReportContext) -> str:
    """Why there are no changes to list; else the new statements, their documents, and how many are gone."""
    t, comparison = context.messages, context.comparison
    previous = comparison.previous
    if context.options.since:
        statements = t.counted("statement_count", len(context.events))
        return t.only_new.format(release=context.options.since, statements=statements)
    if previous is None:
        return t.first_report
    gone = len(previous.event_ids.difference(context.events.event_ids))
    if not comparison.changes and not comparison.is_new.any() and not gone:
        return t.nothing_new.format(release=previous.release)
    new = _new_events(context) if comparison.is_new.any() else t.no_new_events
    lost = t.gone.format(gone=t.counted("statement_count", gone)) if gone else ""
    return t.since.format(release=previous.release) + new + lost + t.stop


def _new_events(context: ReportContext) -> str:
    t, events, is_new = context.messages, context.events, context.comparison.is_new
    documents = dict.fromkeys(events.document[is_new].tolist())
    titles = [t.quoted.format(title=events.documents.titles[row]) for row in documents]
    named = t.comma.join(titles[:_DOCUMENTS]) + (" …" if len(titles) > _DOCUMENTS else "")
    return t.from_documents.format(
        new=t.counted("new_events", int(is_new.sum())), documents=t.counted("document_count", len(titles)), titles=named
    )


def _changed(context: ReportContext, change: Change, topic: RankedTopic | None) -> ChangedTopic:
    figures = _figures(context, change)
    if topic is None or not change.added:
        return ChangedTopic(change, figures, topic.number if topic else None)
    fresh = topic.members[context.comparison.is_new[topic.members]]
    ordered = in_time_order(context.events, fresh).tolist()
    newest = [row for row in ordered if context.events.dates[row]][-_EVENTS:] or ordered[:_EVENTS]
    statements = (context.statement(row, context.messages.heading_changes) for row in reversed(newest))
    return ChangedTopic(change, figures, topic.number, tuple(statements))


def _figures(context: ReportContext, change: Change) -> str:
    """Events before and now, new ones, those from elsewhere, and where it comes from."""
    t = context.messages
    was = f"{change.before:,} → " if change.before not in (0, change.size) else ""
    sources = t.comma.join(t.quoted.format(title=title) for title in change.sources)
    parts = [
        was + t.counted("statement_count", change.size),
        t.new_count.format(count=f"{change.added:,}") if change.added else "",
        t.joined.format(count=f"{change.joined:,}") if change.joined else "",
        t.sources_of.format(titles=sources) if change.status in ("merged", "split") else "",
    ]
    return " · ".join(filter(None, parts))
