"""The statements of themes that answer a question about all documents: by its words, their classes, and likeness."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sag_retrieval.ask.asked_words import AskedWord
from sag_retrieval.communities.events import EventTable, Rows
from sag_retrieval.communities.groups import Community
from sag_retrieval.communities.statements import fault_counts
from sag_retrieval.core.types import Floats
from sag_retrieval.findings.themes import NearTheme
from sag_retrieval.text.words import fold, tokens

_LEAST: Final = 0.5
"""Weighted share of the question's words that a statement holds, to answer it."""
_WHOLE: Final = 0.9
_ENOUGH: Final = 3
"""Where this number of statements hold what is asked as a whole, those that hold less are left out."""
_READ: Final = 400
"""Events that are read word by word, those first that seem to hold most."""
_JUDGED: Final = 16
"""Those of a theme that hold most, judged as statements: the ones that do not say who come last."""
_MOST: Final = 6
_OF_A_THEME: Final = 2
_OF_A_DOCUMENT: Final = 2
_ALIKE: Final = 0.6
"""Common share of the terms of two statements that say the same."""


@dataclass(frozen=True, slots=True)
class ThemeStatements:
    """A theme, and the rows of its events that are quoted, the best first."""

    community: Community
    rows: tuple[int, ...]


def answering_statements(
    events: EventTable, near: Sequence[NearTheme], asked: Sequence[AskedWord], likeness: Floats, language: str
) -> tuple[ThemeStatements, ...]:
    """The statements of themes that hold at least half of what is asked, by theme; none where no statement does.

    Args:
        events: Those of the themes.
        near: The themes.
        asked: The words of the question.
        likeness: Of each event with the question and its words; shape (events,).
        language: That of the question: statements in it come first, others only where there are none.

    Source:
        docs/algorithm.md §answers.9.

    """
    theme_of = {row: place for place, each in enumerate(near) for row in each.rows}
    rows = np.array(sorted(theme_of), np.int32)
    is_own = np.array([events.documents.languages[one] == language for one in events.document[rows].tolist()], np.bool_)
    for part in (rows[is_own], rows[~is_own]):
        scored = _scored(events, part, asked, likeness)
        whole = _chosen(events, _quotable(events, [each for each in scored if each[0] <= -_WHOLE], theme_of), theme_of)
        found = whole if len(whole) >= _ENOUGH else _chosen(events, _quotable(events, scored, theme_of), theme_of)
        if found:
            places = dict.fromkeys(theme_of[row] for row in found)
            return tuple(
                ThemeStatements(near[place].community, tuple(row for row in found if theme_of[row] == place))
                for place in places
            )
    return ()


def _scored(
    events: EventTable, rows: Rows, asked: Sequence[AskedWord], likeness: Floats
) -> list[tuple[float, float, int]]:
    """Share of what is asked and likeness, both negative, and the row of events that hold enough: the best first."""
    total = sum(each.weight for each in asked) or 1.0
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
        held = sum(each.weight * each.held_by(folded[place], terms, types[place]) for each in asked) / total
        if held >= _LEAST:
            scored.append((-round(held, 6), -round(float(likeness[rows[place]]), 9), int(rows[place])))
    return sorted(scored)


def _quotable(events: EventTable, scored: Sequence[tuple[float, float, int]], theme_of: Mapping[int, int]) -> list[int]:
    """The rows that read as statements, of the first ones of each theme; those that do not say who come last."""
    counted: dict[int, int] = {}
    first: list[int] = []
    for *_, row in scored:
        counted[theme_of[row]] = counted.get(theme_of[row], 0) + 1
        if counted[theme_of[row]] <= _JUDGED:
            first.append(row)
    rows = np.array(first, np.int32)
    faults = fault_counts(events, rows) if first else np.zeros(0)
    return [int(row) for row in (*rows[faults == 0].tolist(), *rows[(faults > 0) & (faults < 1)].tolist())]


def _types(events: EventTable, rows: Rows) -> list[frozenset[str]]:
    """The types of the keys of each event."""
    kinds = events.keys.types
    starts = np.searchsorted(events.links.event, np.stack([rows, rows + 1]))
    keys = events.links.key
    return [frozenset(kinds[key] for key in keys[a:b].tolist()) for a, b in zip(*starts.tolist(), strict=True)]


def _chosen(events: EventTable, ranked: Sequence[int], theme_of: Mapping[int, int]) -> list[int]:
    """The first of them that say different things, a few of each theme and document."""
    chosen: list[int] = []
    said: list[frozenset[str]] = []
    themes: dict[int, int] = {}
    documents: dict[int, int] = {}
    document_of = events.document
    for row in ranked:
        theme, document = theme_of[row], int(document_of[row])
        terms = frozenset(tokens(events.contents[row]))
        is_new = all(len(terms & other) < _ALIKE * len(terms | other) for other in said)
        if is_new and themes.get(theme, 0) < _OF_A_THEME and documents.get(document, 0) < _OF_A_DOCUMENT:
            chosen.append(row)
            said.append(terms)
            themes[theme] = themes.get(theme, 0) + 1
            documents[document] = documents.get(document, 0) + 1
        if len(chosen) == _MOST:
            break
    return chosen
