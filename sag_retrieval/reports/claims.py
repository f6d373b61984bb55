"""Claims over several documents: what circles of speakers settle, and how far what many statements say extends."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from sag_retrieval.communities.circles import Circle, circles
from sag_retrieval.communities.common_phrases import said_share, telling_words
from sag_retrieval.communities.kinds import StatementKind, recurring_kinds
from sag_retrieval.communities.statements import fault_counts, telling
from sag_retrieval.core.types import Rows
from sag_retrieval.reports.citations import Reference, Statement
from sag_retrieval.reports.facts import bearer_of
from sag_retrieval.reports.periods import period_of
from sag_retrieval.reports.ranking import RankedCommunity, in_time_order
from sag_retrieval.reports.section import ReportContext
from sag_retrieval.reports.spreads import AmountSpread, spread_of, told_amount, told_range
from sag_retrieval.reports.wording import Messages, Wording

CLAIMS: Wording = {
    "kind": ("{documents}{period} say “{phrase}”{extent}", "{documents}{period}都说到“{phrase}”{extent}"),
    "period_of": (" of {period}", "（{period}）"),
    "extent": (": {least} to {most}", "：{least}至 {most}"),
    "extent_one": (": {most} each", "：均为{most}"),
    "middle": (", median {middle}", "，中位数 {middle}"),
    "most_of": ("; the most: {who} ({most})", "；最多的是{who}（{most}）"),
    "circle": (
        "{speakers} talk of “{matter}” in {count} of {all} conversations{period}{further}.",
        "{speakers}的 {all} 次对话{period}中有 {count} 次谈到“{matter}”{further}。",
    ),
    "further": (", of {matters}", "，另有{matters}"),
    "matter": ("“{matter}” in {count}", "“{matter}”{count} 次"),
    "and": (" and ", "和"),
    "others": ("{names} and {count} others", "{names}等 {count} 人"),
    "example": ("For example: ", "例如："),
    "quoted": ("“{title}”", "“{title}”"),
    "largest": ("The largest: ", "最大的一例："),
}
_STRAY: Final = 50
"""Of fifty dated events the first and the last may tell of another time."""
_KINDS: Final = 40
_MOST_KINDS: Final = 5
_MOST_CIRCLES: Final = 7
_WIDE: Final = 6
"""Documents of a kind that has no amount to compare."""
_SPEAKERS: Final = 3
_CITED: Final = 3
"""Statements cited for a claim besides its example."""
_FOR_A_MIDDLE: Final = 5
"""Documents with an amount from which on the middle one is named."""
_CLEAN: Final = 0.5
"""A statement with fewer faults than one is an example: the name of who it tells of may be missing."""
_FOUND: Final = WeakKeyDictionary["ReportContext", "list[Claim]"]()
"""The claims of a report: its header names them, too."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What several documents say, with one of them as an example."""

    community: RankedCommunity
    """The theme that most of its events belong to."""
    text: str
    cited: tuple[int, ...]
    """Rows of the events that it cites besides the example."""
    leads: str
    """What stands before the example: `For example:`."""
    example: int
    rows: Rows
    """All events that say it."""
    label: str
    """What is said, or who talks, in few words."""
    count: int
    """Documents that say it, or conversations."""
    phrase: str = ""
    """The words that they share; empty for talk."""

    def holds(self, row: int, text: str) -> bool:
        """Whether an event says it too."""
        return row in self.rows or (bool(self.phrase) and said_share(text, telling_words(self.phrase)) == 1)

    def statement(self, place: str) -> Statement:
        """The claim as a statement that cites its events."""
        return Statement(self.text, tuple(Reference(row, place) for row in self.cited))


def claims(context: ReportContext) -> list[Claim]:
    """Those of talk, where most documents are talk, else those of statements; none of one document.

    Source:
        docs/algorithm.md §reports.6.

    """
    if context not in _FOUND:
        several = context.counts["documents"] > 1
        found = list(_of_talk(context)) or list(islice(_of_kinds(context), _MOST_KINDS)) if several else []
        _FOUND[context] = found
    return _FOUND[context]


def _of_talk(context: ReportContext) -> Iterator[Claim]:
    """The circles of speakers, where documents are talk."""
    yield from (_of_circle(context, each) for each in circles(context.events, _MOST_CIRCLES))


def _of_kinds(context: ReportContext) -> Iterator[Claim]:
    """Kinds of statements, of each theme the widest, then the second; those with amounts to compare first."""
    kinds = [(each, spread_of(context.events, each.exact)) for each in recurring_kinds(context.events, _KINDS)]
    kinds.sort(key=lambda pair: (pair[1] is None, -pair[0].documents, int(pair[0].rows[0])))
    ranked: list[tuple[int, int, RankedCommunity, int]] = []
    of_theme: Counter[int] = Counter()
    phrases: list[frozenset[str]] = []
    for number, (kind, spread) in enumerate(kinds):
        community, row = _theme_of(context, kind.rows), _example(context, kind, spread)
        words = frozenset(kind.phrase.split())
        is_known = any(2 * len(words & one) > len(words) for one in phrases)
        if community is None or row < 0 or is_known or (spread is None and kind.documents < _WIDE):
            continue
        ranked.append((of_theme[community.number], number, community, row))
        of_theme[community.number] += 1
        phrases.append(words)
    for _, number, community, row in sorted(ranked, key=lambda each: (kinds[each[1]][1] is None, *each[:2])):
        yield _of_kind(context, kinds[number], community, row)


def _theme_of(context: ReportContext, rows: Rows) -> RankedCommunity | None:
    """The theme that most of the events belong to, or else most of their documents."""
    held = {each.number: int(np.isin(rows, each.members).sum()) for each in context.ranking.communities}
    best = min(context.ranking.communities, key=lambda each: (-held[each.number], each.number), default=None)
    if best is None or held[best.number]:
        return best
    document = context.events.document
    near = {
        each.number: int(np.isin(document[rows], document[each.members]).sum()) for each in context.ranking.communities
    }
    return max(context.ranking.communities, key=lambda each: (near[each.number], -each.number))


def _example(context: ReportContext, kind: StatementKind, spread: AmountSpread | None) -> int:
    """The statement with the largest amount, if it can be quoted, else the one that tells most; -1 for none."""
    rows = kind.rows[fault_counts(context.events, kind.rows) <= _CLEAN]
    own = np.array([row for row in rows.tolist() if not context.foreign_language(row)], np.int32)
    if spread is not None and spread.most.row in own:
        return spread.most.row
    return int(own[np.argmax(telling(context.events, own))]) if len(own) else -1


def _of_kind(
    context: ReportContext, found: tuple[StatementKind, AmountSpread | None], community: RankedCommunity, row: int
) -> Claim:
    kind, spread = found
    messages, events = context.messages(CLAIMS), context.events
    dated = sum(1 for each in kind.rows.tolist() if events.dates[each])
    told = messages["kind"].format(
        documents=messages.counted(messages.document_count, kind.documents),
        period=_period(context, kind.rows, messages) if 2 * dated >= len(kind.rows) else "",
        phrase=kind.phrase,
        extent=_extent(context, spread, row, messages) if spread else "",
    )
    extremes = (spread.least.row, spread.most.row) if spread else ()
    rows = [other for other in dict.fromkeys((*extremes, *kind.rows.tolist())) if other != row][:_CITED]
    is_most = spread is not None and row == spread.most.row and spread.least.number < spread.most.number
    leads = messages.largest if is_most else messages.example
    label = messages.quoted.format(title=kind.phrase)
    return Claim(
        community, told + messages.stop, tuple(rows), leads, row, kind.rows, label, kind.documents, kind.phrase
    )


def _period(context: ReportContext, rows: Rows, messages: Messages) -> str:
    dated = in_time_order(
        context.events, np.array([row for row in rows.tolist() if context.events.dates[row]], np.int32)
    )
    cut = len(dated) // _STRAY
    period = period_of(context.events, dated[cut : len(dated) - cut], context.language)
    return messages.period_of.format(period=period) if period else ""


def _extent(context: ReportContext, spread: AmountSpread, row: int, messages: Messages) -> str:
    """From the least to the most, the middle of many, and whose the most is if the example is another."""
    least, most = told_range(spread.least, spread.most, context.language)
    if spread.least.number == spread.most.number:
        return messages.extent_one.format(most=most)
    told = messages.extent.format(least=least, most=most)
    if spread.documents >= _FOR_A_MIDDLE:
        told += messages.middle.format(middle=told_amount(spread.middle, context.language))
    who = "" if row == spread.most.row else bearer_of(context.events, spread.most.row)
    return told + (messages.most_of.format(who=who, most=most) if who else "")


def _of_circle(context: ReportContext, circle: Circle) -> Claim:
    messages = context.messages(CLAIMS)
    (matter, count), *further = circle.matters
    more = messages.comma.join(messages.matter.format(matter=name, count=number) for name, number in further)
    told = messages.circle.format(
        speakers=_speakers(circle, messages),
        matter=matter,
        count=count,
        all=circle.conversations,
        period=_period(context, circle.rows, messages),
        further=messages.further.format(matters=more) if more else "",
    )
    community = _theme_of(context, circle.rows) or context.ranking.communities[0]
    cited = (circle.first,) if circle.first != circle.example else ()
    label = _speakers(circle, messages)
    return Claim(community, told, cited, messages.example, circle.example, circle.rows, label, circle.conversations)


def _speakers(circle: Circle, messages: Messages) -> str:
    names = circle.speakers
    if len(names) > _SPEAKERS + 1:
        count = len(names) if messages.lang.startswith("zh") else len(names) - _SPEAKERS
        return messages.others.format(names=messages.comma.join(names[:_SPEAKERS]), count=count)
    return messages["and"].join(filter(None, (messages.comma.join(names[:-1]), names[-1])))
