"""Findings: one statement each of the themes that say most, with what other documents say alike."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import log2
from typing import Any, Final

import numpy as np

from sag_retrieval.communities.narration import tells
from sag_retrieval.communities.recurring import alike_rows, matter_of
from sag_retrieval.communities.similarity import cosines
from sag_retrieval.communities.statements import fault_counts, good_rows, telling
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.ranking import RankedCommunity, period_of
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, cited, escaped, titled

WORDING: Wording = {
    "heading": ("Findings", "要点"),
    "importance": ("importance {importance} of 10", "重要程度 {importance}/10"),
    "alike": ("{documents} say alike", "{documents}有类似说法"),
    "settled": ("“{matter}” is settled in {documents}", "{documents}约定“{matter}”"),
    "then": (", ", "，"),
    "most_named": ("most often with {names}", "多与{names}有关"),
    "named_times": ("{name} ({count})", "{name}（{count}）"),
}
_MOST: Final = 6
_LEAST: Final = 5
_THEMES: Final = 12
_OF_EACH: Final = 3
_CANDIDATES: Final = 25
_COMPARED: Final = 600
_ALIKE: Final = 0.5
_WIDE: Final = 4
_SEVERAL: Final = 4
"""Documents that say alike from which on the period and the names that recur are added."""
_OFTEN: Final = 0.2
_NAMED: Final = 2
_CITED: Final = 3
"""Statements cited for a finding: its own, and two of other documents."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A theme, one statement of it, and how many documents say alike (0: only its own)."""

    community: RankedCommunity
    statement: Statement
    documents: int
    alike: str = ""
    """How many say alike, when, and whom they name most."""
    importance: int = -1
    """0 to 10 by a model; -1: by rules."""
    reason: str = ""


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
            yield Highlight(by_id[each.community_id], statement, 0, "", each.importance, each.reason)


def told_findings(found: Highlights | None) -> Iterator[dict[str, Any]]:
    """The findings of a finished report as plain values."""
    for each in found.items if found else ():
        told = {"importance": each.importance, "reason": each.reason} if each.importance >= 0 else {}
        sources = len({cite.source for cite in each.statement.cites})
        yield {"text": each.statement.text, "theme": each.community.title, "sources": sources, **told}


def _by_rules(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The best statement of each theme in turn, then the second best; in another language where there are too few."""
    themes = context.ranking.communities[:_THEMES]
    pools = [(each, _candidates(context, each, strict=True)) for each in themes]
    if not any(pool for _, pool in pools):
        pools = [(each, _candidates(context, each, strict=False)) for each in themes]
    taken: list[int] = []
    for foreign, rank, (community, pool) in product((False, True), range(_OF_EACH), pools):
        own = [row for row in pool if bool(context.foreign_language(row)) == foreign][rank : rank + 1]
        if own and len(taken) < (_LEAST if foreign else _MOST) and _is_other(context, own[0], taken):
            taken += own
            yield _finding(context, community, own[0], pool[own[0]], place)


def _of_parts(context: ReportContext, place: str) -> Iterator[Highlight]:
    """The statements of a long document that hold most, one of a part, in reading order; a tale has none."""
    if tells(context.events):
        return
    events, best = context.events, list[tuple[float, int, int]]()
    for number, part in enumerate(context.ranking.communities):
        rows = np.array(part.typical, np.int32)
        rows = rows[fault_counts(events, rows) == 0]
        held = telling(events, rows)
        if len(rows):
            best.append((-round(float(held.max()), 9), number, int(rows[int(held.argmax())])))
    for _, number, row in sorted(sorted(best)[:_MOST], key=lambda each: each[1]):
        yield _finding(context, context.ranking.communities[number], row, {}, place)


def _candidates(context: ReportContext, community: RankedCommunity, *, strict: bool) -> dict[int, dict[int, int]]:
    """Statements of a theme without a fault, best first, with the events of other documents that say alike.

    The best holds most to check, and more documents say alike: `telling · (1 + log2(1 + documents) / 4)`.
    """
    events, members = context.events, community.members[:_COMPARED]
    rows = members[fault_counts(events, members) == 0] if strict else good_rows(events, members, 1)
    value = telling(events, rows)
    chosen = rows[np.argsort(-value, kind="stable")[:_CANDIDATES]].tolist()
    of_row = dict(zip(rows.tolist(), value.tolist(), strict=True))
    support = {row: _support(context, row, members) for row in chosen}
    best = sorted(chosen, key=lambda row: -round(of_row[row] * (1 + log2(1 + len(support[row])) / _WIDE), 9))
    return {row: support[row] for row in best}


def _is_other(context: ReportContext, row: int, taken: list[int]) -> bool:
    """Whether a statement says something else than those that are taken."""
    others = np.array(taken, np.int32)
    if np.isin(others, alike_rows(context.events, row)).any():
        return False
    return not (cosines(context.events.vectors, np.full(len(taken), row, np.int32), others) >= _ALIKE).any()


def _finding(
    context: ReportContext, community: RankedCommunity, row: int, support: dict[int, int], place: str
) -> Highlight:
    statement, alike = context.statement(row, place), list(support.values())
    more = tuple(Reference(other, place) for other in alike[: _CITED - 1])
    return Highlight(
        community,
        Statement(statement.text, (*statement.references, *more), lang=statement.lang),
        len(alike) + 1 if alike else 0,
        _alike(context, row, support) if alike else "",
    )


def _alike(context: ReportContext, row: int, support: dict[int, int]) -> str:
    """How many documents say alike; where they are several, also when, and which names recur in them."""
    messages, events = context.messages(WORDING), context.events
    rows, matter = np.array([row, *support.values()], np.int32), matter_of(context.events, row)
    told = messages["settled" if matter else "alike"].format(
        matter=matter, documents=messages.counted(messages.document_count, len(rows))
    )
    if len(rows) < _SEVERAL:
        return told
    named = Counter(name for each in rows.tolist() for name in _names(context, each))
    often = [(name, count) for name, count in named.items() if count >= max(2, _OFTEN * len(rows))]
    often = sorted(often, key=lambda pair: (-pair[1], pair[0]))[:_NAMED]
    names = messages.comma.join(messages.named_times.format(name=name, count=count) for name, count in often)
    parts = (told, period_of(events, rows), messages.most_named.format(names=names) if names else "")
    return messages.then.join(filter(None, parts))


def _names(context: ReportContext, row: int) -> set[str]:
    """What an event says by name, with the speaker of a turn."""
    events = context.events
    start, end = np.searchsorted(events.links.event, [row, row + 1]).tolist()
    said = (key for key in events.links.key[start:end].tolist() if key in context.keys.said)
    return {events.keys.values[key] for key in said if events.keys.place_in(events.contents[row], key) >= 0}


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
    for other in alike_rows(events, row).tolist():
        if events.document[other] != events.document[row]:
            found.setdefault(int(events.document[other]), other)
    return found


def markdown(content: Highlights, messages: Messages) -> Iterator[str]:
    """A numbered list."""
    yield from (f"## {messages.heading}", "")
    for number, each in enumerate(content.items, 1):
        alike = f" ({escaped(each.alike)})" if each.alike else ""
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
