"""Stage 3: from weighted keys to scored chunks, by text similarity in context, PageRank and adjustments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.models.protocols import EmbedderKind, kind_of
from sag_retrieval.release.arrays import Arrays, Index
from sag_retrieval.release.mapped_arrays import group
from sag_retrieval.release.text_index import Postings
from sag_retrieval.release.topk import kth_largest, top_k
from sag_retrieval.search.expand import WeightedKeys
from sag_retrieval.search.method import ParsedQuery, best_rows, chunk_cosines
from sag_retrieval.search.options import SearchOptions
from sag_retrieval.search.weights import SMALL_GRAPH, Seeds, chunk_weights, key_terms, min_max, power, push, sum_at

DENSE_SHARE: Final[Mapping[EmbedderKind, float]] = {"hashing": 0.5, "static": 0.3, "transformer": 0.3}
"""Share of the cosine beside BM25, chosen on the developing halves of the sets of `benchmarks/quality.py`."""

_TYPICAL = 20
"""Number of best chunks used to estimate the typical document length."""


@dataclass(frozen=True, slots=True, eq=False)
class TextRoute:
    """Shape (chunks,) each: similarity of the chunk alone, and in context; 0 for chunks that are not allowed."""

    cosine: Floats
    is_exact: bool
    """Whether every cosine is exact, not only those of chunks that may be found."""
    bm25: Floats
    similarity: Floats
    in_context: Floats
    chunks_per_document: float
    """Geometric mean over the documents of the best chunks; 1 if each document is one chunk."""
    dense_share: float
    """The share of the cosine in `similarity`."""


def dense_share(kind: EmbedderKind, length: float) -> float:
    """The share of the cosine where documents have typically `length` chunks.

    Hashed words are those that BM25 counts, so among the chunks of long documents, which differ in exact words, they
    add little. What a model has learnt about meaning is evidence of its own.

    Examples:
        >>> dense_share("hashing", 5), dense_share("transformer", 5)
        (0.1, 0.3)
    """
    return DENSE_SHARE[kind] / length if kind == "hashing" else DENSE_SHARE[kind]


def fuse(lexical: Floats, likeness: Floats, share: float) -> Floats:
    """`(1 − share) · lexical + share · likeness`, each scaled to [0, 1] (docs/algorithm.md §search.10)."""
    return np.asarray((1 - share) * lexical + share * likeness, np.float64)


def read_texts(index: Index, reading: ParsedQuery, options: SearchOptions) -> TextRoute:
    """Similarity of every chunk alone, and in its document if long (docs/algorithm.md §search.11)."""
    arrays, query = index.arrays, reading.query
    allowed = query.allowed.chunks if query.allowed else None
    bm25 = arrays.chunk_text.scores(reading.terms)
    cosine, is_exact = chunk_cosines(arrays.vectors["chunks"], reading.vector, bm25, allowed)
    likeness, lexical = relative(cosine, allowed), relative(bm25, allowed)
    length = typical_length(arrays, fuse(lexical, likeness, 0.5))
    given = options.formula.dense_share
    share = dense_share(kind_of(index.embedder), length) if given is None else given
    similarity = fuse(lexical, likeness, share)
    in_context = _in_context(arrays, reading, similarity, length, options)
    return TextRoute(cosine, is_exact, bm25, similarity, in_context, length, share)


def relative(values: Floats, allowed: Flags | None) -> Floats:
    """`min_max`; if all allowed values are equal, 1 for those above 0, as for a single passage."""
    scaled = min_max(values, allowed)
    if scaled.any():
        return scaled
    return np.asarray((values > 0) if allowed is None else (values > 0) & allowed, np.float64)


def mean_score(bm25: Floats, cosine: Floats, allowed: Flags | None) -> Floats:
    """Mean of both, each scaled to [0, 1] over the allowed chunks: docs/algorithm.md §search.11."""
    return fuse(relative(bm25, allowed), relative(cosine, allowed), 0.5)


def typical_length(arrays: Arrays, similarity: Floats) -> float:
    """Geometric mean of the sizes of the documents of the best chunks, each once (docs/algorithm.md §search.11).

    Were they counted by chunk, a single manual with many alike chunks would pass for the typical document.
    """
    if arrays.document_count == arrays.chunk_count:
        return 1.0
    count = min(_TYPICAL, len(similarity))
    best = np.argpartition(-similarity, count - 1)[:count] if count else np.zeros(0, np.intp)
    documents = np.unique(arrays.chunk_document[best])
    sizes = arrays.document_chunks[documents + 1] - arrays.document_chunks[documents]
    return float(np.exp(np.log(sizes).mean())) if count else 1.0


def structure_share(arrays: Arrays, text: Floats, *, is_judged: bool) -> float:
    """1 if a language model judged what was found, else `1 / n²` (docs/algorithm.md §search.11).

    A path or a tier points to documents. A long one is a place to read on, and text tells its chunks apart.
    """
    return 1.0 if is_judged else typical_length(arrays, text) ** -2


def _in_context(
    arrays: Arrays, reading: ParsedQuery, similarity: Floats, length: float, options: SearchOptions
) -> Floats:
    if arrays.document_count == arrays.chunk_count:
        return similarity
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    if not (options.formula.document_context or options.formula.neighbour_context):
        return similarity
    whole = min_max(arrays.document_text.scores(reading.terms))[arrays.chunk_document]
    is_long = 1 - 1 / length
    neighbours = best_neighbour(similarity, arrays.chunk_document)
    context = options.formula.document_context * whole + options.formula.neighbour_context * neighbours
    return relative(similarity + is_long * context, allowed)


def best_neighbour(similarity: Floats, document: npt.NDArray[Any]) -> Floats:
    """Shape (chunks,): the better of the chunks before and after in the same document; 0 without any."""
    joined = document[1:] == document[:-1]
    best = np.zeros(len(similarity))
    best[1:] = np.where(joined, similarity[:-1], 0)
    best[:-1] = np.maximum(best[:-1], np.where(joined, similarity[1:], 0))
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Bridges:
    """The best bridge into each reached chunk: its end, its start, the shared key and its gain."""

    ends: Rows
    starts: Rows
    keys: Rows
    gains: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ChunkScores:
    """Shape (chunks,) each: the final score and its parts; and the trust in the walk."""

    final: Floats
    pagerank: Floats
    text: Floats
    named: Floats
    bridge: Floats
    coverage: Floats
    trust: float
    route: TextRoute
    bridges: Bridges | None
    candidates: Rows


def rank(index: Index, reading: ParsedQuery, keys: WeightedKeys, trust: float, options: SearchOptions) -> ChunkScores:
    """Score every chunk, `trust` being the weight of the walk (docs/algorithm.md §search.10 to §search.14)."""
    arrays = index.arrays
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    route = read_texts(index, reading, options)
    candidates, initial = weigh_candidates(arrays, reading, route, keys, options)
    pagerank = _pagerank(arrays, keys, candidates, initial, options)
    if allowed is not None:
        pagerank = np.where(allowed, pagerank, 0)
    pagerank = trust * pagerank / (pagerank.max(initial=0) or 1)
    text = text_weight(arrays, keys, route, options) * route.in_context
    joined = pagerank + text
    joined = joined / (joined.max(initial=0) or 1)
    length = route.chunks_per_document
    named = boost_mentioned_titles(arrays, reading, joined, length, options)
    bridges, added = add_bridges(index, reading, np.sqrt(named), length, options)
    reached = named if bridges is None else np.sqrt(named) + added
    final, covered, weight = reached, np.zeros(len(reached)), options.formula.coverage / length
    if weight > 0:
        final = cover(reached, arrays.chunk_text, reading.terms, weight, options.formula.coverage_pool, allowed)
        covered = final - reached / (reached.max(initial=0) or 1)
    return ChunkScores(final, pagerank, text, named - joined, added, covered, trust, route, bridges, candidates)


def walk_trust(index: Index, reading: ParsedQuery, seeds: WeightedKeys, options: SearchOptions) -> float:
    """`key_trust`, less where names are a small part of the query (docs/algorithm.md §search.12)."""
    least = options.formula.named_share
    share = min(1.0, named_share(index, reading) / least) if least > 0 else 1.0
    return share * key_trust(seeds, options.formula.key_trust)


def key_trust(seeds: WeightedKeys, power: float) -> float:
    """`(highest weight of a seed key)^power`: 1 if the query names a rare key, low if keys are only similar to it.

    PageRank is divided by its maximum: without this factor a walk from unrelated keys would have full weight.
    """
    return float(min(1.0, seeds.weights.max(initial=0.0)) ** power)


def named_share(index: Index, reading: ParsedQuery) -> float:
    """The share of the query's terms, by idf, that stand in the names it mentions; 1 without names or with given keys.

    A common word may be the name of something too: `create`, `next`. A walk from it says little about the query.
    """
    named = {number for name, _ in reading.mentions for number in index.arrays.terms.numbers(name)}
    if reading.given or not named:
        return 1.0
    weights = {term: float(index.arrays.chunk_text.idf[term]) for term in reading.terms}
    total = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in named) / total if total > 0 else 1.0


def weigh_candidates(
    arrays: Arrays, reading: ParsedQuery, route: TextRoute, keys: WeightedKeys, options: SearchOptions
) -> tuple[Rows, Floats]:
    """Steps 1 to 4: chunks with a final key or similar to the query, ascending, and their initial weights."""
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    owner, place = arrays.key_chunks.gather(keys.rows)
    chunk = arrays.key_chunks.items[place]
    count = arrays.key_chunk_count[place]
    if allowed is not None:
        owner, chunk, count = owner[allowed[chunk]], chunk[allowed[chunk]], count[allowed[chunk]]
    alike = top_k(route.similarity.astype(np.float32), options.text_count)[0]
    candidates = np.unique(np.concatenate([chunk, alike]))
    added = key_terms(keys.weights[owner], count, keys.hops[owner])
    term = sum_at(np.searchsorted(candidates, chunk), added, len(candidates))
    return candidates, chunk_weights(route.similarity[candidates], term, options.formula.similarity_share)


def _pagerank(arrays: Arrays, keys: WeightedKeys, candidates: Rows, initial: Floats, options: SearchOptions) -> Floats:
    if options.formula.graph == "none":
        total = np.zeros(arrays.chunk_count)
        total[candidates] = initial
        return total
    key_share, chunk_share = restart(keys.weights, initial, options.formula.key_share)
    if options.formula.graph == "candidates":
        return _on_candidates(arrays, (keys.rows, key_share), (candidates, chunk_share), options.formula.damping)
    seeds = (keys.rows, key_share), (candidates, chunk_share)
    if arrays.key_count + arrays.chunk_count > SMALL_GRAPH:
        return push(arrays.key_chunks, arrays.chunk_keys, *seeds, options.formula.damping)
    return power(arrays.key_chunks, arrays.chunk_keys, *seeds, options.formula.damping)[1]


def _on_candidates(arrays: Arrays, keys: Seeds, chunks: Seeds, damping: float) -> Floats:
    """PageRank on the links between final keys and candidates only."""
    owner, place = arrays.key_chunks.gather(keys[0])
    chunk = arrays.key_chunks.items[place]
    inside = np.isin(chunk, chunks[0])
    position, owner = np.searchsorted(chunks[0], chunk[inside]), owner[inside]
    sides = group(owner, position, len(keys[0]))[0], group(position, owner, len(chunks[0]))[0]
    seeds = [(np.arange(len(side[0]), dtype=np.int32), side[1]) for side in (keys, chunks)]
    total = np.zeros(arrays.chunk_count)
    total[chunks[0]] = power(*sides, seeds[0], seeds[1], damping)[1]
    return total


def restart(key_weight: Floats, chunk_weight: Floats, key_share: float | None) -> tuple[Floats, Floats]:
    """Restart shares of keys and chunks, with sum 1: a fixed share for keys, or all by weight."""
    keys, chunks = key_weight.sum(), chunk_weight.sum()
    if key_share is None or keys <= 0 or chunks <= 0:
        total = keys + chunks
        return (key_weight / total, chunk_weight / total) if total > 0 else (key_weight, chunk_weight)
    return key_share * key_weight / keys, (1 - key_share) * chunk_weight / chunks


def text_weight(arrays: Arrays, keys: WeightedKeys, route: TextRoute, options: SearchOptions) -> float:
    """`beta = text share · n · max(1, m / 2)`, by lengths of documents and keys (docs/algorithm.md §search.11)."""
    return options.formula.text_share * route.chunks_per_document * max(1.0, breadth(arrays, keys) / 2)


def breadth(arrays: Arrays, keys: WeightedKeys) -> float:
    """`m = exp(Σ w ln c)`, w the keys' weights with sum 1, c their chunk counts; 1 without keys."""
    total = keys.weights.sum()
    if total <= 0:
        return 1.0
    counts = arrays.key_chunks.starts[keys.rows + 1] - arrays.key_chunks.starts[keys.rows]
    return float(np.exp(keys.weights @ np.log(np.maximum(counts, 1)) / total))


def add_bridges(
    index: Index, reading: ParsedQuery, scores: Floats, length: float, options: SearchOptions
) -> tuple[Bridges | None, Floats]:
    """The bridges and what each adds to a chunk's score, shape (chunks,); none and zeros where they count nothing.

    What is reached stands behind what led there, so that a chunk that answers alone keeps its place. Chunks of long
    documents complete one another where the query names what they are about; where it names none, bridges count as far
    as the best chunk lacks words of the query. Source: docs/algorithm.md §search.13.
    """
    added = np.zeros(len(scores))
    if options.formula.bridge_strength <= 0:
        return None, added
    is_named = names_subject(index.arrays, reading, options)
    strength = bridge_strength(length, options, is_named=is_named)
    if len(scores) and not is_named:
        lacking = lacking_share(index.arrays.chunk_text, reading.terms, int(np.argmax(scores)))
        strength *= min(1.0, options.formula.bridge_need * lacking)
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    bridges = build_bridges(index, scores, reading.terms, length, options, allowed)
    document = index.arrays.chunk_document
    is_inside = document[bridges.ends] == document[bridges.starts]
    share = options.formula.bridge_limit
    limit = share * length if is_named else np.where(is_inside, 1.0, share)
    gain = strength * bridges.gains * np.where(is_inside & (not is_named), 1 - 1 / length, 1.0)
    room = np.maximum(0, limit * scores[bridges.starts] - scores[bridges.ends])
    added[bridges.ends] = np.minimum(gain, room)
    return bridges, added


def bridge_strength(length: float, options: SearchOptions, *, is_named: bool) -> float:
    """`strength / n`, plus `1 − 1 / n` if the query names a subject that few documents are about.

    Else a bridge between long documents starts from a chunk that answers already, or from one that answers nothing.
    """
    return options.formula.bridge_strength / length + (1 - 1 / length) * is_named


def names_subject(arrays: Arrays, reading: ParsedQuery, options: SearchOptions) -> bool:
    """Whether the query names a subject that few documents are about."""
    return any(True for _ in named_subjects(arrays, reading, options))


def boost_mentioned_titles(
    arrays: Arrays, reading: ParsedQuery, scores: Floats, length: float, options: SearchOptions
) -> Floats:
    """Raise the best chunk of each subject that the query names to a floor (docs/algorithm.md §search.13)."""
    if options.formula.named_floor <= 0:
        return scores
    floor = 1 - (1 - options.formula.named_floor) / length
    lifted = scores.copy()
    for chunks in named_subjects(arrays, reading, options):
        best = scores[chunks].max(initial=0.0)
        if 0 < best < floor:
            lifted[chunks] = np.maximum(lifted[chunks], scores[chunks] / best * floor)
    return lifted


def named_subjects(arrays: Arrays, reading: ParsedQuery, options: SearchOptions) -> Iterator[Rows]:
    """The allowed chunks about each subject that the query names and that few documents are about."""
    allowed = reading.query.allowed.chunks if reading.query.allowed else None
    for _, keys in reading.mentions:
        chunks = chunks_about(arrays, keys, allowed)
        if 0 < len(np.unique(arrays.chunk_document[chunks])) <= options.formula.named_documents:
            yield chunks


def chunks_about(arrays: Arrays, keys: Rows, allowed: Flags | None = None) -> Rows:
    """The allowed chunks with one of some keys as main key; ascending for one key."""
    keys = keys[arrays.is_main_key[keys]]
    owner, place = arrays.key_chunks.gather(keys)
    chunks: Rows = arrays.key_chunks.items[place]
    is_about = arrays.chunk_main_key[chunks] == keys[owner]
    return np.asarray(chunks[is_about if allowed is None else is_about & allowed[chunks]])


def cover(
    scores: Floats,
    text: Postings,
    terms: Mapping[int, float],
    weight: float,
    pool: int,
    allowed: Flags | None = None,
) -> Floats:
    """`score / max + weight · idf share of the query terms that a chunk is the first to contain`, greedily.

    Of the `pool` best chunks a second one with the same words is worth less than a first one with the others.
    Source: docs/algorithm.md §search.14.
    """
    scaled = scores / (scores.max(initial=0) or 1)
    share = term_shares(text, terms)
    if weight <= 0 or not share.any():
        return scaled
    rows = best_rows(scaled, pool, allowed)
    holds = text.matrix(terms, rows) > 0
    gained = _greedy(scaled[rows], holds, weight * share)
    covered = scaled.copy()
    covered[rows] += gained
    return covered


def _greedy(scores: Floats, holds: Flags, share: Floats) -> Floats:
    """Shape (rows,): what each row gains if rows are chosen by score plus gain, ties by position."""
    gained = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    open_share = share.copy()
    while left.any() and open_share.any():
        gain = open_share @ holds
        taken = int(np.argmax(np.where(left, scores + gain, -np.inf)))
        gained[taken] = gain[taken]
        left[taken] = False
        open_share[holds[:, taken]] = 0
    return gained


def build_bridges(
    index: Index,
    scores: Floats,
    terms: Mapping[int, float],
    length: float,
    options: SearchOptions,
    allowed: Flags | None,
) -> Bridges:
    """`S(start) · link · (floor + (1 − floor) · residual)`, the best per reached chunk, without the factor strength.

    In long documents names in passing, and chunks without a new query term, count less: docs/algorithm.md §search.13.
    """
    arrays = index.arrays
    starts = choose_starts(scores, arrays.chunk_document, options)
    pair = _pairs(index, starts, length, options, allowed)
    gain = scores[starts[pair.starts]] * pair.gains
    floor = options.formula.bridge_floor / length
    gain = gain * (floor + (1 - floor) * _residual(arrays, starts, pair, terms))
    order = np.lexsort((pair.starts, -gain, pair.ends))
    first = order[np.flatnonzero(np.diff(pair.ends[order], prepend=-1))]
    return Bridges(pair.ends[first], starts[pair.starts[first]], pair.keys[first], gain[first])


def choose_starts(scores: Floats, document: npt.NDArray[Any], options: SearchOptions) -> Rows:
    """The best chunks, with a limit per document, ties by row."""
    pool = min(len(scores), 8 * options.formula.bridge_starts)
    if pool == 0:
        return np.zeros(0, np.int32)
    rows = np.flatnonzero((scores >= kth_largest(scores, pool)) & (scores > 0))
    chosen: list[int] = []
    taken: dict[int, int] = {}
    for row in rows[np.argsort(-scores[rows], kind="stable")].tolist():
        owner = int(document[row])
        if taken.get(owner, 0) < options.formula.bridge_starts_per_document:
            chosen.append(row)
            taken[owner] = taken.get(owner, 0) + 1
        if len(chosen) == options.formula.bridge_starts:
            break
    return np.array(chosen, np.int32)


_IN_PASSING = 0.5
"""Weight of a link to a chunk that is about something else than the shared key."""


def _pairs(index: Index, starts: Rows, length: float, options: SearchOptions, allowed: Flags | None) -> Bridges:
    """Places of starts, and ends, that share a key found in few documents, each pair once with its best link."""
    arrays = index.arrays
    start, place = arrays.chunk_keys.gather(starts)
    key = arrays.chunk_keys.items[place]
    narrow = (arrays.key_document_count[key] <= options.formula.bridge_documents) & index.leads[key]
    start, key = start[narrow], key[narrow]
    owner, place = arrays.key_chunks.gather(key)
    start, key, end = start[owner], key[owner], arrays.key_chunks.items[place]
    link = document_rarity(arrays.key_document_count[key], arrays.document_count)
    link = link * np.where(arrays.chunk_main_key[end] == key, 1.0, _IN_PASSING / length)
    fits = end != starts[start]
    if allowed is not None:
        fits &= allowed[end]
    start, key, end, link = start[fits], key[fits], end[fits], link[fits]
    order = np.lexsort((key, -link, end, start))
    pair = start[order].astype(np.int64) * arrays.chunk_count + end[order]
    first = order[np.flatnonzero(np.diff(pair, prepend=-1))]
    return Bridges(end[first], start[first].astype(np.int32), key[first], np.asarray(link[first], np.float64))


def document_rarity(frequency: npt.NDArray[Any], document_count: int) -> Floats:
    """`ln(documents / documents with the key) / ln(documents)`, in [0, 1]: 1 for a key of one document."""
    if document_count <= 1:
        return np.ones(len(frequency))
    return np.asarray(1 - np.log(np.maximum(frequency, 1)) / np.log(document_count), np.float64)


def term_shares(text: Postings, terms: Mapping[int, float]) -> Floats:
    """Shape (terms,): the share of each in the idf of all; zeros if they have none."""
    idf = np.array([count * float(text.idf[term]) for term, count in terms.items()])
    return np.asarray(idf / (idf.sum() or 1), np.float64)


def lacking_share(text: Postings, terms: Mapping[int, float], chunk: int) -> float:
    """The idf share of the query terms that a chunk lacks."""
    return float(term_shares(text, terms) @ (text.matrix(terms, np.array([chunk], np.int32)) == 0)[:, 0])


def _residual(arrays: Arrays, starts: Rows, pair: Bridges, terms: Mapping[int, float]) -> Floats:
    """In [0, 1]: the idf share of the query terms that the start lacks and the end holds."""
    text = arrays.chunk_text
    lacking = text.matrix(terms, starts) == 0
    ends, position = np.unique(pair.ends, return_inverse=True)
    gained = (lacking.T * term_shares(text, terms)) @ (text.matrix(terms, ends) > 0)
    return np.asarray(gained[pair.starts, position], np.float64)
