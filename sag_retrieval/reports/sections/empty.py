"""Empty range: how many events are around it, and the command that widens it."""

from collections.abc import Iterator
from dataclasses import dataclass

from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording

WORDING: Wording = {
    "counts": (
        "There are {before} events before the range and {after} after it.",
        "范围之前有 {before} 个事件，之后有 {after} 个。",
    ),
    "nothing_new": ("Nothing in it is new since {release}.", "自 {release} 以来没有新内容。"),
    "to_widen": ("To widen it:", "扩大范围："),
}


@dataclass(frozen=True, slots=True)
class EmptyRange:
    """Counts around the range, and the command that widens it."""

    counts: str
    command: str


def build(context: ReportContext) -> EmptyRange | None:
    """None where there are events."""
    if len(context.events):
        return None
    options = context.options
    before, after = f"{options.events_before:,}", f"{options.events_after:,}"
    messages = context.messages(WORDING)
    if options.since:
        return EmptyRange(messages.nothing_new.format(release=options.since), "sag ingest")
    counts = messages.counts.format(before=before, after=after)
    return EmptyRange(counts, "sag report" if options.scope or options.period else "sag ingest")


def markdown(content: EmptyRange, messages: Messages) -> Iterator[str]:
    """Counts and command."""
    yield from (content.counts, "", f"{messages.to_widen} `{content.command}`", "")


SECTION = ReportSection(name="empty", build=build, markdown=markdown, wording=WORDING)
