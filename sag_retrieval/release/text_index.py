"""The text of a release as arrays: BM25 postings by term, and the names of keys that a text mentions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.types import Floats32, Rows
from sag_retrieval.language.cases import is_cyrillic, without_cases
from sag_retrieval.language.data import patterns
from sag_retrieval.language.words import ENGLISH, LATIN_STEMMERS, STOP_WORDS, is_cjk, normal_name, stem, tokens
from sag_retrieval.release.mapped_arrays import (
    CsrLists,
    FilePlace,
    Starts,
    ends_of,
    group,
    join,
    map_array,
    map_trie,
    save_array,
)

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
class Postings(TermCounts):
    """BM25 by term, see `TermCounts.weighed`."""

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
        TermCounts.save(self, path)
        save_array(path.with_name(f"{path.name}.weights"), self.weights)
        save_array(path.with_name(f"{path.name}.idf"), self.idf)

    @classmethod
    def open(cls, path: FilePlace) -> "Postings":
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


def _with_new(counted: TermCounts, terms: Rows, row: Rows) -> TermCounts:
    """The same, and each pair that it does not hold yet, once."""
    lists, width = counted.rows_of, max(1, counted.row_count)
    known = np.repeat(np.arange(len(lists)), lists.sizes()) * width + lists.items
    said = np.unique(terms.astype(np.int64) * width + row)
    new = said[known[np.searchsorted(known[:-1], said)] != said] if len(known) else said
    place, (term, row) = np.searchsorted(known, new), np.divmod(new, width)
    sizes = lists.sizes() + np.bincount(term, minlength=len(lists))
    rows_of = CsrLists(ends_of(sizes), np.insert(lists.items, place, row).astype(np.int32))
    return TermCounts(rows_of, np.insert(counted.counts, place, 1), counted.row_count)


TextColumn: TypeAlias = Sequence[str] | pa.Array | pa.ChunkedArray
_BLOCK: Final = 16_384
"""Texts per batch."""
_POSSESSIVE = patterns("en")["possessive"]
SHORTEST_NAME: Final = 2
_REACH: Final = 32
_MOST_COMPARED: Final = 200_000
"""Names that a misspelt one is compared with: half a second."""
_ALIKE: Final = 0.66
"""Least share of equal letters of a misspelt name: one of three Chinese characters may differ."""
_COMPOUNDING: Final = frozenset({"danish", "dutch", "finnish", "german", "norwegian", "swedish"})
"""Stemmers of languages that write compounds as one word."""
_LINKS: Final = ("", "s", "n", "en", "es", "e")
"""What may stand between the parts of a compound."""
_LEAST_PART: Final = 4
_LONGEST_COMPOUND: Final = 60
"""Characters from the start of a word in which its parts are looked for."""


@runtime_checkable
class Words(Protocol):
    """The numbers of distinct words, from 0 on: what readers use of a `marisa_trie.Trie`, and what joined layers have.

    Names are also looked up by what they start with.
    """

    def get(self, word: str, /) -> int | None:
        """The number of a word; None for an unknown one."""
        ...

    def __getitem__(self, word: str, /) -> int: ...

    def __contains__(self, word: str, /) -> bool: ...

    def __len__(self) -> int: ...

    def prefixes(self, text: str, /) -> list[str]:
        """Words that the text starts with, the shortest first."""
        ...

    def iterkeys(self, prefix: str, /) -> Iterator[str]:
        """Words that start so."""
        ...


@dataclass(frozen=True, eq=False)
class Terms:
    """The words of all texts; a word's number is its position in the postings."""

    trie: Words

    @cached_property
    def stemmers(self) -> Sequence[str]:
        """What Latin words of these texts were stemmed by: English, then the stemmers of their other languages."""
        others = dict.fromkeys(LATIN_STEMMERS.values())
        return [ENGLISH, *(name for name in others if self.trie.get(_mark(name)) is not None)]

    def numbers(self, text: str) -> dict[int, float]:
        """Number → how often for the known terms of a text, by term: scores are then added in one order.

        A query is often too short to show its language, so it is read in each language that the texts have. Of a
        compound that no text has, the longest part that one has counts half.
        """
        counts: dict[str, float] = {}
        for stemmer in self.stemmers:
            for token, count in Counter(tokens(text, stemmer)).items():
                counts[token] = max(count, counts.get(token, 0))
                part = self._part(token, stemmer) if stemmer in _COMPOUNDING else ""
                if part:
                    counts[part] = max(count / 2, counts.get(part, 0))
        found = ((self.trie.get(token), count) for token, count in sorted(counts.items()))
        return {number: count for number, count in found if number is not None}

    def _part(self, word: str, stemmer: str) -> str:
        """The longest stem of a word at either end of an unknown one that stands in some text; empty without any."""
        if len(word) < 2 * _LEAST_PART or not word.isalpha() or self.trie.get(word) is not None:
            return ""
        places = range(_LEAST_PART, min(len(word), _LONGEST_COMPOUND) - _LEAST_PART + 1)
        spelt = [end for at in places for end in (word[at:], *(word[:at].removesuffix(link) for link in _LINKS))]
        stems = {stem(end, stemmer) for end in spelt}
        known = [part for part in stems if len(part) >= _LEAST_PART and self.trie.get(part) is not None]
        return max(known, key=lambda part: (len(part), part), default="")

    @classmethod
    def open(cls, path: Path) -> "Terms":
        """Map a saved dictionary."""
        return cls(map_trie(path))


class Vocabulary:
    """Number terms in the order of their first occurrence, in one pass over texts of any language and length."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def read(self, texts: TextColumn, stemmer: Sequence[str] | None = None) -> tuple[Rows, Starts]:
        """Concatenated term numbers of all texts, and the number of terms of each; `stemmer`: by text, for Latin words.

        Words repeat, so each distinct stretch between spaces is read once: no term contains a space.
        """
        column = texts if isinstance(texts, pa.Array | pa.ChunkedArray) else pa.array(texts, pa.string())
        names, by = np.unique([ENGLISH] * len(column) if stemmer is None else list(stemmer), return_inverse=True)
        blocks = [
            self._read(column[start : start + _BLOCK], names.tolist(), by[start : start + _BLOCK])
            for start in range(0, len(column), _BLOCK)
        ]
        return join((flat for flat, _ in blocks), np.int32), join((sizes for _, sizes in blocks), np.int64)

    def _read(self, texts: pa.Array | pa.ChunkedArray, names: Sequence[str], by: Starts) -> tuple[Rows, Starts]:
        whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        pieces = pc.ascii_split_whitespace(whole)
        coded = pieces.flatten().dictionary_encode()
        number, codes = self.numbers, coded.indices.to_numpy()
        spelt = coded.dictionary.to_pylist()
        if len(names) > 1:  # the same stretch has other terms in a text of another language
            both = codes.astype(np.int64) * len(names) + np.repeat(by, np.diff(pieces.offsets.to_numpy()))
            kinds, codes = np.unique(both, return_inverse=True)
            listed = [tokens(spelt[kind // len(names)], names[kind % len(names)]) for kind in kinds.tolist()]
        else:
            listed = [tokens(piece, *names) for piece in spelt]
        flat = (number.setdefault(token, len(number)) for token in chain.from_iterable(listed))
        terms = CsrLists(ends_of([len(each) for each in listed]), np.fromiter(flat, np.int32))
        _, places = terms.gather(codes)
        return terms.items[places], np.diff(ends_of(terms.sizes()[codes])[pieces.offsets.to_numpy()])

    def mark(self, terms: Rows, sizes: Starts, stemmers: Sequence[str]) -> tuple[Rows, Starts]:
        """The same with a term for each text whose words are not stemmed as English, which names the stemmer."""
        rows = [row for row, name in enumerate(stemmers) if name != ENGLISH]
        marks = [self.numbers.setdefault(_mark(stemmers[row]), len(self.numbers)) for row in rows]
        added = np.isin(np.arange(len(sizes)), rows).astype(np.int64)
        return np.insert(terms, np.cumsum(sizes)[rows], marks).astype(np.int32), sizes + added

    def freeze(self, path: Path) -> tuple[Terms, Rows]:
        """Write the dictionary; return it with the final number of each provisional one."""
        words = list(self.numbers)
        trie = marisa_trie.Trie(words)
        trie.save(str(path))
        return Terms(trie), np.array([trie[word] for word in words], np.int32)


@dataclass(frozen=True, slots=True)
class Texts:
    """What is indexed: a chunk as header, text and what else is said of it, a document as title and its chunks' texts.

    Headers and titles end with the id of the document. `languages` are those of the documents.
    """

    headers: TextColumn
    texts: TextColumn
    chunk_document: Rows
    titles: TextColumn
    languages: Sequence[str]
    said: TextColumn = ()
    """What else is said of chunks; a word counts once, and only for a chunk that does not hold it."""
    said_chunk: Rows = field(default_factory=lambda: np.zeros(0, np.int32))


def write_text(folder: Path, texts: Texts, *, is_weighed: bool = True) -> None:
    """Write the dictionary of all terms, the postings over chunks and those over whole documents.

    Each text is read once: a document is the sum of its chunks. Without weights only counts are written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = Vocabulary()
    by_document = [LATIN_STEMMERS.get(language, ENGLISH) for language in texts.languages]
    by_chunk = [by_document[document] for document in texts.chunk_document.tolist()]
    own, sizes = vocabulary.read(texts.texts, by_chunk)
    over, over_sizes = vocabulary.read(texts.headers, by_chunk)
    said, said_sizes = vocabulary.read(texts.said, [by_chunk[chunk] for chunk in texts.said_chunk.tolist()])
    titles, title_sizes = vocabulary.read(texts.titles, by_document)
    titles, title_sizes = vocabulary.mark(titles, title_sizes, by_document)
    _, lasting = vocabulary.freeze(folder / "terms.marisa")
    chunk = _owners(sizes)
    terms, row = lasting[np.concatenate([own, over])], np.concatenate([chunk, _owners(over_sizes)])
    counted = {"chunks": count_terms(terms, row, len(sizes), len(lasting))}
    counted["chunks"] = _with_new(counted["chunks"], lasting[said], texts.said_chunk[_owners(said_sizes)])
    terms = lasting[np.concatenate([own, titles])]
    row = np.concatenate([texts.chunk_document.astype(np.int64)[chunk], _owners(title_sizes)])
    counted["documents"] = count_terms(terms, row, len(title_sizes), len(lasting))
    for name, counts in counted.items():
        (counts.weighed() if is_weighed else counts).save(folder / name)


def _mark(stemmer: str) -> str:
    """A term that no text has: its documents are stemmed so."""
    return f"={stemmer}"


def _owners(sizes: Starts) -> Starts:
    return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


def open_text(folder: Path) -> tuple[Terms, Postings, Postings]:
    """The dictionary and the postings over chunks and over documents, mapped into memory."""
    terms = Terms.open(folder / "terms.marisa")
    return terms, Postings.open(folder / "chunks"), Postings.open(folder / "documents")


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
    """Folded names, and the keys that each of them may stand for."""

    trie: Words
    keys_of: CsrLists

    def exact(self, name: str) -> Rows:
        """Keys of exactly this folded name, else of it in another case; empty if there is none."""
        folded = normal_name(name)
        number = next((n for form in (folded, without_cases(folded)) if (n := self.trie.get(form)) is not None), None)
        return self.keys_of.row(number) if number is not None else np.zeros(0, np.int32)

    def near(self, name: str) -> str:
        """The folded name that is spelt most like this one and has the same digits; empty if none is near.

        Of very many names those that begin alike are compared, then as many of the others as the bound leaves.
        """
        folded = normal_name(name)
        if not any(map(str.isalpha, folded)):
            return ""
        letters, digits = set(folded), [*filter(str.isdigit, folded)]
        names = islice(chain(self.trie.iterkeys(folded[:1]), self.trie.iterkeys("")), _MOST_COMPARED)
        alike = (each for each in names if 2 * len(letters & set(each)) >= len(letters))
        same = (each for each in alike if [*filter(str.isdigit, each)] == digits)
        return next(iter(get_close_matches(folded, same, n=1, cutoff=_ALIKE)), "")

    def find(self, text: str) -> list[tuple[str, Rows]]:
        """The longest names in the text from left to right, without overlap, and their keys.

        A name counts where it does not cut a Latin word or a number; Chinese names need no boundary. Names
        of one character and stop words are skipped. The text is read with and without possessive and case endings.

        Source: docs/algorithm.md §search.3.
        """
        names = dict.fromkeys(name for reading in readings_of(text) for name in self._longest(reading))
        return [(name, self.keys_of.row(self.trie[name])) for name in names]

    def _longest(self, text: str) -> Iterator[str]:
        place = 0
        while place < len(text):
            name = "" if cuts_word(text, place) else self._longest_at(text, place)
            if name:
                yield name
            place += len(name) or 1

    def _longest_at(self, text: str, place: int) -> str:
        fitting = [
            name
            for name in names_at(self.trie, text, place)
            if len(name) >= SHORTEST_NAME and name not in STOP_WORDS and not cuts_word(text, place + len(name))
        ]
        return max(fitting, key=len, default="")

    @classmethod
    def open(cls, folder: FilePlace) -> "Mentions":
        """Map what `write_mentions` wrote."""
        return cls(map_trie(folder / "names.marisa"), CsrLists.open(folder / "keys"))


def write_mentions(folder: Path, names: Iterable[tuple[str, int]]) -> None:
    """Write the dictionary of (name, key row) pairs; a key may have several names, a name several keys.

    Cyrillic names are also written without case endings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pairs = [(name, row) for name, row in names if name]
    pairs += [(without_cases(name), row) for name, row in pairs if is_cyrillic(name)]
    coded = pa.array([name for name, _ in pairs], pa.string()).dictionary_encode()
    distinct = coded.dictionary.to_pylist()
    trie = marisa_trie.Trie(distinct)
    trie.save(str(folder / "names.marisa"))
    number_of = np.fromiter((trie[name] for name in distinct), np.int64, len(distinct))
    rows = np.fromiter((row for _, row in pairs), np.int64, len(pairs))
    width = int(rows.max(initial=0)) + 1
    numbers, keys = np.divmod(np.unique(number_of[coded.indices.to_numpy()] * width + rows), width)
    group(numbers, keys, len(trie))[0].save(folder / "keys")


def readings_of(text: str) -> list[str]:
    """The folded text, without possessive endings, and without case endings."""
    folded = normal_name(text)
    return list(dict.fromkeys((folded, normal_name(_POSSESSIVE.sub("", text)), without_cases(folded))))


def names_at(trie: Words, text: str, place: int) -> list[str]:
    """Names of a dictionary that start at a place of the text; reads no further than the longest of them can reach."""
    reach = _REACH
    while place + reach < len(text) and next(trie.iterkeys(text[place : place + reach]), None) is not None:
        reach *= 4
    return trie.prefixes(text[place : place + reach])


def cuts_word(text: str, place: int) -> bool:
    """Whether a place lies inside a Latin word or a number."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return before.isalnum() and after.isalnum() and not is_cjk(before) and not is_cjk(after)
