"""Header: title, headline and key figures."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sag_retrieval.communities.events import EventTable, clean
from sag_retrieval.reports.ranking import period_of
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, escaped

WORDING: Wording = {
    "kind": ("Community report", "社区报告"),
    "headline": (
        "{events} from {documents} form {communities}; the largest is “{title}” ({size})",
        "{documents}中的 {events}分成 {communities}，最大的是“{title}”（{size}）",
    ),
    "headline_new": (
        ", and {new} events are new since the previous release",
        "；与上一版本相比新增 {new} 个事件",
    ),
    "no_events": ("The chosen range holds no events.", "所选范围内没有事件。"),
}


@dataclass(frozen=True, slots=True)
class Header:
    """Title, one sentence, and figures with their names."""

    title: str
    headline: str
    figures: tuple[tuple[str, str], ...]


def build(context: ReportContext) -> Header:
    """The header; without figures where there are no events."""
    messages = context.messages(WORDING)
    title = clean(context.options.title) or messages.kind
    if not len(context.events):
        return Header(title, messages.no_events, ())
    return Header(title, _headline(context, messages), _figures(context, messages))


def _headline(context: ReportContext, messages: Messages) -> str:
    counts, ranked = context.counts, context.ranking.communities
    if not ranked:
        return messages.counted(messages.event_count, counts["events"]) + messages.stop
    text = messages.headline.format(
        documents=messages.counted(messages.document_count, counts["documents"]),
        events=messages.counted(messages.event_count, counts["events"]),
        communities=messages.counted(messages.community_count, counts["communities"]),
        title=ranked[0].title,
        size=messages.counted(messages.event_count, ranked[0].size),
    )
    if counts["new"]:
        text += messages.headline_new.format(new=f"{counts['new']:,}")
    return text + messages.stop


def _figures(context: ReportContext, messages: Messages) -> tuple[tuple[str, str], ...]:
    counts = context.counts
    return (
        (messages.events, f"{counts['events']:,}"),
        (messages.documents, f"{counts['documents']:,}"),
        (messages.communities, f"{counts['communities']:,}"),
        (messages.keys, f"{counts['keys']:,}"),
        (messages.new, f"{counts['new']:,}" if context.comparison.previous else "–"),
        (messages.period, _whole_period(context.events) or "–"),
    )


def _whole_period(events: EventTable) -> str:
    return period_of(events, np.arange(len(events), dtype=np.int32))


def _joined(content: Header) -> str:
    return " · ".join(f"{name} **{escaped(value)}**" for name, value in content.figures)


def markdown(content: Header, _messages: Messages) -> Iterator[str]:
    """Title, headline and figures."""
    yield from (f"# {escaped(content.title)}", "", escaped(content.headline), "", _joined(content), "")


def preview(content: Header, _messages: Messages) -> Iterator[str]:
    """Headline and figures."""
    yield from (f"**{escaped(content.headline)}**", "", _joined(content), "")


SECTION = ReportSection(name="header", build=build, markdown=markdown, wording=WORDING, place="top", preview=preview)
