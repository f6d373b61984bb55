"""Which events of a table a report can quote, and how much each is worth to a reader."""

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.statements.scorer import Judged
from sag_retrieval.statements.talk import TOLD

_SETTLED = Judged(1.0, 0.5)
"""Of a statement that was made of talk: it says who, when and what."""
_WORTH = 0.3
"""Worth from which on a statement is quoted first: 69 % of the quotable ones of the fitted half are worth a line."""
_FEW, _NEARLY = 3, 0.25
"""Statements that stand in where none can be quoted, and how quotable they have to be."""


def judged(events: EventTable, rows: Rows) -> list[Judged]:
    """What the table's scorer says of each event."""
    texts = [events.contents[row] for row in rows.tolist()]
    found = events.scorer(texts)
    return [_SETTLED if TOLD.match(text) else each for text, each in zip(texts, found, strict=True)]


def quotable(events: EventTable, rows: Rows) -> Flags:
    """Whether each event can be quoted as what is so: no plan or forecast, and nothing that many documents repeat."""
    found = np.array([each.quotable >= 1 / 2 for each in judged(events, rows)], np.bool_)
    for flags in (events.is_forecast, events.is_routine):
        if len(flags):
            found &= ~flags[rows]
    told = [TOLD.match(events.contents[row]) is not None for row in rows.tolist()]
    return np.asarray(found | np.array(told, np.bool_))


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
