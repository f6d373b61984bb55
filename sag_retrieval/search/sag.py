"""The method `sag` and its baselines, with the trace that explains a search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.models.local import open_cross_encoder
from sag_retrieval.models.protocols import kind_of
from sag_retrieval.release.arrays import Index
from sag_retrieval.search.expand import Expansion, WeightedKeys, expand, propagate
from sag_retrieval.search.explain import explain_hit, held_words
from sag_retrieval.search.hits import count_stage, key_of
from sag_retrieval.search.method import (
    Method,
    ParsedQuery,
    Query,
    QuerySimilarity,
    RankedKey,
    Ranking,
    Stopwatch,
    parse_query,
    rank_by,
    weigh_names,
)
from sag_retrieval.search.options import SAG, SearchOptions
from sag_retrieval.search.rank import ChunkScores, TextRoute, add_bridges, rank, read_texts, walk_trust
from sag_retrieval.search.weights import links_from, look_up

POOL: Final = 30
"""Chunks that are read again: a pair takes tens of milliseconds of a small model, so this costs a second; the chunks
that `coverage` reorders are as many."""


def reranked(method: Method, model: str) -> Method:
    """The method with its best chunks in the order of a cross-encoder, such as `fastembed:<name or folder>`.

    Scores stay the method's own, in descending order: those of a cross-encoder have no scale that models share. Ties
    keep the method's order.
    """

    def both(index: Index, query: Query) -> Ranking:
        found = method(index, replace(query, top_k=max(query.top_k, POOL)))
        pool = found.chunks[:POOL]
        texts = index.rows["chunks"]["text"].take(pool).to_pylist()
        relevance = np.asarray(open_cross_encoder(model)([(query.text, text) for text in texts]), np.float64)
        order = np.arange(len(found.chunks))
        order[: len(pool)] = np.argsort(-relevance, kind="stable")
        parts = {name: part[order] for name, part in found.parts.items()}
        return replace(found, chunks=found.chunks[order], parts=parts).first(query.top_k)

    return both


@dataclass(frozen=True, slots=True, eq=False)
class SearchState:
    """All intermediate results of one search."""

    index: Index
    reading: ParsedQuery
    expansion: Expansion
    hops: Sequence[WeightedKeys]
    scores: ChunkScores


def make_ranking(search: SearchState, seconds: Mapping[str, float]) -> Ranking:
    """The ranking, its keys by descending weight, and with `explain` its trace."""
    query, scores = search.reading.query, search.scores
    parts = {name: getattr(scores, name) for name in ("pagerank", "text", "named", "bridge", "coverage")}
    parts |= {"cosine": scores.route.cosine, "bm25": scores.route.bm25}
    allowed = query.allowed.chunks if query.allowed else None
    ranking = rank_by(scores.final, query.top_k, allowed, parts, seconds)
    ranking = with_exact_cosines(ranking, search.index, search.reading, scores.route)
    trace = explain(search, ranking.chunks) if query.explain else {}
    return replace(ranking, keys=ranked_keys(search), trace=trace)


def with_exact_cosines(ranking: Ranking, index: Index, reading: ParsedQuery, route: TextRoute) -> Ranking:
    """The same with the exact cosine of each hit, also of one that was found by other signs."""
    if route.is_exact:
        return ranking
    cosine = index.arrays.vectors["chunks"].scores(reading.vector, ranking.chunks)
    return replace(ranking, parts={**ranking.parts, "cosine": cosine.astype(np.float64)})


def ranked_keys(search: SearchState) -> tuple[RankedKey, ...]:
    """Seed keys (hop 0) and final keys, each once: by hop, then by descending weight, ties by row."""
    seeds, final = search.expansion.seeds, search.hops[-1]
    reasons = search.expansion.reasons
    found = {
        row: RankedKey(row, weight, 0, reasons[row])
        for row, weight in zip(seeds.rows.tolist(), seeds.weights.tolist(), strict=True)
    }
    has_seeds = bool(found)
    columns = final.rows.tolist(), final.weights.tolist(), final.hops.tolist()
    for row, weight, hop in zip(*columns, strict=True):
        seed = found.get(row)
        found[row] = (
            RankedKey(row, weight, 0, seed.reason) if seed else RankedKey(row, weight, hop, _reached(hop, has_seeds))
        )
    return tuple(sorted(found.values(), key=lambda key: (key.hop, -key.weight, key.row)))


def _reached(hop: int, has_seeds: bool) -> str:  # noqa: FBT001  internal
    """Why a key took part that the query neither names nor resembles."""
    if hop > 1:
        return f"in an event with a key of hop {hop - 1}"
    return "in an event with a seed key" if has_seeds else "in an event like the query"


def explain(search: SearchState, hits: Rows) -> dict[str, Any]:
    """Seed keys with reasons, keys per hop, candidates per stage and the path to each hit, as plain values."""
    seeds = [key for key in ranked_keys(search) if key.hop == 0]
    return {
        "seeds": [key_of(search.index, key.row) | {"weight": key.weight, "reason": key.reason} for key in seeds],
        "hops": [_hop(search, number) for number in range(len(search.hops))],
        "stages": _stages(search, hits),
        "hits": [way_to(search, int(chunk)) for chunk in hits],
        "chunks_per_document": search.scores.route.chunks_per_document,
        "trust": search.scores.trust,
        "embedder": kind_of(search.index.embedder),
        "dense_share": search.scores.route.dense_share,
    }


def _hop(search: SearchState, number: int) -> dict[str, Any]:
    keys = search.hops[number]
    gained = np.flatnonzero(keys.hops == number + 1)
    order = gained[np.lexsort((keys.rows[gained], -keys.weights[gained]))]
    events, allowed = search.expansion.events, search.reading.query.allowed
    if number:
        before = search.hops[number - 1].rows
        events = links_from(search.index.arrays.key_events, before, allowed.events if allowed else None)[1]
    found = [key_of(search.index, int(keys.rows[place])) | {"weight": float(keys.weights[place])} for place in order]
    return {"hop": number + 1, "events": len(events), "keys_gained": found}


def _stages(search: SearchState, hits: Rows) -> list[dict[str, Any]]:
    arrays, expansion = search.index.arrays, search.expansion
    chunks_of_keys = links_from(arrays.key_chunks, search.hops[-1].rows, None)[1]
    bridges = search.scores.bridges
    stages = {
        "events that carry a seed key": arrays.event_chunk[expansion.events],
        "chunks with a final key": chunks_of_keys,
        "candidates": search.scores.candidates,
        "reached by a bridge": bridges.ends if bridges else np.zeros(0, np.int32),
        "hits": hits,
    }
    return [count_stage(search.index, search.reading.query, name, chunks) for name, chunks in stages.items()]


def way_to(search: SearchState, chunk: int) -> dict[str, Any]:
    """Query → seed key → event → key → chunk, or a bridge from another hit, and why; empty steps are omitted."""
    rows, title = search.index.rows, ""
    way: dict[str, Any] = {"chunk_id": rows["chunks"]["chunk_id"][chunk].as_py()}
    bridges = search.scores.bridges
    if bridges is not None and chunk in bridges.ends:
        place = int(np.searchsorted(bridges.ends, chunk))
        way["bridge"] = {
            "from_chunk_id": rows["chunks"]["chunk_id"][int(bridges.starts[place])].as_py(),
            "over": key_of(search.index, int(bridges.keys[place])),
        }
        start, end = search.index.arrays.chunk_document[[int(bridges.starts[place]), chunk]].tolist()
        way["bridge"]["is_beside"] = start == end
        title = rows["documents"]["title"][start].as_py()
    final = search.hops[-1]
    own = search.index.arrays.chunk_keys.row(chunk)
    weights = look_up(final.rows, final.weights, own)
    if weights.any():
        key = int(own[int(np.argmax(weights))])
        way["key"] = key_of(search.index, key)
        way |= _event_towards(search, key)
    question = search.reading.query.text
    words = held_words(search.index.arrays, question, chunk)
    return way | {"why": explain_hit(way, question, title, words)}


def _event_towards(search: SearchState, key: int) -> dict[str, Any]:
    """The event of stage 1 with the highest weight that has the key, and its highest seed key."""
    arrays, expansion = search.index.arrays, search.expansion
    carrying = np.flatnonzero(np.isin(expansion.events, arrays.key_events.row(key)))
    if not len(carrying):
        return {}
    place = carrying[int(np.argmax(expansion.event_weights[carrying]))]
    event = int(expansion.events[place])
    others = arrays.event_keys.row(event)
    weights = look_up(expansion.seeds.rows, expansion.seeds.weights, others)
    found: dict[str, Any] = {"event_id": search.index.rows["events"]["event_id"][event].as_py()}
    if weights.any():
        seed = int(others[int(np.argmax(weights))])
        found["seed_key"] = key_of(search.index, seed) | {"reason": expansion.reasons[seed]}
    return found


def search_method(options: SearchOptions) -> Method:
    """Graph search with these options, as a method."""

    def method(index: Index, query: Query) -> Ranking:
        return search(index, query, options)

    return reranked(method, options.rerank) if options.rerank else method


def search(index: Index, query: Query, options: SearchOptions) -> Ranking:
    """The chunks that answer a query: query → (key ↔ event) → chunk. Source: docs/algorithm.md §search."""
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = weigh_names(index, parse_query(index, query), options.formula.named_weight)
    with stopwatch("expand"):
        expansion = expand(index, reading, options)
    with stopwatch("hop"):
        hops = propagate(index, reading, expansion.keys, options)
    trust = walk_trust(index, reading, expansion.seeds, options)
    with stopwatch("rank"):
        scores = rank(index, reading, hops[-1], trust, options)
    return make_ranking(SearchState(index, reading, expansion, hops, scores), stopwatch.seconds)


def dense(index: Index, query: Query) -> Ranking:
    """Chunks by the cosine of their vector with the query's."""
    return _by_one(
        index, query, "cosine", lambda reading: QuerySimilarity(index.arrays.vectors["chunks"], reading.vector).all()
    )


def bm25(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 of their indexed text."""
    return _by_one(index, query, "bm25", lambda reading: index.arrays.chunk_text.scores(reading.terms))


def _by_one(index: Index, query: Query, name: str, score: Callable[[ParsedQuery], Floats]) -> Ranking:
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = parse_query(index, query)
    with stopwatch("rank"):
        scores = score(reading)
    return rank_by(scores, query.top_k, _allowed(query), {name: scores}, stopwatch.seconds)


def bridge(index: Index, query: Query) -> Ranking:
    """Chunks by BM25 + cosine in context, then by bridges between them; without a walk from keys."""
    stopwatch = Stopwatch()
    with stopwatch("read"):
        reading = weigh_names(index, parse_query(index, query), SAG.formula.named_weight)
    with stopwatch("text"):
        route = read_texts(index, reading, SAG)
    root = np.sqrt(route.in_context)
    with stopwatch("bridge"):
        _, added = add_bridges(index, reading, root, route.chunks_per_document, SAG)
    parts = {"text": root, "bridge": added, "cosine": route.cosine, "bm25": route.bm25}
    ranking = rank_by(root + added, query.top_k, _allowed(query), parts, stopwatch.seconds)
    return with_exact_cosines(ranking, index, reading, route)


def _allowed(query: Query) -> Flags | None:
    return query.allowed.chunks if query.allowed else None
