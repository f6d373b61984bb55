"""Findings: one statement each of the themes that say most, with what other documents say alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sag_retrieval.communities.similarity import cosines
from sag_retrieval.communities.statements import good_rows
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped, titled

WORDING: Wording = {
    "heading": ("Findings", "要点"),
    "importance": ("importance {importance} of 10", "重要程度 {importance}/10"),
    "alike": ("{count} documents say alike", "{count} 篇文档有类似说法"),
}
_MOST: Final = 6
_CANDIDATES: Final = 25
_COMPARED: Final = 600
_ALIKE: Final = 0.5
_CITED: Final = 3
"""Statements cited for a finding: its own, and two of other documents."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A theme, one statement of it, and how many documents say alike (0: only its own)."""

    community: RankedCommunity
    statement: Statement
    documents: int
    importance: int = -1
    """0 to 10 by a model; -1: by rules."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Highlights:
    """The findings."""

    items: tuple[Highlight, ...]


def build(context: ReportContext) -> Highlights | None:
    """Findings of a model, else of the first themes by rules; None where there are none."""
    heading = context.messages(WORDING).heading
    found = tuple(_written(context, heading)) or tuple(
        _finding(context, each, heading) for each in context.ranking.communities[:_MOST]
    )
    return Highlights(found) if found else None


def _written(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The findings that a model wrote over all themes."""
    by_id = {each.community_id: each for each in context.ranking.communities}
    for each in context.written.findings:
        if each.community_id in by_id:
            statement = context.cited(each.text, each.event_ids, place)
            yield Highlight(by_id[each.community_id], statement, 0, each.importance, each.reason)


def told_findings(found: Highlights | None) -> Iterator[dict[str, Any]]:
    """The findings of a finished report as plain values."""
    for each in found.items if found else ():
        told = {"importance": each.importance, "reason": each.reason} if each.importance >= 0 else {}
        sources = len({cite.source for cite in each.statement.cites})
        yield {"text": each.statement.text, "theme": each.community.title, "sources": sources, **told}


def _finding(context: ReportContext, community: RankedCommunity, place: str) -> Highlight:
    """The statement that most documents support, in the language of the page where there is one."""
    events, members = context.events, community.members[:_COMPARED]
    candidates = good_rows(events, members, 1)[:_CANDIDATES].tolist()
    support = {row: _support(context, row, members) for row in candidates}
    best = max(candidates, key=lambda row: (not context.foreign_language(row), len(support[row])))
    alike = list(support[best].values())
    statement = context.statement(best, place)
    more = tuple(Reference(row, place) for row in alike[: _CITED - 1])
    documents = len(alike) + 1 if alike else 0
    return Highlight(
        community, Statement(statement.text, (*statement.references, *more), lang=statement.lang), documents
    )


def _support(context: ReportContext, row: int, members: "np.typing.NDArray[np.int32]") -> dict[int, int]:
    """The most similar event of each other document that says alike, by document, the most similar first."""
    events = context.events
    similar = cosines(events.vectors, np.full(len(members), row, np.int32), members)
    found: dict[int, int] = {}
    for place in np.argsort(-similar, kind="stable").tolist():
        if similar[place] < _ALIKE:
            break
        document = int(events.document[members[place]])
        if document != int(events.document[row]):
            found.setdefault(document, int(members[place]))
    return found


def markdown(content: Highlights, messages: Messages) -> Iterator[str]:
    """A numbered list."""
    yield from (f"## {messages.heading}", "")
    for number, each in enumerate(content.items, 1):
        alike = f" ({messages.alike.format(count=each.documents)})" if each.documents else ""
        yield f"{number}. {titled(each.community, messages)}  "
        yield f"   {cited(each.statement)}{alike}{_weighed(each, messages)}"
    yield ""


def _weighed(each: Highlight, messages: Messages) -> str:
    """Importance and reason, where a model gave them."""
    if each.importance < 0:
        return ""
    told = messages.importance.format(importance=each.importance)
    return f" ({escaped(messages.colon.join(filter(None, (told, each.reason))))})"


def preview(content: Highlights, messages: Messages) -> Iterator[str]:
    """Titles and figures."""
    yield from (f"{number}. {titled(each.community, messages)}" for number, each in enumerate(content.items, 1))


SECTION = ReportSection(
    name="highlights", anchor="findings", build=build, markdown=markdown, wording=WORDING, preview=preview
)
