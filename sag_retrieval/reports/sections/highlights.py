"""Findings: the statements of themes that are most worth a reader's while."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from sag_retrieval.clusters.similarity import cosines
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped, titled
from sag_retrieval.statements.quoting import good_rows, worth, worth_quoting

WORDING: Wording = {
    "heading": ("Findings", "要点"),
    "importance": ("importance {importance} of 10", "重要程度 {importance}/10"),
}
_MOST: Final = 7
_LEAST: Final = 5
_OF_PARTS: Final = 6
_THEMES: Final = 12
_OF_EACH: Final = 3
_CANDIDATES: Final = 25
_ALIKE: Final = 0.5
_JUDGED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Highlight:
    """A theme and a statement of it."""

    community: RankedCommunity
    statement: Statement
    importance: int = -1
    """0 to 10 by a model; -1: by rules."""
    reason: str = ""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The events of the statement."""
        return self.statement.references

    @property
    def text(self) -> str:
        """The statement."""
        return self.statement.text


@dataclass(frozen=True, slots=True)
class Highlights:
    """The findings."""

    items: tuple[Highlight, ...]


def build(context: ReportContext) -> Highlights | None:
    """Findings of a model, else by rules; None where no theme has a statement to quote."""
    heading = context.messages(WORDING).heading
    by_rules = _of_parts if context.communities.is_ordered else _by_rules
    found = tuple(_written(context, heading)) or tuple(by_rules(context, heading))
    return Highlights(found) if found else None


def _written(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The findings that a model wrote over all themes."""
    by_id = {each.community_id: each for each in context.ranking.communities}
    for each in context.written.findings:
        if each.community_id in by_id:
            statement = context.cited(each.text, each.event_ids, place)
            yield Highlight(by_id[each.community_id], statement, importance=each.importance, reason=each.reason)


def told_findings(found: Highlights | None) -> Iterator[dict[str, Any]]:
    """The findings of a finished report as plain values."""
    for each in found.items if found else ():
        told = {"importance": each.importance, "reason": each.reason} if each.importance >= 0 else {}
        sources = len({cite.source for cite in each.statement.cites})
        yield {"text": each.text, "theme": each.community.title, "sources": sources, **told}


def _by_rules(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The best statements of themes, in the language of the page as long as there is enough."""
    taken = list[int]()
    for row, community in _single(context):
        most = _LEAST if context.foreign_language(row) else _MOST
        if len(taken) < most and _is_other(context, row, taken):
            taken.append(row)
            yield Highlight(community, context.statement(row, place))


def _single(context: ReportContext) -> Iterator[tuple[int, RankedCommunity]]:
    """The best statement of each theme in turn, then the second best; those in another language at the end."""
    themes = context.ranking.communities[:_THEMES]
    pools = [(each, _candidates(context, each, strict=True)) for each in themes]
    if not any(len(pool) for _, pool in pools):
        pools = [(each, _candidates(context, each, strict=False)) for each in themes]
    for foreign, rank, (community, pool) in product((False, True), range(_OF_EACH), pools):
        own = [row for row in pool if bool(context.foreign_language(row)) == foreign][rank : rank + 1]
        yield from ((row, community) for row in own)


def _of_parts(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The statements of a long document that are most worth it, one of a part, in reading order."""
    best = list[tuple[float, int, int]]()
    for number, part in enumerate(context.ranking.communities):
        rows = np.array(part.typical, np.int32)
        rows = rows[worth_quoting(context.events, rows)]
        if len(rows):
            value = worth(context.events, rows)
            best.append((-float(value.max()), number, int(rows[int(value.argmax())])))
    for _, number, row in sorted(sorted(best)[:_OF_PARTS], key=lambda each: each[1]):
        yield Highlight(context.ranking.communities[number], context.statement(row, place))


def _candidates(context: ReportContext, community: RankedCommunity, *, strict: bool) -> list[int]:
    """Statements of a theme that can be quoted, those most worth it first."""
    events, members = context.events, community.members[:_JUDGED]
    rows = members[worth_quoting(events, members)] if strict else good_rows(events, members, 1)
    found: list[int] = rows[np.argsort(-worth(events, rows), kind="stable")[:_CANDIDATES]].tolist()
    return found


def _is_other(context: ReportContext, row: int, taken: list[int]) -> bool:
    """Whether a statement says something else than those that are taken."""
    others = np.array(taken, np.int32)
    return not (cosines(context.events.vectors, np.full(len(taken), row, np.int32), others) >= _ALIKE).any()


def markdown(content: Highlights, messages: Messages) -> Iterator[str]:
    """A numbered list."""
    yield from (f"## {messages.heading}", "")
    for number, each in enumerate(content.items, 1):
        yield f"{number}. {cited(each.statement)}{_weighed(each, messages)}  "
        yield f"   {titled(each.community, messages)}"
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
