"""Score statements: how likely a reader understands one alone, and how likely it is worth a line of a report.

The scorer is a seam: another package adds one as an entry point of the group `sag.statement_scorers`, a report takes it
by name (`statement_scorer`). The one here is a logistic model of eleven features of the characters, fitted on judged
statements by `python benchmarks/judged.py quotes`.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

import numpy as np

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.core.plugins import Seam
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.language.words import is_cjk
from sag_retrieval.statements.form import is_figures, refers_back

_SHORT, _SHORT_CJK = 6, 12
"""Words, and Chinese characters, of a statement that is hardly a sentence."""


_LONGEST, _LONGEST_CJK = 500, 220
"""Characters of a statement that a reader takes in as one line of a report."""


class Judged(NamedTuple):
    """What a scorer says of a statement."""

    quotable: float
    """Probability that a reader understands it without what stands around it; from one half on it is quoted."""
    worth: float
    """Probability that it is worth a line of a report; orders what is quoted."""
    reason: str = ""
    """What lowers `quotable` most; empty where it is one half or more."""


class StatementScorer(Protocol):
    """Scores statements, each by its text alone."""

    def __call__(self, sentences: Sequence[str]) -> Sequence[Judged]:
        """One judgement for each sentence, in their order; the same for the same sentence."""
        ...


FEATURES: Final = tuple(
    "short, figure, digits, capitals, stop, label, separators, chinese, refers back, figures, exclaims".split(", ")
)
"""Names of the features, which are reasons that are given; the others are `start` and `length`."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A bias and a weight for each feature, as `benchmarks/judged.py quotes` prints them."""

    bias: float
    of: tuple[float, ...]


QUOTABLE: Final = Weights(-1.307, (-1.642, 1.214, -3.607, -6.063, 2.496, -0.401, -0.04, 0.463, -2.881, -1.369, -1.401))
WORTH: Final = Weights(-3.051, (-1.888, 1.765, 1.309, -3.778, 2.052, -0.531, -0.929, -0.108, -1.704, -0.752, -1.768))


def features(text: str) -> tuple[float, ...]:
    """The features of a statement, in the order of `FEATURES`."""
    bare, is_chinese = text.strip(), is_cjk(text)
    letters = [each for each in bare if each.isalpha()]
    digits = sum(map(str.isdigit, bare))
    size = len(letters) if is_chinese else len(bare.split())
    return (
        float(size < (_SHORT_CJK if is_chinese else _SHORT)),
        float(digits > 0),
        digits / max(len(bare), 1),
        sum(map(str.isupper, letters)) / max(len(letters), 1),
        float(bare.rstrip("\"'”’)）」").endswith((".", "!", "。", "！"))),
        float(":" in bare[:40] or "：" in bare[:20]),
        float(min(3, sum(map(bare.count, "|;；")))),
        float(is_chinese),
        float(refers_back(bare)),
        float(is_figures(bare)),
        float("!" in bare or "！" in bare),
    )


@lru_cache(maxsize=1 << 15)
def _judged(text: str) -> Judged:
    """The judgement, kept: topics, their order, findings and articles ask about the same sentences."""
    bare, found = text.strip(), features(text)
    quotable, worth = (_probability(weights, found) for weights in (QUOTABLE, WORTH))
    if bare[:1].islower() or len(bare) > (_LONGEST_CJK if is_cjk(bare) else _LONGEST):
        return Judged(0.0, 0.0, "start" if bare[:1].islower() else "length")
    lowered = min(range(len(found)), key=lambda place: QUOTABLE.of[place] * (found[place] - _USUAL[place]))
    return Judged(quotable, worth, "" if quotable >= 1 / 2 else FEATURES[lowered])


_USUAL: Final = tuple(float(name in {"figure", "stop"}) for name in FEATURES)
"""The features of a plain statement: a sentence with a figure, and nothing else."""


def _probability(weights: Weights, found: Sequence[float]) -> float:
    total = weights.bias + math.fsum(weight * value for weight, value in zip(weights.of, found, strict=True))
    return round(1 / (1 + math.exp(-total)), 6)


def by_features(sentences: Sequence[str]) -> list[Judged]:
    """Score statements by the logistic model of their features.

    Examples:
        >>> plain, back = by_features(["Marlow Seals delivered 400 O-rings in May 2022.", "However, it rose!"])
        >>> plain.quotable > 0.5 > back.quotable
        True
    """
    return [_judged(each) for each in sentences]


SCORERS: Final = Seam[StatementScorer]("sag.statement_scorers", "statement_scorer", "sentences", features=by_features)
"""Scorers by name."""


WORTHY = 0.3
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


def understood(events: EventTable, rows: Rows) -> Flags:
    """Whether a reader understands each event alone, and it is nothing that many documents repeat; plans included."""
    found = np.array([each.quotable >= 1 / 2 for each in judged(events, rows)], np.bool_)
    flags = events.is_boilerplate if isinstance(events, QuotableEvents) else ()
    return found & ~np.asarray(flags)[rows] if len(flags) else found


def quotable(events: EventTable, rows: Rows) -> Flags:
    """Whether each event can be quoted as what is so: it is understood alone, and no plan or forecast."""
    found = understood(events, rows)
    return found & ~np.asarray(events.is_forecast)[rows] if len(events.is_forecast) else found


def worth(events: EventTable, rows: Rows) -> Floats:
    """How likely each event is worth a line of a report; 0 to 1."""
    return np.array([each.worth for each in judged(events, rows)], np.float64)


def worth_quoting(events: EventTable, rows: Rows) -> Flags:
    """Whether each event can be quoted and is likely enough worth a line."""
    return np.asarray(quotable(events, rows) & (worth(events, rows) >= WORTHY))


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
