"""The full text and the names of several layers as one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import marisa_trie
import numpy as np
from scipy.sparse import csr_array

from sag_retrieval.core.types import Flags, Rows64
from sag_retrieval.release.csr import CsrLists, ends_of, group, narrow
from sag_retrieval.release.layer_precedence import Joined
from sag_retrieval.release.postings import Postings, TermCounts
from sag_retrieval.release.text_index import Mentions, Terms, Vocabulary


class JoinedWords:
    """The numbers of words: those of the first layer, then those that later ones add; words without a row are none."""

    def __init__(self, first: marisa_trie.Trie, more: Mapping[str, int], is_used: Flags) -> None:
        """Hold both dictionaries and whether each number is in use: the others are left out of the numbering."""
        self._first, self._more = first, more
        self._numbers = np.where(is_used, np.cumsum(is_used, dtype=np.int32) - 1, -1)
        self._count = int(np.count_nonzero(is_used))

    def get(self, word: str, /) -> int | None:
        """The number of a word; None for one that no row has."""
        place = self._first.get(word)
        place = self._more.get(word) if place is None else place
        number = -1 if place is None else int(self._numbers[place])
        return None if number < 0 else number

    def __getitem__(self, word: str) -> int:
        number = self.get(word)
        if number is None:
            raise KeyError(word)
        return number

    def __contains__(self, word: str) -> bool:
        return self.get(word) is not None

    def __len__(self) -> int:
        return self._count


class JoinedNames(JoinedWords):
    """The same for names, which are also looked up by what they start with."""

    def __init__(self, first: marisa_trie.Trie, more: Mapping[str, int], is_used: Flags) -> None:
        """Hold both dictionaries and whether each number is in use."""
        super().__init__(first, more, is_used)
        self._tries = (first, marisa_trie.Trie(list(more)))

    def prefixes(self, text: str, /) -> list[str]:
        """Names that the text starts with, the shortest first."""
        return sorted((name for trie in self._tries for name in trie.prefixes(text) if name in self), key=len)

    def iterkeys(self, prefix: str, /) -> Iterator[str]:
        """Names that start so."""
        return (name for trie in self._tries for name in trie.iterkeys(prefix) if name in self)


@dataclass(frozen=True, slots=True)
class LayerText:
    """The full text and the names of one layer."""

    terms: marisa_trie.Trie
    chunks: TermCounts
    documents: TermCounts
    mentions: Mentions


def join_text(layers: Sequence[LayerText], chunks: Joined, documents: Joined) -> tuple[Terms, Postings, Postings]:
    """Dictionary and postings of a release."""
    more, by_chunk, by_document, is_used = _joined(layers, chunks, documents)
    chunk_text, document_text = (
        replace(each, rows_of=_without_unused(each.rows_of, is_used)).weighed() for each in (by_chunk, by_document)
    )
    return Terms(JoinedWords(layers[0].terms, more, is_used)), chunk_text, document_text


def write_shown_text(folder: Path, layer: LayerText, chunks: Joined, documents: Joined) -> None:
    """Write dictionary and counts of the rows of a layer that are shown; words of others alone are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    _, by_chunk, by_document, is_used = _joined([layer], chunks, documents)
    vocabulary, before = Vocabulary(), list[int]()
    for word, number in layer.terms.items():
        if is_used[number]:
            vocabulary.numbers[word] = len(before)
            before.append(number)
    _, lasting = vocabulary.freeze(folder / "terms.marisa")
    order = np.array(before, np.int64)[np.argsort(lasting)]
    for name, counted in (("chunks", by_chunk), ("documents", by_document)):
        lists = counted.rows_of
        _, places = lists.gather(order)
        sizes = ends_of(lists.sizes()[order])
        TermCounts(CsrLists(sizes, lists.items[places]), counted.counts[places], counted.row_count).save(folder / name)


def _joined(
    layers: Sequence[LayerText], chunks: Joined, documents: Joined
) -> tuple[dict[str, int], TermCounts, TermCounts, Flags]:
    """Words that later layers add, counts over chunks and over documents, and which words are in use."""
    more, numbers = _numbered([layer.terms for layer in layers])
    count = len(layers[0].terms) + len(more)
    by_chunk = _join_counts([layer.chunks for layer in layers], numbers, chunks, count)
    by_document = _join_counts([layer.documents for layer in layers], numbers, documents, count)
    return more, by_chunk, by_document, (by_chunk.rows_of.sizes() > 0) | (by_document.rows_of.sizes() > 0)


def join_mentions(layers: Sequence[Mentions], keys: Joined) -> Mentions:
    """Names of keys: those that the layer names whose row of the key is shown."""
    more, numbers = _numbered([layer.trie for layer in layers])
    row_of = np.where(keys.is_shown(), keys.place, -1)
    names, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for layer, number, first in zip(layers, numbers, keys.firsts[:-1], strict=True):
        row = row_of[first + layer.keys_of.items]
        names.append(np.repeat(number, layer.keys_of.sizes())[row >= 0])
        rows.append(row[row >= 0])
    lists, _ = group(np.concatenate(names), np.concatenate(rows), len(layers[0].trie) + len(more))
    is_used = lists.sizes() > 0
    return Mentions(JoinedNames(layers[0].trie, more, is_used), _without_unused(lists, is_used))


def _without_unused(lists: CsrLists, is_used: Flags) -> CsrLists:
    """The lists of the numbers that are in use, of which those of the others are empty."""
    return CsrLists(np.append(lists.starts[:-1][is_used], lists.starts[-1]), lists.items)


def _numbered(tries: Sequence[marisa_trie.Trie]) -> tuple[dict[str, int], list[Rows64]]:
    """Numbers of the words that later dictionaries add to the first, and the number of each word of each."""
    first, more = tries[0], dict[str, int]()
    numbers = [np.arange(len(first))]
    for trie in tries[1:]:
        own = np.empty(len(trie), np.int64)
        for word, number in trie.items():
            known = first.get(word)
            own[number] = more.setdefault(word, len(first) + len(more)) if known is None else known
        numbers.append(own)
    return more, numbers


def _join_counts(layers: Sequence[TermCounts], numbers: Sequence[Rows64], rows: Joined, term_count: int) -> TermCounts:
    """Counts of the rows that are shown; the terms of a layer have these numbers."""
    total = csr_array((term_count, len(rows)), dtype=np.int64)
    for number, (layer, terms) in enumerate(zip(layers, numbers, strict=True)):
        row = rows.of(number)[layer.rows_of.items]
        shown = row >= 0
        kept = np.concatenate([[0], np.cumsum(shown)])[layer.rows_of.starts]
        sizes = np.zeros(term_count, np.int64)
        sizes[terms] = np.diff(kept)
        items, counts = row[shown].astype(np.int32), np.asarray(layer.counts)[shown].astype(np.int64)
        if number:  # the words of the first layer keep their numbers, those of another come in another order
            order = CsrLists(kept, items).gather(np.argsort(terms, kind="stable"))[1]
            items, counts = items[order], counts[order]
        total = csr_array(total + csr_array((counts, items, narrow(ends_of(sizes))), shape=total.shape))
    total.sort_indices()
    smallest = np.min_scalar_type(int(total.data.max(initial=0)))
    lists = CsrLists(total.indptr.astype(np.int64), total.indices.astype(np.int32, copy=False))
    return TermCounts(lists, total.data.astype(smallest), len(rows))
