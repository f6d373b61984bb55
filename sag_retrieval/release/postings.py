"""Full text as arrays: which rows hold a term, and the BM25 score each of them gets for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import marisa_trie
import numpy as np
import numpy.typing as npt

from sag_retrieval.release.mapped import Lists, Rows, group, map_array, save_array
from sag_retrieval.text import tokens

SATURATION: Final = 1.5
"""BM25's k1."""
LENGTH_SHARE: Final = 0.75
"""BM25's b."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The words of all texts; a word's number is its place in the postings."""

    trie: marisa_trie.Trie

    def numbers(self, text: str) -> dict[int, int]:
        """Number → how often for the known terms of a text, by number."""
        counts: dict[int, int] = {}
        for token in tokens(text):
            number = self.trie.get(token)
            if number is not None:
                counts[number] = counts.get(number, 0) + 1
        return dict(sorted(counts.items()))

    @classmethod
    def open(cls, path: Path) -> "Terms":
        """Map a saved dictionary."""
        return cls(marisa_trie.Trie().mmap(str(path)))


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """BM25 by term: `score(row) = Σ_t idf(t) · tf·(k1 + 1) / (tf + k1·(1 − b + b·length / mean length))`.

    idf is `ln(1 + (rows − df + ½) / (df + ½))`. Source: docs/algorithm.md §search.2.
    """

    rows_of: Lists
    weights: Floats
    idf: Floats
    row_count: int

    def scores(self, terms: dict[int, int]) -> npt.NDArray[np.float64]:
        """Shape (rows,): the sum of the terms' scores, each as often as it stands in the query."""
        total = np.zeros(self.row_count)
        for term, count in terms.items():
            inside = slice(self.rows_of.starts[term], self.rows_of.starts[term + 1])
            total[self.rows_of.items[inside]] += count * self.weights[inside]
        return total

    def matrix(self, terms: dict[int, int], rows: Rows) -> npt.NDArray[np.float64]:
        """Shape (terms, rows): what each term adds to each of a few rows."""
        found = np.zeros((len(terms), len(rows)))
        for line, (term, count) in enumerate(terms.items()):
            inside = self.rows_of.of(term)
            if len(inside):
                places = np.minimum(np.searchsorted(inside, rows), len(inside) - 1)
                hit = inside[places] == rows
                found[line, hit] = count * self.weights[self.rows_of.starts[term] + places[hit]]
        return found

    def save(self, path: Path) -> None:
        """Write the arrays beside one another, their names starting with the path's."""
        self.rows_of.save(path)
        save_array(path.with_name(f"{path.name}.weights"), self.weights)
        save_array(path.with_name(f"{path.name}.idf"), self.idf)
        save_array(path.with_name(f"{path.name}.size"), np.array([self.row_count], np.int64))

    @classmethod
    def open(cls, path: Path) -> "Postings":
        """Map what `save` wrote."""
        weights, idf, rows = (map_array(path.with_name(f"{path.name}.{name}")) for name in ("weights", "idf", "size"))
        return cls(Lists.open(path), weights, idf, int(rows[0]))


class Vocabulary:
    """Numbers terms as they come; texts of any language and length, one pass."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def read(self, texts: Iterable[str]) -> tuple[Rows, npt.NDArray[np.int64]]:
        """Term numbers of all texts behind one another, and the number of terms of each text."""
        number, flat, sizes = self.numbers, [], []
        for text in texts:
            found = tokens(text)
            flat.extend([number.setdefault(token, len(number)) for token in found])
            sizes.append(len(found))
        return np.array(flat, np.int32), np.array(sizes, np.int64)

    def freeze(self, path: Path) -> tuple[Terms, Rows]:
        """Write the dictionary; also the lasting number of each provisional one."""
        words = list(self.numbers)
        trie = marisa_trie.Trie(words)
        trie.save(str(path))
        return Terms(trie), np.array([trie[word] for word in words], np.int32)


def build_postings(terms: Rows, sizes: Sequence[int] | npt.NDArray[np.int64], term_count: int) -> Postings:
    """BM25 postings of texts given as term numbers.

    Args:
        terms: Term numbers of all texts behind one another.
        sizes: How many of them each text has.
        term_count: One more than the highest term number.

    """
    return postings_of(terms, np.repeat(np.arange(len(sizes), dtype=np.int64), sizes), len(sizes), term_count)


def postings_of(terms: Rows, row: npt.NDArray[np.int64], row_count: int, term_count: int) -> Postings:
    """BM25 postings of terms that stand in rows, in any order; a row is a text."""
    lengths = np.bincount(row, minlength=row_count).astype(np.float64)
    pairs, counts = np.unique(terms.astype(np.int64) * max(1, row_count) + row, return_counts=True)
    term, row = np.divmod(pairs, max(1, row_count))
    rows_of, _ = group(term, row, term_count)
    frequency = rows_of.sizes()
    idf = np.log1p((row_count - frequency + 0.5) / (frequency + 0.5))
    mean = lengths.mean() if row_count and lengths.sum() else 1.0
    penalty = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths[row] / mean)
    weights = idf[term] * counts * (SATURATION + 1) / (counts + penalty)
    return Postings(rows_of, weights.astype(np.float32), idf.astype(np.float32), row_count)


@dataclass(frozen=True, slots=True)
class Texts:
    """What is indexed: each chunk as its header and its text, each document as its title and its chunks' texts."""

    headers: Sequence[str]
    texts: Sequence[str]
    chunk_document: Rows
    titles: Sequence[str]


def write_text(folder: Path, texts: Texts) -> None:
    """Write the dictionary of all terms, the postings over chunks and those over whole documents.

    Each text is read once: a header that many chunks share is read once, and a document is the sum of its chunks.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chunks, documents = len(texts.texts), len(texts.titles)
    vocabulary = Vocabulary()
    number = {header: place for place, header in enumerate(dict.fromkeys(texts.headers))}
    own, sizes = vocabulary.read(texts.texts)
    header_terms = Lists(*_lists(*vocabulary.read(number)))
    titles, title_sizes = vocabulary.read(texts.titles)
    _, lasting = vocabulary.freeze(folder / "terms.marisa")
    chunk = np.repeat(np.arange(chunks, dtype=np.int64), sizes)
    used = np.fromiter((number[header] for header in texts.headers), np.int32, chunks)
    over, places = header_terms.places(used)
    terms = lasting[np.concatenate([own, header_terms.items[places]])]
    postings_of(terms, np.concatenate([chunk, over]), chunks, len(lasting)).save(folder / "chunks")
    document = np.repeat(np.arange(documents, dtype=np.int64), title_sizes)
    row = np.concatenate([texts.chunk_document.astype(np.int64)[chunk], document])
    terms = lasting[np.concatenate([own, titles])]
    postings_of(terms, row, documents, len(lasting)).save(folder / "documents")


def _lists(flat: Rows, sizes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Rows]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), flat


def open_text(folder: Path) -> tuple[Terms, Postings, Postings]:
    """The dictionary and the postings over chunks and over documents, mapped into memory."""
    terms = Terms.open(folder / "terms.marisa")
    return terms, Postings.open(folder / "chunks"), Postings.open(folder / "documents")
