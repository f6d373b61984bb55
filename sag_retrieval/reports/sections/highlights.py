"""Findings: one statement each of the themes that say most, with what other documents say alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_retrieval.communities.similarity import cosines
from sag_retrieval.communities.statements import good_rows
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, titled

WORDING: Wording = {
    "heading": ("Findings", "要点"),
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


@dataclass(frozen=True, slots=True)
class Highlights:
    """The findings."""

    items: tuple[Highlight, ...]


def build(context: ReportContext) -> Highlights | None:
    """Findings of the first themes; None where there are none."""
    heading = context.messages(WORDING).heading
    found = tuple(_finding(context, each, heading) for each in context.ranking.communities[:_MOST])
    return Highlights(found) if found else None


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
        yield f"   {cited(each.statement)}{alike}"
    yield ""


def preview(content: Highlights, messages: Messages) -> Iterator[str]:
    """Titles and figures."""
    yield from (f"{number}. {titled(each.community, messages)}" for number, each in enumerate(content.items, 1))


SECTION = ReportSection(
    name="highlights", anchor="findings", build=build, markdown=markdown, wording=WORDING, preview=preview
)
