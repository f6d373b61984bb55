"""Pairs of keys whose names are close, so that they may mean one thing, the closest first."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array, triu

from sag_pipeline.extract.entity_resolution import KeyColumns
from sag_pipeline.extract.name_matching import (
    EXACT_TYPES,
    GENERIC_TYPES,
    bare_title,
    short_names,
    whole_initials,
    words_of,
)
from sag_retrieval.core.records import TITLE
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import is_cjk, normal_name

_COMMON = 16
"""Names that share a term; a term of more names pairs none."""
_LEAST_PART = 0.5
"""Least share of the lighter name's weight that both names have."""
_LEAST_SCORE = 0.4
_OF_INITIALS, _OF_TWO_INITIALS = 0.95, 0.6
_BLOCK = 256
_LEAST_COSINE = 0.5
_MOST_COMPARED = 20_000
"""Names whose vectors are compared one with another; of more, only names with a rare term in common are paired."""


@dataclass(frozen=True, slots=True)
class ClosePair:
    """Two rows of keys, the first row first, and how close their names are: 0 to 1."""

    one: int
    other: int
    score: float


def close_pairs(keys: KeyColumns, rows: Sequence[int]) -> list[ClosePair]:
    """Pairs of keys that may mean one thing, the closest first, then by name.

    Names are close if one has most of the other's weight in words, or if one is the initials of the other, or if their
    vectors of letters are near. Two specific types, dates and numbers, and names with different numbers are no pairs.

    Source: docs/algorithm.md §extraction.32.
    """
    rows = [row for row in rows if keys.key_types[row] not in EXACT_TYPES and keys.names[row]]
    names = [bare_title(keys.values[row]) if keys.key_types[row] == TITLE else keys.values[row] for row in rows]
    scores: dict[tuple[int, int], float] = defaultdict(float)
    for found in (_by_words(names, rows), _by_initials(names, rows), _by_vectors(names, rows)):
        for one, other, score in found:
            pair = (min(one, other), max(one, other))
            scores[pair] = max(scores[pair], score)
    pairs = [ClosePair(*pair, round(score, 4)) for pair, score in scores.items() if _may_be_one(keys, *pair)]
    return sorted(pairs, key=lambda pair: (-pair.score, *sorted((keys.names[pair.one], keys.names[pair.other]))))


def _may_be_one(keys: KeyColumns, one: int, other: int) -> bool:
    types = keys.key_types[one], keys.key_types[other]
    if types[0] != types[1] and not GENERIC_TYPES & set(types):
        return False
    numbers = [set(patterns("all")["number_of_name"].findall(keys.values[row])) for row in (one, other)]
    return not all(numbers) or numbers[0] == numbers[1]


def _by_words(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    terms = [words_of(name) or {name} for name in names]
    places: dict[str, list[int]] = defaultdict(list)
    for place, own in enumerate(terms):
        for term in own:
            places[term].append(place)
    weight = {term: float(np.log(1 + len(rows) / len(found))) for term, found in places.items()}
    totals = np.array([sum(weight[term] for term in sorted(own)) for own in terms])
    shared = [found for found in places.values() if 1 < len(found) <= _COMMON]
    matrix = _matrix(shared, [float(np.sqrt(np.log(1 + len(rows) / len(found)))) for found in shared], len(rows))
    product = triu(matrix @ matrix.T, 1).tocoo()
    one, other = product.coords
    part = product.data / np.minimum(totals[one], totals[other])
    score = (part + product.data / (totals[one] + totals[other] - product.data)) / 2
    for at in np.flatnonzero((part >= _LEAST_PART) & (score >= _LEAST_SCORE)):
        yield rows[one[at]], rows[other[at]], float(score[at])


def _by_initials(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    long: dict[str, list[int]] = defaultdict(list)
    for row, name in zip(rows, names, strict=True):
        for one in whole_initials(name):
            long[one].append(row)
    for row, name in zip(rows, names, strict=True):
        if " " not in name:
            for one in short_names(name):
                if len(long[one]) <= _COMMON:
                    score = _OF_INITIALS if len(one) > 2 else _OF_TWO_INITIALS  # noqa: PLR2004  EU, and much else
                    yield from ((row, other, score) for other in long[one])


def _by_vectors(names: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """Pairs with near vectors of letters, as transliterations and slips of the pen have."""
    if not 1 < len(rows) <= _MOST_COMPARED:
        return
    vectors = _letters([normal_name(name) for name in names])
    for start in range(0, len(rows), _BLOCK):
        near = triu(vectors[start : start + _BLOCK] @ vectors.T, start + 1).tocoo()
        for place in np.flatnonzero(near.data >= _LEAST_COSINE):
            yield rows[start + near.row[place]], rows[near.col[place]], float(near.data[place])


def _letters(names: Sequence[str]) -> csr_array:
    """Vectors of length 1 over pairs of Chinese characters and threes of letters; common ones weigh less."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        for piece in _pieces(name):
            places[piece].append(place)
    held = list(places.values())
    matrix = _matrix(held, [float(np.log(1 + len(names) / len(found))) for found in held], len(names))
    lengths = np.sqrt(np.asarray(matrix.power(2).sum(axis=1)).ravel())
    return csr_array(matrix.multiply((1 / np.maximum(lengths, 1e-9))[:, None]))


def _matrix(places: Sequence[Sequence[int]], weights: Sequence[float], names: int) -> csr_array:
    """A row for each name, a column with its weight for each term, by the names that have it."""
    columns = np.repeat(np.arange(len(places)), [len(found) for found in places])
    rows = [place for found in places for place in found]
    return csr_array(coo_array((np.take(weights, columns), (rows, columns)), (names, max(1, len(places)))))


def _pieces(name: str) -> list[str]:
    size = 1 if is_cjk(name) else 3
    padded = name if is_cjk(name) else f" {name} "
    return sorted({padded[at : at + size] for at in range(max(1, len(padded) - size + 1))})
