"""A query as an index reads it: its vector, its terms, the names it mentions and the keys given with it."""

from dataclasses import dataclass, field

import numpy as np

from sag_retrieval.core.errors import QueryError
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.vectors import VectorSet
from sag_retrieval.search.method import Query


@dataclass(slots=True)
class QuerySimilarity:
    """Cosines of one query vector with a table's rows; a full scan is made once and kept."""

    vectors: VectorSet
    query: Vectors
    _all: Floats | None = field(default=None, init=False)

    def all(self) -> Floats:
        """Shape (rows,)."""
        if self._all is None:
            self._all = np.asarray(self.vectors.scores(self.query), np.float64)
        return self._all

    def of(self, rows: Rows) -> Floats:
        """Cosines of some rows."""
        if self._all is not None:
            return self._all[rows]
        return np.asarray(self.vectors.scores(self.query, rows), np.float64)

    def top(self, k: int, allowed: Flags | None) -> tuple[Rows, Floats]:
        """The k most similar allowed rows, best first, and their cosines."""
        rows, scores = self.vectors.top(self.query, k, allowed)
        return rows, np.asarray(scores, np.float64)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What stages ask of a query; `terms` are term numbers with counts, `mentions` names with their keys."""

    query: Query
    vector: Vectors
    terms: dict[int, int]
    mentions: list[tuple[str, Rows]]
    given: list[tuple[str, Rows, Vectors]]
    """Keys given by the caller: text, keys of exactly this name, vector."""


def parse_query(index: Index, query: Query) -> ParsedQuery:
    """Embed and look up a query.

    Raises:
        QueryError: If it holds no word at all and no key is given.

    """
    given = [key for key in query.keys if key.strip()]
    if not query.text.strip() and not given:
        raise QueryError("the query is empty; ask with at least one word, as in `sag search 'who …'`")
    text = query.text if query.text.strip() else " ".join(given)
    vectors = index.embedder.embed([text, *given])
    mentions = index.arrays.mentions
    return ParsedQuery(
        query=query,
        vector=vectors[[0]],
        terms=index.arrays.terms.numbers(text),
        mentions=mentions.find(text),
        given=[(key, mentions.exact(key), vectors[[place]]) for place, key in enumerate(given, start=1)],
    )
