"""What stands out: the heaviest communities, each with one typical event."""

from collections.abc import Iterator
from dataclasses import dataclass

from sag_retrieval.reports.citations import Statement
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, titled

WORDING: Wording = {"heading": ("What stands out", "要点")}

_MOST = 5
_LOOKED_AT = 10
_SHORTEST = 36
"""Least bytes of a sentence that is worth quoting: six English words, twelve Chinese characters."""
_ENDS = ".!?。！？”’\"'」』"


@dataclass(frozen=True, slots=True)
class Highlight:
    """A community and one sentence of it."""

    community: RankedCommunity
    statement: Statement


@dataclass(frozen=True, slots=True)
class Highlights:
    """The heaviest communities."""

    items: tuple[Highlight, ...]


def build(context: ReportContext) -> Highlights | None:
    """The five heaviest communities; None where there are none."""
    heading = context.messages(WORDING).heading
    found = tuple(
        Highlight(each, context.statement(_readable(context, each), heading))
        for each in context.ranking.communities[:_MOST]
    )
    return Highlights(found) if found else None


def _readable(context: ReportContext, community: RankedCommunity) -> int:
    """Of the most typical events one that is a whole sentence, in the language of the page if there is one."""
    members, contents = community.members[:_LOOKED_AT].tolist(), context.events.contents
    return int(min(members, key=lambda row: (not _is_whole(contents[row]), bool(context.foreign_language(row)))))


def _is_whole(text: str) -> bool:
    """Whether a text reads as a sentence: no row of a table, no fragment, no mere exclamation."""
    return "|" not in text and not text[:1].islower() and len(text.encode()) >= _SHORTEST and text[-1] in _ENDS


def markdown(content: Highlights, messages: Messages) -> Iterator[str]:
    """A numbered list."""
    yield from (f"## {messages.heading}", "")
    for number, each in enumerate(content.items, 1):
        yield f"{number}. {titled(each.community, messages)}  "
        yield f"   {cited(each.statement)}"
    yield ""


def preview(content: Highlights, messages: Messages) -> Iterator[str]:
    """Titles and figures."""
    yield from (f"{number}. {titled(each.community, messages)}" for number, each in enumerate(content.items, 1))


SECTION = ReportSection(
    name="highlights", anchor="stands-out", build=build, markdown=markdown, wording=WORDING, preview=preview
)
