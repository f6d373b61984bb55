"""Which events of a table a report can quote, and how much each is worth to a reader."""

from collections import defaultdict
from dataclasses import dataclass, field, fields

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.statements.scorer import Judged, StatementScorer, by_features

_WORTH = 0.3
"""Worth from which on a statement is quoted first: 69 % of the quotable ones of the fitted half are worth a line."""
_FEW, _NEARLY = 3, 0.25
"""Statements that stand in where none can be quoted, and how quotable they have to be."""
_OFTEN = 3
"""Documents that say a sentence with other names, from which on it is boilerplate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotableEvents(EventTable):
    """Events with what tells which of them can be quoted; a plain table is judged by the default scorer."""

    scorer: StatementScorer = by_features
    is_boilerplate: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each event, whether three documents say the same of other names; empty where none is."""

    @classmethod
    def of(cls, events: EventTable, scorer: StatementScorer | None = None) -> "QuotableEvents":
        """The same events, with a scorer (None: the one they have, else the default) and with boilerplate marked."""
        own = {each.name: getattr(events, each.name) for each in fields(EventTable)}
        return cls(**own, scorer=scorer or _scorer(events), is_boilerplate=boilerplate(events))


def boilerplate(events: EventTable) -> Flags:
    """Whether at least three documents say the sentence of each event, with other names in it; empty if none does.

    Figures stay: sentences that differ in an amount are not the same.
    """
    names: dict[int, list[str]] = defaultdict(list)
    for row, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        names[row] += events.keys.names_of(key) if events.keys.can_name(key) else ()
    said: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(events.contents):
        for name in sorted(names[row], key=len, reverse=True):
            text = text.replace(name, "\0")  # noqa: PLW2901
        if "\0" in text:
            said[text].append(row)
    found, document = np.zeros(len(events), np.bool_), events.document
    for rows in said.values():
        if len(rows) >= _OFTEN and len(np.unique(document[rows])) >= _OFTEN:
            found[rows] = True
    return found if found.any() else np.zeros(0, np.bool_)


def judged(events: EventTable, rows: Rows) -> list[Judged]:
    """What the scorer says of each event."""
    return list(_scorer(events)([events.contents[row] for row in rows.tolist()]))


def quotable(events: EventTable, rows: Rows) -> Flags:
    """Whether each event can be quoted as what is so: no plan or forecast, and nothing that many documents repeat."""
    found = np.array([each.quotable >= 1 / 2 for each in judged(events, rows)], np.bool_)
    for flags in (events.is_forecast, events.is_boilerplate if isinstance(events, QuotableEvents) else ()):
        if len(flags):
            found &= ~np.asarray(flags)[rows]
    return found


def worth(events: EventTable, rows: Rows) -> Floats:
    """How likely each event is worth a line of a report; 0 to 1."""
    return np.array([each.worth for each in judged(events, rows)], np.float64)


def worth_quoting(events: EventTable, rows: Rows) -> Flags:
    """Whether each event can be quoted and is likely enough worth a line."""
    return np.asarray(quotable(events, rows) & (worth(events, rows) >= _WORTH))


def good_rows(events: EventTable, rows: Rows, least: int) -> Rows:
    """The rows that are worth quoting, in their order.

    Where they are fewer than `least`, the others that can be quoted fill up, those most worth it first; where there are
    none, at most three that nearly can.
    """
    good, able = worth_quoting(events, rows), quotable(events, rows)
    value = worth(events, rows)
    if not able.any() and len(rows):
        score = np.array([each.quotable for each in judged(events, rows)])
        able, value, least = score >= _NEARLY, score, min(least, _FEW)
    more = np.flatnonzero(able & ~good)
    order = more[np.lexsort((more, -value[more]))][: max(0, least - int(good.sum()))]
    return np.asarray(rows[np.sort(np.concatenate([np.flatnonzero(good), order]))])


def _scorer(events: EventTable) -> StatementScorer:
    return events.scorer if isinstance(events, QuotableEvents) else by_features
