"""Findings: what several documents say, with its extent, and the statements of themes that hold most to check."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from sag_retrieval.communities.events import EventTable
from sag_retrieval.communities.narration import tells
from sag_retrieval.communities.similarity import cosines
from sag_retrieval.communities.statements import fault_counts, good_rows, is_amount, telling
from sag_retrieval.communities.talk import TOLD, settles
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.claims import CLAIMS, claims
from sag_retrieval.reports.ranking import RankedCommunity
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped, titled

WORDING: Wording = {
    **CLAIMS,
    "heading": ("Findings", "要点"),
    "importance": ("importance {importance} of 10", "重要程度 {importance}/10"),
}
_MOST: Final = 7
_LEAST: Final = 5
_OF_PARTS: Final = 6
_NO_FIGURE: Final = 0.9
"""Fault of a statement without a figure."""
_COMPARES: Final = 0.2
"""How much more a statement with two amounts holds."""
_THEMES: Final = 12
_OF_EACH: Final = 3
_CANDIDATES: Final = 25
_ALIKE: Final = 0.5
_JUDGED: Final = 2_000


@dataclass(frozen=True, slots=True)
class Highlight:
    """A theme and a statement of it; where several documents say alike, that claim before the statement."""

    community: RankedCommunity
    claim: Statement | None
    """How many documents say alike, when, how much and who most; None for a finding of one statement."""
    statement: Statement
    leads: str = ""
    """What stands between the claim and the statement: `For example:`."""
    importance: int = -1
    """0 to 10 by a model; -1: by rules."""
    reason: str = ""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The events of the claim and of the statement."""
        return (*(self.claim.references if self.claim else ()), *self.statement.references)

    @property
    def text(self) -> str:
        """The claim and its example as one text."""
        if self.claim is None:
            return self.statement.text
        space = "" if self.claim.text.endswith("。") else " "
        return f"{self.claim.text}{space}{self.leads}{self.statement.text}"


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
            yield Highlight(by_id[each.community_id], None, statement, importance=each.importance, reason=each.reason)


def told_findings(found: Highlights | None) -> Iterator[dict[str, Any]]:
    """The findings of a finished report as plain values."""
    for each in found.items if found else ():
        told = {"importance": each.importance, "reason": each.reason} if each.importance >= 0 else {}
        cites = (*(each.claim.cites if each.claim else ()), *each.statement.cites)
        sources = len({cite.source for cite in cites})
        yield {"text": each.text, "theme": each.community.title, "sources": sources, **told}


def _by_rules(context: ReportContext, place: str) -> Iterator[Highlight]:
    """What several documents say, then what one says, both in the language of the page as long as there is enough."""
    over_many = claims(context)
    for each in over_many:
        yield Highlight(each.community, each.statement(place), context.statement(each.example, place), each.leads)
    taken = [each.example for each in over_many]
    for row, community in _single(context):
        most = _LEAST if context.foreign_language(row) or TOLD.match(context.events.contents[row]) else _MOST
        is_claimed = any(each.holds(row, context.events.contents[row]) for each in over_many)
        if len(taken) < most and not is_claimed and _is_other(context, row, taken):
            taken.append(row)
            yield Highlight(community, None, context.statement(row, place))


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
    """The statements of a long document that hold most, one of a part, in reading order; a tale has none.

    They hold a figure, but need not say who: of one document it is known.
    """
    if tells(context.events):
        return
    events, best = context.events, list[tuple[float, int, int]]()
    for number, part in enumerate(context.ranking.communities):
        rows = np.array(part.typical, np.int32)
        rows = rows[fault_counts(events, rows) < _NO_FIGURE]
        held = telling(events, rows) + [_COMPARES * (_amounts(events, row) > 1) for row in rows.tolist()]
        if len(rows):
            best.append((-round(float(held.max()), 9), number, int(rows[int(held.argmax())])))
    for _, number, row in sorted(sorted(best)[:_OF_PARTS], key=lambda each: each[1]):
        yield Highlight(context.ranking.communities[number], None, context.statement(row, place))


def _amounts(events: EventTable, row: int) -> int:
    """How many amounts an event holds: two are compared."""
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    return sum(1 for key in events.links.key[start:end].tolist() if is_amount(events.keys, key))


def _candidates(context: ReportContext, community: RankedCommunity, *, strict: bool) -> list[int]:
    """Statements of a theme without a fault, those that hold most to check first."""
    events, members = context.events, community.members[:_JUDGED]
    rows = members[fault_counts(events, members) == 0] if strict else good_rows(events, members, 1)
    rows = np.array([row for row in rows.tolist() if _is_settled(events.contents[row])], np.int32)
    value = telling(events, rows)
    found: list[int] = rows[np.argsort(-value, kind="stable")[:_CANDIDATES]].tolist()
    return found


def _is_settled(text: str) -> bool:
    """Whether a statement is no talk, or settles something for an hour or with somebody."""
    return not TOLD.match(text) or settles(text) > 1


def _is_other(context: ReportContext, row: int, taken: list[int]) -> bool:
    """Whether a statement says something else than those that are taken."""
    others = np.array(taken, np.int32)
    return not (cosines(context.events.vectors, np.full(len(taken), row, np.int32), others) >= _ALIKE).any()


def markdown(content: Highlights, messages: Messages) -> Iterator[str]:
    """A numbered list."""
    yield from (f"## {messages.heading}", "")
    for number, each in enumerate(content.items, 1):
        space = "" if each.leads.endswith("：") else " "
        claim = f"{cited(each.claim)}{space}{each.leads}" if each.claim else ""
        yield f"{number}. {claim}{cited(each.statement)}{_weighed(each, messages)}  "
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
