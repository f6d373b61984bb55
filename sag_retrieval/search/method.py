"""The interface of every ranking method: the query, its parsed form, and the ranking it returns."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Final, Protocol, SupportsIndex

import numpy as np

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.public import public
from sag_retrieval.core.telemetry import span
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.language.words import is_cjk
from sag_retrieval.models.protocols import Vectors, embed_queries
from sag_retrieval.release.arrays import Allowed, Index
from sag_retrieval.release.topk import kth_largest, top_k
from sag_retrieval.release.vectors import VectorSet
from sag_retrieval.search.question_words import without_question_words
from sag_retrieval.search.weights import min_max


@public
@dataclass(frozen=True, slots=True)
class PathStep:
    """One edge of a path through the knowledge graph, and the statement of a document that it comes from.

    Without a relation it is no triple: the statement names both.
    """

    head: str
    relation: str
    tail: str
    document_id: str
    event_id: str
    triple_id: str = ""

    @property
    def text(self) -> str:
        """The step as text: `A -[relation]-> B`, or `A -- B` without a relation."""
        return f"{self.head} {f'-[{self.relation}]->' if self.relation else '--'} {self.tail}"


@public
@dataclass(frozen=True, slots=True)
class HitPath:
    """A path from an entity of the question to a statement of the hit's document."""

    text: str
    """`A -[relation]-> B <-[relation]- C`; an arrow has the direction of its triple."""
    score: float
    steps: tuple[PathStep, ...]


@public
@dataclass(frozen=True, slots=True)
class GraphEvidence:
    """Paths to a document, and the triples on them that it states."""

    paths: tuple[HitPath, ...]
    triples: tuple[PathStep, ...]


_SPREAD: Final = 256
_EXACT, _EXACT_SHARE = 4_000, 50
"""Of very many chunks the best have an exact cosine: this number, or all chunks divided by the other."""
LONGEST_QUERY: Final = 20_000
LONGEST_KEY: Final = 1_000
MOST_KEYS: Final = 1_000
"""Limits of a query: characters of its text and of a key, and number of keys; parsing time grows with them."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query: the question, given keys, number of hits, and the restriction (None: none)."""

    text: str
    keys: Collection[str] = ()
    top_k: int = 10
    allowed: Allowed | None = None
    explain: bool = False
    """Whether the ranking's trace explains how each hit was found."""
    gold_documents: Collection[str] = ()
    """With `explain`: documents known to be relevant; the trace counts how many each stage kept."""

    def __post_init__(self) -> None:
        """Refuse values that are not a valid query.

        Raises:
            QueryError: If the query or a key is not valid text or too long, or there are too many keys.
        """
        check_text("query", self.text, LONGEST_QUERY)
        if isinstance(self.keys, str) or not isinstance(self.keys, Collection):
            meant = f'; did you mean ["{self.keys}"]?' if isinstance(self.keys, str) else ""
            raise QueryError(f"keys must be a list of texts, got {shown(self.keys)}{meant}")
        if len(self.keys) > MOST_KEYS:
            raise QueryError(f"{len(self.keys)} keys are given, allowed are {MOST_KEYS}")
        for key in self.keys:
            check_text("key", key, LONGEST_KEY)
        if isinstance(self.gold_documents, str):
            raise QueryError(f"gold_documents must be a list of ids, got {shown(self.gold_documents)}")
        object.__setattr__(self, "keys", tuple(self.keys))
        object.__setattr__(self, "gold_documents", tuple(self.gold_documents))
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, SupportsIndex):
            meant = f"; did you mean {self.top_k}?" if str(self.top_k).isdecimal() else ""
            raise QueryError(f"top_k must be a whole number, got {shown(self.top_k)}{meant}")


def check_text(what: str, text: object, longest: int) -> None:
    """Refuse values that are not text, have lone surrogates, or exceed `longest` characters."""
    if not isinstance(text, str):
        raise QueryError(f"a {what} must be text, got {shown(text)}")
    if len(text) > longest:
        raise QueryError(f"the {what} has {len(text):,} characters, allowed are {longest:,}; ask for less at once")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError(f"the {what} is broken text: {error.reason} at character {error.start}") from error


@dataclass(frozen=True, slots=True)
class RankedKey:
    """A key that contributed: its row, weight, the hop that found it (0: a seed key), and the reason."""

    row: int
    weight: float
    hop: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Chunks, best first, with descending scores; ties by row. `parts` has the terms of each score."""

    chunks: Rows
    scores: Floats
    keys: tuple[RankedKey, ...] = ()
    parts: Mapping[str, Floats] = field(default_factory=dict)
    trace: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[int, GraphEvidence] = field(default_factory=dict)
    """Of methods that walk the knowledge graph: what led to a chunk, by its row."""

    def first(self, count: int) -> "Ranking":
        """The same with at most `count` chunks."""
        parts = {name: part[:count] for name, part in self.parts.items()}
        return replace(self, chunks=self.chunks[:count], scores=self.scores[:count], parts=parts)


class Method(Protocol):
    """Ranks the chunks of an index for a query: a pure, deterministic function."""

    def __call__(self, index: Index, query: Query) -> Ranking:
        """Chunks for the query, usually at most `query.top_k`."""
        ...


@dataclass(slots=True)
class QuerySimilarity:
    """Cosines of one query vector with the rows of a table; a full scan is computed once."""

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


def chunk_cosines(vectors: VectorSet, query: Vectors, bm25: Floats, allowed: Flags | None) -> tuple[Floats, bool]:
    """Shape (chunks,): cosines with the query, and whether all are exact.

    Of very many chunks they are exact where a chunk may be found, and for the least like, which set the scale. For the
    others a line through the cosines of chunks spread over all tells from the likeness what the cosine is.
    """
    likeness = vectors.likeness(query)
    if likeness is None:
        return np.asarray(vectors.scores(query), np.float64), True
    spread = np.unique(np.linspace(0, len(likeness) - 1, _SPREAD).astype(np.int32))
    slope, base = np.polyfit(likeness[spread], vectors.scores(query, spread), 1) if np.ptp(likeness[spread]) else (0, 0)
    cosine = base + slope * likeness.astype(np.float64)
    alike = (min_max(cosine, allowed) + min_max(bm25, allowed)).astype(np.float32)
    unlike = 2 - likeness if allowed is None else np.where(allowed, 2 - likeness, 0)
    best, least = top_k(alike, max(_EXACT, len(alike) // _EXACT_SHARE))[0], top_k(unlike, _SPREAD)[0]
    for chosen in (np.sort(best), np.sort(least)):
        cosine[chosen] = vectors.scores(query, chosen)
    return np.maximum(cosine, cosine[least].min(initial=1.0)), False


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query parsed for an index.

    `terms` are term numbers with weights (how often each occurs), `mentions` names with their keys.
    """

    query: Query
    vector: Vectors
    terms: Mapping[int, float]
    mentions: list[tuple[str, Rows]]
    given: list[tuple[str, Rows, Vectors]]
    """Keys given by the caller: text, keys with exactly this name, vector."""


def parse_query(index: Index, query: Query) -> ParsedQuery:
    """Embed a query and look up its terms and keys."""
    given = [key for key in query.keys if key.strip()]
    if not query.text.strip() and not given:
        raise QueryError("the query is empty; ask with at least one word, as in `sag search 'who …'`")
    text = query.text if query.text.strip() else " ".join(given)
    vectors = embed_queries(index.embedder, [text, *given])
    mentions, numbers = index.arrays.mentions, index.arrays.terms.numbers
    return ParsedQuery(
        query=query,
        vector=vectors[[0]],
        terms={**numbers(without_question_words(text))} or {**numbers(text)},
        mentions=mentions.find(text),
        given=[(key, mentions.exact(key), vectors[[place]]) for place, key in enumerate(given, start=1)],
    )


def weigh_names(index: Index, reading: ParsedQuery, weight: float) -> ParsedQuery:
    """The same with the terms of mentioned names weighing more: what is asked about tells more than what is asked.

    Its names in the other script (Chinese or not), which share no letter with it, are looked for too; each weighs as
    much as the name itself.
    """
    numbers, idf = index.arrays.terms.numbers, index.arrays.chunk_text.idf
    named = {number for name, _ in reading.mentions for number in numbers(name)}
    terms = {number: count * (weight if number in named else 1.0) for number, count in reading.terms.items()}
    for name, rows in reading.mentions if weight > 1 else ():  # the first description knows no aliases in texts
        own = float(sum(idf[number] for number in numbers(name)))
        for alias in index.other_names(rows):
            others = numbers(alias) if is_cjk(alias) != is_cjk(name) else {}
            share = weight * own / float(sum(idf[number] for number in others) or 1.0)
            terms = dict.fromkeys(others, share) | terms
    return replace(reading, terms=terms)


@dataclass(slots=True)
class Stopwatch:
    """Seconds that each named stage took; time is measured, never used."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time the block that follows `with stopwatch("stage"):`."""
        start = perf_counter()
        with span(f"search.{stage}"):
            yield
        self.seconds[stage] = perf_counter() - start


def best_rows(scores: Floats, k: int, allowed: Flags | None = None) -> Rows:
    """The k best allowed rows, best first, ties by row; fewer only if fewer are allowed.

    Rows with score 0 are returned only under a restriction: if it allows three rows, all three are results.
    """
    rows = np.flatnonzero(scores > 0 if allowed is None else allowed)
    rows = rows[scores[rows] >= kth_largest(scores[rows], k)]
    return rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)].astype(np.int32)


def rank_by(
    scores: Floats,
    k: int,
    allowed: Flags | None = None,
    parts: Mapping[str, Floats] | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Ranking:
    """The ranking by scores of all chunks, with the parts of the chosen ones."""
    rows = best_rows(scores, k, allowed)
    return Ranking(
        chunks=rows,
        scores=scores[rows],
        parts={name: part[rows] for name, part in (parts or {}).items()},
        seconds=seconds or {},
    )
