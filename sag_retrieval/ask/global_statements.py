"""The statements of themes that answer a question about all documents: by its words, their classes, and likeness."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from sag_retrieval.ask.asked_words import AskedWord, share_held
from sag_retrieval.ask.question import AnswerKind, question_parts
from sag_retrieval.ask.values import states, states_unit
from sag_retrieval.clusters.events import EventTable, Rows
from sag_retrieval.clusters.groups import Community
from sag_retrieval.core.types import Floats
from sag_retrieval.language.words import fold, tokens
from sag_retrieval.llm_writing.themes import NearTheme
from sag_retrieval.statements.form import refers_back
from sag_retrieval.statements.quoting import judged, quotable, worth

LEAST: Final = 0.5
"""Weighted share of the question's words that a statement holds, to answer it."""
LEAST_NEAR: Final = 0.15
"""To be among the nearest where none answers."""
_WHOLE: Final = 0.9
_ENOUGH: Final = 3
"""Where this number of statements hold what is asked as a whole, those that hold less are left out."""
_READ: Final = 400
"""Events that are read word by word, those first that seem to hold most."""
_JUDGED: Final = 40
"""Those of a theme that hold most, judged as statements."""
_VAGUE: Final = 0.7
"""Factor of a statement that is surely not worth a line."""
_OF_BEST: Final = 0.75
"""Share of the best statement's rank that the others have."""
_OTHER_KIND: Final = 0.75
"""Factor of a statement without a value of the kind that is asked for."""
_VALUED: Final[frozenset[AnswerKind]] = frozenset({"name", "date", "duration", "number", "reason"})
"""Kinds of answers that a statement states or does not."""
_CONNECTIVE: Final = re.compile(
    r"(?:接着|此外|另外|同时|其次|随后|然后|首先|最后)[，,]"
    r"|(?:in addition|additionally|moreover|furthermore|also|then|finally|meanwhile|first|second),\s",
    re.IGNORECASE,
)
_MOST: Final = 6
_OF_A_THEME: Final = 4
_OF_A_DOCUMENT: Final = 2
_NEARLY: Final = 0.25
"""What a statement has to score that comes after those that can be quoted."""
_ALIKE: Final = 0.6
"""Common share of the terms of two statements that say the same."""


class _Scored(NamedTuple):
    """An event in order: how well it answers and its likeness, both negative, its row, and the share it holds."""

    rank: float
    likeness: float
    row: int
    held: float
    is_full: bool
    """Whether it holds what is asked as a whole and states the kind of value that is asked for."""


@dataclass(frozen=True, slots=True)
class ThemeStatements:
    """A theme, and the rows of its events that are quoted, the best first."""

    community: Community
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What a question asks the themes for: its words, the kinds of value that it expects, its language."""

    words: Sequence[AskedWord]
    likeness: Floats
    """Of each event with the question and its words; shape (events,)."""
    language: str
    """Statements in it come first, others only where there are none."""
    question: str = ""
    least: float = LEAST
    """Share of the weight of the words that a statement holds."""

    def is_stated_by(self, text: str) -> bool:
        """Whether a text states a value of each kind that the question expects."""
        parts = [part for part in question_parts(self.question) if part.kind in _VALUED]
        return all(states(part.kind, text, self.question) and states_unit(part.unit, text) for part in parts)


def answering_statements(events: EventTable, near: Sequence[NearTheme], wanted: Wanted) -> tuple[ThemeStatements, ...]:
    """The statements of themes that hold enough of what is asked, by theme; none where no statement does.

    Source:
        docs/algorithm.md §answers.9.

    """
    theme_of = {row: place for place, each in enumerate(near) for row in each.rows}
    rows = np.array(sorted(theme_of), np.int32)
    is_own = np.array(
        [events.documents.languages[one] == wanted.language for one in events.document[rows].tolist()], np.bool_
    )
    for part in (rows[is_own], rows[~is_own]):
        scored = _scored(events, part, wanted)
        near_best = [each for each in scored if each.rank <= _OF_BEST * scored[0].rank]
        found: list[int] = []
        for tier in ([each for each in scored if each.is_full], near_best, scored):
            if len(found) < _ENOUGH:
                found = _chosen(events, _quotable(events, tier, theme_of), theme_of)
        if found:
            places = dict.fromkeys(theme_of[row] for row in found)
            return tuple(
                ThemeStatements(near[place].community, tuple(row for row in found if theme_of[row] == place))
                for place in places
            )
    return ()


def _scored(events: EventTable, rows: Rows, wanted: Wanted) -> list[_Scored]:
    """The events that hold enough of what is asked, those that answer best first."""
    asked, likeness = wanted.words, wanted.likeness
    types = _types(events, rows)
    seeming = np.zeros(len(rows))
    folded = [fold(events.contents[row]) for row in rows.tolist()]
    for each in asked:
        beginnings = (*each.beginnings(), *each.kin_cjk)
        seeming += each.weight * np.array(
            [
                any(word in text for word in beginnings) or bool(each.types & own)
                for text, own in zip(folded, types, strict=True)
            ],
            dtype=np.float64,
        )
    order = np.lexsort((rows, -np.round(likeness[rows], 9), -seeming))
    scored = []
    for place in order[:_READ].tolist():
        terms = frozenset(tokens(events.contents[rows[place]]))
        held = share_held(asked, folded[place], terms, types[place])
        if held >= wanted.least:
            text = events.contents[rows[place]]
            is_of_kind = wanted.is_stated_by(text)
            told = float(worth(events, rows[place : place + 1])[0])
            rank = held * (1.0 if is_of_kind else _OTHER_KIND) * (_VAGUE + (1 - _VAGUE) * told)
            near = round(float(likeness[rows[place]]), 9)
            scored.append(_Scored(-round(rank, 6), -near, int(rows[place]), held, held >= _WHOLE and is_of_kind))
    return sorted(scored)


def _quotable(events: EventTable, scored: Sequence[_Scored], theme_of: Mapping[int, int]) -> list[int]:
    """The rows that can be quoted, of the first ones of each theme; those that nearly can come last."""
    counted: dict[int, int] = {}
    first: list[int] = []
    for row in (each.row for each in scored):
        counted[theme_of[row]] = counted.get(theme_of[row], 0) + 1
        if counted[theme_of[row]] <= _JUDGED:
            first.append(row)
    rows = np.array(first, np.int32)
    good = quotable(events, rows) | np.array([_only_connects(events.contents[row]) for row in first], np.bool_)
    nearly = np.array([each.quotable >= _NEARLY for each in judged(events, rows)], np.bool_)
    return [int(row) for row in (*rows[good].tolist(), *rows[nearly & ~good].tolist())]


def _only_connects(text: str) -> bool:
    """Whether a statement refers back by its first word alone: `此外，` says nothing that another sentence explains."""
    opening = _CONNECTIVE.match(text)
    return opening is not None and not refers_back(text[opening.end() :])


def _types(events: EventTable, rows: Rows) -> list[frozenset[str]]:
    """The types of the keys of each event."""
    kinds = events.keys.types
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1]))
    keys = events.links.key
    return [frozenset(kinds[key] for key in keys[a:b].tolist()) for a, b in zip(*starts.tolist(), strict=True)]


def _chosen(events: EventTable, ranked: Sequence[int], theme_of: Mapping[int, int]) -> list[int]:
    """The first of them that say different things, a few of each theme; a second one of a document after all firsts."""
    chosen: list[int] = []
    said: list[frozenset[str]] = []
    themes: Counter[int] = Counter()
    documents: Counter[int] = Counter()
    for most in range(1, _OF_A_DOCUMENT + 1):
        for row in ranked:
            theme, document = theme_of[row], int(events.document[row])
            if len(chosen) == _MOST or themes[theme] >= _OF_A_THEME or documents[document] >= most:
                continue
            terms = frozenset(tokens(events.contents[row]))
            if all(len(terms & other) < _ALIKE * len(terms | other) for other in said):
                chosen.append(row)
                said.append(terms)
                themes[theme] += 1
                documents[document] += 1
    return sorted(chosen, key=ranked.index)
