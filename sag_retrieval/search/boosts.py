"""Adjust the scores of ranked chunks: mentioned titles, bridges over shared keys, joint coverage of the query."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.release.arrays import Arrays, Index
from sag_retrieval.release.text_index import Postings
from sag_retrieval.release.topk import kth_largest
from sag_retrieval.search.method import ParsedQuery, best_rows
from sag_retrieval.search.options import SearchOptions


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


@dataclass(frozen=True, slots=True, eq=False)
class Bridges:
    """The best bridge into each reached chunk: its end, its start, the shared key and its gain."""

    ends: Rows
    starts: Rows
    keys: Rows
    gains: Floats


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
    gain = scores[starts[pair.start]] * pair.link
    floor = options.formula.bridge_floor / length
    gain = gain * (floor + (1 - floor) * _residual(arrays, starts, pair, terms))
    order = np.lexsort((pair.start, -gain, pair.end))
    first = order[np.flatnonzero(np.diff(pair.end[order], prepend=-1))]
    return Bridges(pair.end[first], starts[pair.start[first]], pair.key[first], gain[first])


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


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    start: npt.NDArray[np.intp]
    """Index into the starts."""
    end: Rows
    key: Rows
    link: Floats


_IN_PASSING = 0.5
"""Weight of a link to a chunk that is about something else than the shared key."""


def _pairs(index: Index, starts: Rows, length: float, options: SearchOptions, allowed: Flags | None) -> _Pairs:
    """Start and end chunks that share a key found in few documents, each pair once with its best link."""
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
    return _Pairs(start[first].astype(np.intp), end[first], key[first], np.asarray(link[first], np.float64))


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


def _residual(arrays: Arrays, starts: Rows, pair: _Pairs, terms: Mapping[int, float]) -> Floats:
    """In [0, 1]: the idf share of the query terms that the start lacks and the end holds."""
    text = arrays.chunk_text
    lacking = text.matrix(terms, starts) == 0
    ends, position = np.unique(pair.end, return_inverse=True)
    gained = (lacking.T * term_shares(text, terms)) @ (text.matrix(terms, ends) > 0)
    return np.asarray(gained[pair.start, position], np.float64)
