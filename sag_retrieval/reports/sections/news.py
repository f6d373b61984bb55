"""What is new: events and communities that changed since the earlier report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.ranking import RankedCommunity, in_time_order
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.series import Change, Comparison
from sag_retrieval.reports.wording import Messages, Wording, dated, escaped
from sag_retrieval.statements.quoting import good_rows

WORDING: Wording = {
    "heading": ("What is new", "新增内容"),
    "first_report": (
        "This is the first report: there is no earlier release to compare with.",
        "这是第一份报告，没有可比较的上一版本。",
    ),
    "nothing_new": ("Nothing has changed since {release}.", "自 {release} 以来没有变化。"),
    "since": ("Since release {release}: ", "与版本 {release} 相比，"),
    "only_new": (
        "This report is only about what is new since {release}: {events}.",
        "本报告只包含自 {release} 以来的新内容：{events}。",
    ),
    "new_events": ("{count} new events", "新增 {count} 个事件"),
    "from_documents": ("{new} in {documents}, {titles}", "{new}，来自 {documents}：{titles}"),
    "no_events": ("no new events, but other communities", "没有新事件，社区有变化"),
    "gone": ("; gone: {gone}", "；消失 {gone}"),
    "regrouped": ("Changed without new events: {count}", "没有新事件但有变化的社区：{count} 个"),
    "joined": ("{count} from other communities", "从其他社区转入 {count} 个"),
    "sources": ("from {titles}", "来自{titles}"),
    "more": ("{count} further communities have changed; see {file}.", "另有 {count} 个社区有变化，见 {file}。"),
}

_MOST = 20
_EVENTS = 3
_DOCUMENTS = 5
_IN_PREVIEW = 8


@dataclass(frozen=True, slots=True)
class ChangedCommunity:
    """A change, its figures in words, its community's number (None: it has no article), and its newest events."""

    change: Change
    figures: str
    number: int | None
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class News:
    """One sentence about events, then the communities that changed; `left` counts those that are not listed."""

    sentence: str
    with_events: tuple[ChangedCommunity, ...]
    regrouped: tuple[ChangedCommunity, ...]
    """Communities that changed without a new event."""
    left: int
    outside: tuple[Statement, ...] = ()
    """Of a report about new events only: those that belong to no theme, which nothing else on the page would show."""


def build(context: ReportContext) -> News | None:
    """The changed communities, those with most new events first, each with its newest events."""
    if not len(context.events):
        return None
    messages, comparison = context.messages(WORDING), context.comparison
    by_id = {each.community_id: each for each in context.ranking.communities}
    found = [
        _changed(context, change, by_id.get(change.community_id), messages) for change in comparison.changes[:_MOST]
    ]
    return News(
        sentence=_sentence(context.events, comparison, messages, context.options.since),
        with_events=tuple(each for each in found if each.change.added),
        regrouped=tuple(each for each in found if not each.change.added),
        left=len(comparison.changes) - len(found),
        outside=tuple(_outside(context, messages.heading)) if context.options.since else (),
    )


def _outside(context: ReportContext, place: str) -> Iterator[Statement]:
    """The first events without a theme that read as statements, by date."""
    events = context.events
    rows = np.setdiff1d(
        np.arange(len(events), dtype=np.int32),
        np.concatenate([np.zeros(0, np.int32), *(each.members for each in context.ranking.communities)]),
    )
    for row in in_time_order(events, good_rows(events, rows, _MOST)[:_MOST]).tolist():
        yield context.statement(row, place)


def _sentence(events: EventTable, comparison: Comparison, messages: Messages, since: str) -> str:
    """Why there are no changes to list; else how many events are new, in which documents, and how many are gone."""
    previous = comparison.previous
    if since:
        return messages.only_new.format(release=since, events=messages.counted(messages.event_count, len(events)))
    if previous is None:
        return messages.first_report
    gone = len(previous.event_ids.difference(events.event_ids))
    if not comparison.changes and not comparison.is_new.any() and not gone:
        return messages.nothing_new.format(release=previous.release)
    text = messages.since.format(release=previous.release)
    text += _new_events(events, comparison, messages) if comparison.is_new.any() else messages.no_events
    lost = messages.gone.format(gone=messages.counted(messages.event_count, gone)) if gone else ""
    return text + lost + messages.stop


def _new_events(events: EventTable, comparison: Comparison, messages: Messages) -> str:
    documents = dict.fromkeys(events.document[comparison.is_new].tolist())
    titles = [f"“{events.documents.titles[row]}”" for row in documents]
    named = messages.comma.join(titles[:_DOCUMENTS]) + (" …" if len(titles) > _DOCUMENTS else "")
    return messages.from_documents.format(
        new=messages.counted(messages.new_events, int(comparison.is_new.sum())),
        documents=messages.counted(messages.document_count, len(titles)),
        titles=named,
    )


def _changed(
    context: ReportContext, change: Change, community: RankedCommunity | None, messages: Messages
) -> ChangedCommunity:
    figures = _figures(change, messages)
    if community is None or not change.added:
        return ChangedCommunity(change, figures, community.number if community else None)
    fresh = community.members[context.comparison.is_new[community.members]]
    ordered = in_time_order(context.events, fresh).tolist()
    newest = [row for row in ordered if context.events.dates[row]][-_EVENTS:] or ordered[:_EVENTS]
    statements = tuple(context.statement(row, messages.heading) for row in reversed(newest))
    return ChangedCommunity(change, figures, community.number, statements)


def _figures(change: Change, messages: Messages) -> str:
    """Events before and now, new ones, those from elsewhere, and where it comes from."""
    was = f"{change.before:,} → " if change.before not in (0, change.size) else ""
    sources = messages.comma.join(f"“{title}”" for title in change.sources)
    parts = [
        was + messages.counted(messages.event_count, change.size),
        messages.new_count.format(count=f"{change.added:,}") if change.added else "",
        messages.joined.format(count=f"{change.joined:,}") if change.joined else "",
        messages.sources.format(titles=sources) if change.status in ("merged", "split") else "",
    ]
    return " · ".join(filter(None, parts))


def markdown(content: News, messages: Messages) -> Iterator[str]:
    """The sentence and the changed communities as lists."""
    yield from (f"## {messages.heading}", "", escaped(content.sentence), "")
    yield from (f"- {dated(each)}" for each in content.outside)
    yield from _listed(content.with_events, messages)
    if content.regrouped:
        yield from ("", messages.regrouped.format(count=len(content.regrouped)), "")
        yield from _listed(content.regrouped, messages)
    if content.left:
        yield from ("", messages.more.format(count=content.left, file="`report_changes.parquet`"))
    yield ""


def _listed(changed: Sequence[ChangedCommunity], messages: Messages) -> Iterator[str]:
    for each in changed:
        status = messages[f"status_{each.change.status}"]
        yield f"- **{status}** {escaped(each.change.title)} ({escaped(each.figures)})"
        yield from (f"  - {dated(statement)}" for statement in each.statements)


def preview(content: News, messages: Messages) -> Iterator[str]:
    """The sentence and the first changes."""
    yield from ("", escaped(content.sentence), "")
    for each in (*content.with_events, *content.regrouped)[:_IN_PREVIEW]:
        yield f"- {messages[f'status_{each.change.status}']}: {escaped(each.change.title)} ({escaped(each.figures)})"


def _is_list(content: News) -> bool:
    return bool(content.with_events or content.regrouped or content.outside)


SECTION = ReportSection(
    name="news",
    anchor="new",
    build=build,
    markdown=markdown,
    wording=WORDING,
    preview=preview,
    needs_heading=_is_list,
)
