"""The layers of a release as one: later layers hide the documents and the keys of earlier ones that they also have.

What comes out are the arrays that a release of one layer has: rows in the same order, links, counts and weights alike.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, vstack

from sag_retrieval.core.types import Flags, Floats32, Rows, Rows64
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.arrays import Arrays, GraphParts, graph_arrays, open_graph_arrays, places_of
from sag_retrieval.release.key_weights import Smoothing, idf_of
from sag_retrieval.release.mapped_arrays import CsrLists, FilePlace, ends_of, group, map_trie, narrow, transposed
from sag_retrieval.release.text_index import Mentions, Postings, TermCounts, Terms, Vocabulary
from sag_retrieval.release.topk import BinaryIndex
from sag_retrieval.release.vectors import PlacedRows, SparseVectors, VectorSet


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Rows of a table of all layers, numbered one layer after another, and rows of the release."""

    source: Rows64
    """Number of each row of the release."""
    place: Rows64
    """Row of the release of each number; -1 for one that is not in it."""
    firsts: Rows64
    """The first number of each layer, and the end of the last."""

    def __len__(self) -> int:
        return len(self.source)

    def without(self, rows: npt.NDArray[np.bool_]) -> "Joined":
        """The same without some rows of the release."""
        left = np.cumsum(~rows) - 1
        left[rows] = -1
        place = np.where(self.place < 0, -1, left[self.place]) if len(left) else np.full(len(self.place), -1, np.int64)
        return Joined(self.source[~rows], place, self.firsts)

    def of(self, layer: int) -> Rows64:
        """The row of the release of each row of a layer."""
        return self.place[self.firsts[layer] : self.firsts[layer + 1]]

    def alone(self) -> "Joined":
        """The same without the places of those whose row is another layer's."""
        return Joined(self.source, np.where(self.is_shown(), self.place, -1), self.firsts)

    def is_shown(self) -> npt.NDArray[np.bool_]:
        """Whether each number is a row of the release, and not one that another takes the place of."""
        flags = np.zeros(len(self.place), np.bool_)
        flags[self.source] = True
        return flags


def overlay(layers: Sequence[pa.ChunkedArray]) -> Joined:
    """The union of sorted ids, sorted; `place` names the row of each id, also where another layer's row is shown."""
    ids = _comparable(layers)
    merged, source = ids[0], np.arange(len(ids[0]))
    places = [source]
    for later in ids[1:]:
        at = np.searchsorted(merged, later) if len(merged) else np.zeros(len(later), np.int64)
        known = np.zeros(len(later), np.bool_)
        inside = np.flatnonzero(at < len(merged))
        known[inside] = merged[at[inside]] == later[inside]
        new = np.flatnonzero(~known)
        moved = np.arange(len(merged)) + np.searchsorted(at[new], np.arange(len(merged)), side="right")
        own = np.empty(len(later), np.int64)
        own[new] = at[new] + np.arange(len(new))
        own[known] = moved[at[known]]
        places = [moved[each] for each in places] + [own]
        number = sum(map(len, places[:-1])) + np.arange(len(later))
        whole, sources = np.empty(len(merged) + len(new), merged.dtype), np.empty(len(merged) + len(new), np.int64)
        whole[moved], sources[moved] = merged, source
        whole[own], sources[own] = later, number
        merged, source = whole, sources
    return Joined(source, np.concatenate(places), ends_of([len(each) for each in ids]))


def _comparable(columns: Sequence[pa.ChunkedArray]) -> list[npt.NDArray[Any]]:
    """Ids that NumPy can compare: as bytes where all are of one length, as most ids of keys are, else as objects."""
    whole = [column.combine_chunks() for column in columns]
    widths = {int(width) for each in whole for width in pc.unique(pc.binary_length(each)).to_pylist()}
    if len(widths) == 1 and (width := widths.pop()):
        fixed = (each.cast(pa.binary(width)).buffers()[1] for each in whole)
        found = [np.frombuffer(each, f"S{width}") for each in fixed]
        if not any((each.view(np.uint8) == 0).any() for each in found):  # NumPy takes zeros at an end for padding
            return found
    return [np.array(each.to_pylist(), object) for each in whole]  # `to_numpy` would import pandas


def below(owners: Sequence[Rows64]) -> Joined:
    """The rows whose owner is shown, by owner; rows of one owner in their order.

    `owners` gives by layer the row of the release of each row's owner; -1 where that is hidden.
    """
    owner = np.concatenate(owners)
    shown = np.flatnonzero(owner >= 0)
    source = shown[np.argsort(owner[shown], kind="stable")]
    place = np.full(len(owner), -1, np.int64)
    place[source] = np.arange(len(source))
    return Joined(source, place, ends_of([len(each) for each in owners]))


RowsOf = Callable[[str], pa.Table]


@dataclass(frozen=True, slots=True)
class LayerText:
    """The full text and the names of one layer."""

    terms: marisa_trie.Trie
    chunks: TermCounts
    documents: TermCounts
    mentions: Mentions

    @classmethod
    def open(cls, arrays: FilePlace) -> "LayerText":
        """Map what `write_text` and `write_mentions` wrote below the arrays of a layer."""
        text = arrays / "text"
        counts = TermCounts.open(text / "chunks"), TermCounts.open(text / "documents")
        return cls(map_trie(text / "terms.marisa"), *counts, Mentions.open(arrays / "names"))


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One layer: its tables by name, its arrays of links by name, its text."""

    rows: RowsOf
    graph: Mapping[str, Any]
    text: LayerText

    @classmethod
    def open(cls, folder: FilePlace, rows: RowsOf) -> "Layer":
        """Map a layer's files; `folder` holds its `arrays`."""
        return cls(rows, open_graph_arrays(folder / "arrays" / "graph"), LayerText.open(folder / "arrays"))


@dataclass(frozen=True, slots=True, eq=False)
class JoinedLinks:
    """Which rows of the layers are those of the release, by table, its links, and the arrays of them by name."""

    rows: Mapping[str, Joined]
    parts: GraphParts
    graph: Mapping[str, Any]

    def with_text(self, layers: Sequence[Layer], vectors: Mapping[str, VectorSet]) -> Arrays:
        """All arrays of the release."""
        texts = [layer.text for layer in layers]
        terms, chunk_text, document_text = join_text(texts, self.rows["chunks"], self.rows["documents"])
        joined = Arrays(
            **self.graph,
            terms=terms,
            chunk_text=chunk_text,
            document_text=document_text,
            mentions=join_mentions([text.mentions for text in texts], self.rows["keys"]),
            vectors=vectors,
        )
        _lock(joined)
        return joined


def join_links(layers: Sequence[Layer], smoothing: Smoothing, documents: Joined | None = None) -> JoinedLinks:
    """Put the rows and links of layers together; `documents` are shown, or all, of each that of the last layer."""
    if documents is None:
        documents = overlay([layer.rows("documents")["document_id"] for layer in layers])
    documents = documents.alone()
    owner = [documents.of(number) for number in range(len(layers))]
    chunk_owner = [own[layer.graph["chunk_document"]] for own, layer in zip(owner, layers, strict=True)]
    event_owner = [own[layer.graph["event_chunk"]] for own, layer in zip(chunk_owner, layers, strict=True)]
    rows = {"documents": documents, "chunks": below(chunk_owner), "events": below(event_owner)}
    event_keys, chunk_keys, counts, keys = _links(layers, rows)
    rows["keys"] = keys
    rows |= {
        name: below([_owners(layer, name, own, "document_id") for layer, own in zip(layers, owner, strict=True)])
        for name in ("sections", "triples", "tables")
    }
    described = keys.alone()
    key_owner = [described.of(number) for number in range(len(layers))]
    rows["key_aliases"] = below(
        [_owners(layer, "key_aliases", own, "key_id") for layer, own in zip(layers, key_owner, strict=True)]
    )
    parts = _parts(layers, rows, (event_keys, chunk_keys, counts), smoothing)
    return JoinedLinks(rows, parts, graph_arrays(parts))


def _owners(layer: Layer, name: str, owner: Rows64, column: str) -> Rows64:
    """The row of the release of each row's document or key; -1 where another layer's is shown."""
    owners = {"document_id": "documents", "key_id": "keys"}[column]
    row = places_of(layer.rows(name)[column], layer.rows(owners)[column])
    return np.where(row < 0, -1, owner[row]) if len(owner) else row


def _links(layers: Sequence[Layer], rows: Mapping[str, Joined]) -> tuple[CsrLists, CsrLists, Rows, Joined]:
    """Keys of events, keys of chunks and their counts, and the keys that a chunk carries: others are not shown."""
    keys = overlay([layer.rows("keys")["key_id"] for layer in layers])
    chunk_lists = [
        transposed(layer.graph["key_chunks"], len(layer.graph["chunk_document"]), layer.graph["key_chunk_count"])
        for layer in layers
    ]
    chunk_keys, places = _shown([lists for lists, _ in chunk_lists], rows["chunks"], keys)
    event_keys, _ = _shown([layer.graph["event_keys"] for layer in layers], rows["events"], keys)
    unused = np.bincount(chunk_keys.items, minlength=len(keys)) == 0
    left = np.cumsum(~unused) - 1
    counts = np.concatenate([counts for _, counts in chunk_lists])[places]
    if len(left):
        event_keys, chunk_keys = (
            CsrLists(each.starts, left[each.items].astype(np.int32)) for each in (event_keys, chunk_keys)
        )
    return event_keys, chunk_keys, counts, keys.without(unused)


def _shown(lists: Sequence[CsrLists], owners: Joined, keys: Joined) -> tuple[CsrLists, Rows64]:
    """The keys of each row of the release, and where each stands among the items of all layers."""
    items = np.concatenate([keys.of(number)[each.items] for number, each in enumerate(lists)])
    sizes = np.concatenate([each.sizes() for each in lists])
    _, places = CsrLists(ends_of(sizes), items).gather(owners.source)
    return CsrLists(ends_of(sizes[owners.source]), items[places].astype(np.int32)), places


def _parts(
    layers: Sequence[Layer], rows: Mapping[str, Joined], links: tuple[CsrLists, CsrLists, Rows], smoothing: Smoothing
) -> GraphParts:
    event_keys, chunk_keys, counts = links
    documents, chunks, events, keys = (rows[name] for name in ("documents", "chunks", "events", "keys"))
    column = partial(_column, layers)
    key_events = np.bincount(event_keys.items, minlength=len(keys))
    return GraphParts(
        event_keys=event_keys,
        chunk_keys=chunk_keys,
        chunk_key_count=counts,
        event_chunk=column("event_chunk", events, chunks),
        chunk_document=column("chunk_document", chunks, documents),
        chunk_main_key=column("chunk_main_key", chunks, keys),
        key_idf=idf_of(key_events, len(events), smoothing).astype(np.float32),
        document_count=len(documents),
    )


def _column(layers: Sequence[Layer], name: str, rows: Joined, others: Joined) -> Rows:
    """For each row of the release the row of another table that an array of the layers names; -1 for none."""
    named = [np.asarray(layer.graph[name], np.int64) for layer in layers]
    numbers = np.concatenate([np.where(each < 0, -1, each + first) for each, first in zip(named, others.firsts)])  # noqa: B905
    chosen = numbers[rows.source]
    found = others.place[chosen] if len(others.place) else chosen
    return np.where(chosen < 0, -1, found).astype(np.int32)


def _lock(held: Any) -> None:  # noqa: ANN401  arrays, or what holds some
    """Make all arrays read-only, as mapped ones are: threads share them."""
    if isinstance(held, np.ndarray):
        held.setflags(write=False)
    elif is_dataclass(held):
        for place in fields(held):
            _lock(getattr(held, place.name))


class JoinedWords:
    """The numbers of words: those of the first layer, then those that later ones add; words without a row are none."""

    def __init__(self, first: marisa_trie.Trie, more: Mapping[str, int], is_used: Flags) -> None:
        """Hold both dictionaries and whether each number is in use: the others are left out of the numbering."""
        self._first, self._more = first, more
        self._tries = (first, marisa_trie.Trie(list(more)))
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

    def prefixes(self, text: str, /) -> list[str]:
        """Words that the text starts with, the shortest first."""
        return sorted((word for trie in self._tries for word in trie.prefixes(text) if word in self), key=len)

    def iterkeys(self, prefix: str, /) -> Iterator[str]:
        """Words that start so."""
        return (word for trie in self._tries for word in trie.iterkeys(prefix) if word in self)


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
    described = keys.alone()
    names, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for place, (layer, number) in enumerate(zip(layers, numbers, strict=True)):
        row = described.of(place)[layer.keys_of.items]
        names.append(np.repeat(number, layer.keys_of.sizes())[row >= 0])
        rows.append(row[row >= 0])
    lists, _ = group(np.concatenate(names), np.concatenate(rows), len(layers[0].trie) + len(more))
    is_used = lists.sizes() > 0
    return Mentions(JoinedWords(layers[0].trie, more, is_used), _without_unused(lists, is_used))


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


def joined_rows(layers: Sequence[PlacedRows], source: Rows64) -> PlacedRows:
    """Some rows of several layers, which lie in one Lance table; `source` numbers those of all layers in order."""
    return PlacedRows(layers[0].table, np.concatenate([layer.row_ids for layer in layers])[source], layers[0].runs)


def shown_vectors(vectors: SparseVectors, joined: Joined) -> SparseVectors:
    """Those of the rows of a layer that are shown, of this layer alone."""
    row = joined.place[vectors.rows]
    kept = np.flatnonzero(row >= 0)
    starts = np.searchsorted(kept, vectors.starts).astype(np.int64)
    return SparseVectors(starts, row[kept].astype(np.int32), vectors.values[kept], len(joined))


@dataclass(frozen=True, slots=True, eq=False)
class JoinedVectors(VectorSet):
    """Vectors that lie apart, by layer: each layer scores its rows, all together are ranked."""

    layers: Sequence[VectorSet]
    joined: Joined

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.joined), self.layers[0].dimension

    def scores(self, query: Vectors, rows: Rows | None = None) -> Floats32:
        """Cosines with one query vector, of all rows or of the given ones."""
        numbers = self.joined.source if rows is None else self.joined.source[rows]
        return np.concatenate([layer.scores(query) for layer in self.layers])[numbers]

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some rows."""
        numbers, firsts = self.joined.source[rows], self.joined.firsts
        layer = np.searchsorted(firsts, numbers, side="right") - 1
        places = np.unique(layer).tolist() or [0]
        taken = [self.layers[n].take((numbers[layer == n] - firsts[n]).astype(np.int32)) for n in places]
        back = np.argsort(np.argsort(layer, kind="stable"))
        if isinstance(taken[0], csr_array):
            return csr_array(csr_array(vstack(taken, format="csr"))[back])
        return np.concatenate(taken)[back]


def join_signs(layers: Sequence[BinaryIndex], joined: Joined) -> BinaryIndex:
    """One binary index, with the reach of the first: a row's signs depend on its vector alone."""
    words = np.concatenate([layer.words for layer in layers], axis=1)
    return BinaryIndex(np.ascontiguousarray(words[:, joined.source]), layers[0].reach)
