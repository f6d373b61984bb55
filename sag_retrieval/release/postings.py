"""Postings: how often each term stands in each text, and its BM25 weight there."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sag_retrieval.core.types import Floats32, Rows
from sag_retrieval.release.bundle import FilePlace
from sag_retrieval.release.csr import CsrLists, Starts, ends_of, map_array, save_array

SATURATION: Final = 1.5
"""BM25's k1."""
LENGTH_SHARE: Final = 0.75
"""BM25's b."""
Counts = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """By term: the rows that contain it, and how often."""

    rows_of: CsrLists
    counts: Counts
    row_count: int

    def weighed(self) -> "Postings":
        """With BM25 weights: `Σ_t idf(t) · tf·(k1 + 1) / (tf + k1·(1 − b + b·length / mean length))`.

        idf is `ln(1 + (rows − df + ½) / (df + ½))`. Source: docs/algorithm.md §search.2.
        """
        row, frequency = self.rows_of.items, self.rows_of.sizes()
        counts = np.asarray(self.counts, np.float64)
        lengths = np.bincount(row, counts, self.row_count)
        idf = np.log1p((self.row_count - frequency + 0.5) / (frequency + 0.5))
        mean = lengths.mean() if self.row_count and lengths.sum() else 1.0
        penalty = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths[row] / mean)
        weights = np.repeat(idf, frequency) * counts * (SATURATION + 1) / (counts + penalty)
        return Postings(self.rows_of, self.counts, self.row_count, weights.astype(np.float32), idf.astype(np.float32))

    def save(self, path: Path) -> None:
        """Write the arrays; the path is the prefix of their names."""
        self.rows_of.save(path)
        save_array(path.with_name(f"{path.name}.counts"), self.counts)
        save_array(path.with_name(f"{path.name}.size"), np.array([self.row_count], np.int64))

    @classmethod
    def open(cls, path: FilePlace) -> "TermCounts":
        """Map what `save` wrote."""
        counts, rows = (map_array(path.with_name(f"{path.name}.{name}")) for name in ("counts", "size"))
        return cls(CsrLists.open(path), counts, int(rows[0]))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """BM25 by term, see `TermCounts.weighed`."""

    rows_of: CsrLists
    counts: Counts
    row_count: int
    weights: Floats32
    idf: Floats32

    def scores(self, terms: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """Shape (rows,): the sum of the terms' scores, each times its weight in the query."""
        total = np.zeros(self.row_count)
        for term, count in terms.items():
            inside = slice(self.rows_of.starts[term], self.rows_of.starts[term + 1])
            total[self.rows_of.items[inside]] += count * self.weights[inside]
        return total

    def matrix(self, terms: Mapping[int, float], rows: Rows) -> npt.NDArray[np.float64]:
        """Shape (terms, rows): what each term adds to each of a few rows."""
        found = np.zeros((len(terms), len(rows)))
        for line, (term, count) in enumerate(terms.items()):
            inside = self.rows_of.row(term)
            if len(inside):
                places = np.minimum(np.searchsorted(inside, rows), len(inside) - 1)
                hit = inside[places] == rows
                found[line, hit] = count * self.weights[self.rows_of.starts[term] + places[hit]]
        return found

    def save(self, path: Path) -> None:
        """Write counts and weights; the path is the prefix of their names."""
        TermCounts(self.rows_of, self.counts, self.row_count).save(path)
        save_array(path.with_name(f"{path.name}.weights"), self.weights)
        save_array(path.with_name(f"{path.name}.idf"), self.idf)

    @classmethod
    def open(cls, path: Path) -> "Postings":
        """Map what `save` wrote."""
        counted = TermCounts.open(path)
        weights, idf = (map_array(path.with_name(f"{path.name}.{name}")) for name in ("weights", "idf"))
        return cls(counted.rows_of, counted.counts, counted.row_count, weights, idf)


def count_terms(terms: Rows, row: Starts, row_count: int, term_count: int) -> TermCounts:
    """Counts of pairs of a term and its row, in any order; a row is a text."""
    pairs = terms.astype(np.int64) * max(1, row_count) + row
    pairs.sort()
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    counts = np.diff(first, append=len(pairs))
    term, row = np.divmod(pairs[first], max(1, row_count))
    rows_of = CsrLists(ends_of(np.bincount(term, minlength=term_count)), row.astype(np.int32))
    return TermCounts(rows_of, counts.astype(np.min_scalar_type(int(counts.max(initial=0)))), row_count)


def build_postings(terms: Rows, row: Starts, row_count: int, term_count: int) -> Postings:
    """BM25 postings of pairs of a term and its row, in any order."""
    return count_terms(terms, row, row_count, term_count).weighed()
