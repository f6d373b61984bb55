"""The themes of a release, and which of them are nearest to a question."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import issparse

from sag_retrieval.clusters.events import EventTable
from sag_retrieval.clusters.groups import Communities, Community
from sag_retrieval.core.types import Floats
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.statements.quoting import good_rows

_DECISIVE: Final = 5
"""Most similar events of a theme whose mean is its similarity."""
_PROPER: Final = 3
_JUDGED: Final = 400
"""Events of a theme that are judged as statements."""


@dataclass(frozen=True, eq=False)
class Themes:
    """The chosen events of a release and their themes; `note` says what would make asking cheaper or better."""

    events: EventTable
    communities: Communities
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NearTheme:
    """A theme, how near it is to a question, and its events: the most similar first, then the most typical."""

    community: Community
    score: float
    rows: tuple[int, ...]


def similarities(events: EventTable, query: Vectors) -> Floats:
    """Cosine of each event with a query of one row; shape (events,)."""
    if not len(events):
        return np.zeros(0)
    product = events.vectors @ (query.T if issparse(query) else np.asarray(query).T)
    dense = product.toarray() if issparse(product) else np.asarray(product)
    return np.asarray(dense, dtype=np.float64).ravel()


def nearest_themes(themes: Themes, query: Vectors, most: int) -> list[NearTheme]:
    """The themes of at least three events nearest to a question; of equals the larger, then by id.

    Source:
        docs/algorithm.md §answers.9.

    """
    near = similarities(themes.events, query)
    found = []
    for each in themes.communities.at(0):
        if len(each.members) >= _PROPER:
            own = near[each.members]
            score = float(np.sort(own)[::-1][:_DECISIVE].mean())
            order = np.lexsort((np.arange(len(own)), -np.round(own, 9)))
            found.append(NearTheme(each, round(score, 9), tuple(each.members[order].tolist())))
    return sorted(found, key=lambda each: (-each.score, -len(each.community.members), each.community.community_id))[
        :most
    ]


def best_statements(themes: Themes, theme: NearTheme, most: int, language: str) -> list[int]:
    """Rows of the nearest events of a theme that read as statements; of a language and several documents if it can."""
    events = themes.events
    document_of = events.document
    judged = [row for row in theme.rows[:_JUDGED] if events.documents.languages[int(document_of[row])] == language]
    rows = good_rows(events, np.array(judged or theme.rows[:_JUDGED], dtype=np.int32), most).tolist()
    taken: dict[int, int] = {}
    for row in rows:
        taken.setdefault(int(document_of[row]), row)
    first = list(taken.values())[:most]
    return first + [row for row in rows if row not in first][: most - len(first)]
