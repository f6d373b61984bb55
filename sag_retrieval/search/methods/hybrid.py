"""The method `hybrid`: a weighted sum of BM25, cosine, keywords and a boost by the graph."""

import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np

from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.core.options import Bounds, CheckedOptions
from sag_retrieval.core.types import Flags, Floats
from sag_retrieval.language.words import STOP_WORDS, is_cjk, words
from sag_retrieval.models.protocols import ChatModel, kind_of
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.mapped_arrays import take_rows
from sag_retrieval.search.method import (
    Method,
    ParsedQuery,
    Query,
    QuerySimilarity,
    Ranking,
    Stopwatch,
    best_rows,
    parse_query,
    rank_by,
)
from sag_retrieval.search.methods.think_on_graph.method import SEARCH as GRAPH_SEARCH
from sag_retrieval.search.methods.think_on_graph.method import walk_release, with_walk
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, Walk
from sag_retrieval.search.options import Share
from sag_retrieval.search.rank import dense_share, mean_score, typical_length
from sag_retrieval.search.rank import fuse as fuse_texts
from sag_retrieval.search.weights import min_max

Positive = Annotated[float, Bounds(0)]

LEAST_BOOST: Final = 0.02
_POWER: Final = 1.8
_READ: Final = 1_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridOptions(CheckedOptions):
    """Weights of the parts of the score, see docs/algorithm.md §hybrid."""

    dense_weight: Share | Mapping[str, Share] | None = 0.5
    """Weight of the cosine, the rest is BM25's; or one weight per language of the question, `zh` and `en`; None: as in
    `sag`, by the embedder's kind and the length of documents."""
    keyword_boost: Positive = 0.15
    """Added for each distinct keyword of the question that the chunk contains."""
    kg_boost: Positive = 1.2
    """Strength of the graph's boost; 0: the graph is not searched."""
    graph: GraphOptions = field(default_factory=GraphOptions)
    """Options of the walk on the graph."""

    def dense_share(self, text: str) -> float | None:
        """The weight of the cosine for a question, if it is given."""
        if isinstance(self.dense_weight, Mapping):
            return self.dense_weight.get("zh" if is_cjk(text) else "en", 0.5)
        return self.dense_weight


SEARCH: Final = HybridOptions(dense_weight=None, keyword_boost=0.0, graph=replace(GRAPH_SEARCH, scale="rank"))
"""Options as a search method: texts are fused as by `sag`, without keywords, which harm long questions; the graph is
walked as by the method `think-on-graph`, and each document it reaches counts by its rank."""


@dataclass(frozen=True, slots=True, eq=False)
class RawScores:
    """Shape (chunks,) each: BM25, cosine, keyword overlap, boost of the document; and which chunks are allowed."""

    bm25: Floats
    dense: Floats
    keyword: Floats
    kg: Floats
    allowed: Flags | None = None


class HybridScores(NamedTuple):
    """Shape (chunks,) each: the scaled parts, and their sum."""

    bm25: Floats
    dense: Floats
    hybrid: Floats
    keyword: Floats
    kg: Floats
    final: Floats


def boosts(scores: Mapping[Any, float], kg_boost: float) -> dict[Any, float]:
    """The boost for chunks of each document: `0.02 + score^1.8 · (most − 0.02)`.

    most is `min(0.25, 0.15 + 0.07 · kg_boost)`. Empty for `kg_boost` 0. Source: docs/algorithm.md §hybrid.3.
    """
    if kg_boost <= 0:
        return {}
    most = min(0.25, 0.15 + 0.07 * kg_boost)
    return {
        document: LEAST_BOOST + min(1.0, max(0.0, score)) ** _POWER * (most - LEAST_BOOST)
        for document, score in scores.items()
    }


def keywords(query: str, shortest: int = 3, stop_words: AbstractSet[str] = STOP_WORDS) -> tuple[str, ...]:
    """Distinct words of a question, without stop words and short Latin words; Chinese by single characters."""
    found = dict.fromkeys(words(query))
    return tuple(w for w in found if w not in stop_words and (is_cjk(w) or len(w) >= shortest))


def keyword_overlap(found: Sequence[str], texts: Sequence[str]) -> Floats:
    """How many of the keywords each text contains, also inside words. Source: docs/algorithm.md §hybrid.2."""
    lowered = [text.lower() for text in texts]
    return np.array([sum(word in text for word in found) for text in lowered], np.float64)


def fuse(raw: RawScores, options: HybridOptions, *, share: float) -> HybridScores:
    """All parts and their sum, `share` being the weight of the cosine (docs/algorithm.md §hybrid.4)."""
    lexical, likeness = min_max(raw.bm25, raw.allowed), min_max(raw.dense, raw.allowed)
    hybrid = fuse_texts(lexical, likeness, share)
    keyword = options.keyword_boost * raw.keyword
    return HybridScores(lexical, likeness, hybrid, keyword, raw.kg, hybrid + raw.kg + keyword)


def hybrid_method(
    options: HybridOptions = SEARCH,
    *,
    chat: ChatModel | None = None,
    home: Path | None = None,
) -> Method:
    """Ranks chunks by BM25, cosine, keywords and the graph's boost of their document.

    If the graph fails, there is no boost, and the trace has the reason. If the sum is 0 for every chunk, as in a
    release of one chunk, the text scores rank.
    """

    def rank(index: Index, query: Query) -> Ranking:
        stopwatch = Stopwatch()
        with stopwatch("read"):
            reading = parse_query(index, query)
        with stopwatch("text"):
            text = _text_scores(index, reading)
        share = _share(index, query.text, text, options)
        mean = mean_score(text.bm25, text.dense, text.allowed)
        with stopwatch("graph"):
            boost, found, failures = _graph_boost(index, reading, options, mean, chat, home)
        boosted = replace(text, kg=boost[index.arrays.chunk_document])
        with stopwatch("keywords"):
            raw = _with_keywords(index, reading, boosted, options, share)
        with stopwatch("fuse"):
            fusion = fuse(raw, options, share=share)
        scores = fusion.final if (fusion.final > 0).any() else mean
        ranking = rank_by(scores, query.top_k, raw.allowed, fusion._asdict(), stopwatch.seconds)
        if found is None:
            return replace(ranking, trace={"graph": {"failures": failures}} if failures else {})
        return with_walk(ranking, index, home, query.text, found, options.graph)

    return rank


def _graph_boost(
    index: Index,
    reading: ParsedQuery,
    options: HybridOptions,
    text: Floats,
    chat: ChatModel | None,
    home: Path | None,
) -> tuple[Floats, Walk | None, list[str]]:
    """Shape (documents,): the boost of each document's chunks; the walk, or why there is none."""
    boost = np.zeros(index.arrays.document_count)
    if options.kg_boost <= 0:
        return boost, None, []
    try:
        found = walk_release(index, reading, options.graph, text, chat=chat, home=home)
    except ReleaseError:  # without the boost the answer would change silently
        raise
    except Exception as error:  # noqa: BLE001  a missing boost must not fail the search
        _log.warning("no boost by the graph: %s", error)
        return boost, None, [str(error)]
    added = boosts({document.document: document.score for document in found.documents}, options.kg_boost)
    boost[list(added)] = list(added.values())
    return boost, found, []


def _text_scores(index: Index, reading: ParsedQuery) -> RawScores:
    """BM25 and cosine of all chunks; the other parts are 0."""
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    bm25 = index.arrays.chunk_text.scores(reading.terms)
    dense = QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all()
    return RawScores(bm25, dense, np.zeros(len(bm25)), np.zeros(len(bm25)), allowed)


def _share(index: Index, question: str, text: RawScores, options: HybridOptions) -> float:
    given = options.dense_share(question)
    if given is not None:
        return given
    length = typical_length(index.arrays, mean_score(text.bm25, text.dense, text.allowed))
    return dense_share(kind_of(index.embedder), length)


def _with_keywords(
    index: Index, reading: ParsedQuery, raw: RawScores, options: HybridOptions, share: float
) -> RawScores:
    wanted = keywords(reading.query.text)
    if not wanted or not options.keyword_boost:
        return raw
    best = best_rows(fuse(raw, options, share=share).final, _READ, raw.allowed)
    overlap = np.zeros(len(raw.bm25))
    overlap[best] = keyword_overlap(wanted, take_rows(index.rows["chunks"].select(["text"]), best)["text"].to_pylist())
    return replace(raw, keyword=overlap)
