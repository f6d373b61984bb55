"""The layers of a release as one: later layers hide the documents and the keys of earlier ones that they also have.

What comes out are the arrays that a release of one layer has: rows in the same order, links, counts and weights alike.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.types import Rows, Rows64
from sag_retrieval.release.arrays import Arrays, open_graph_arrays, places_of
from sag_retrieval.release.key_weights import Smoothing, idf_of
from sag_retrieval.release.layer_precedence import Joined, below, overlay
from sag_retrieval.release.mapped_arrays import CsrLists, FilePlace, ends_of, ranges, transposed
from sag_retrieval.release.text_index import LayerText, join_mentions, join_text, open_counts
from sag_retrieval.release.vectors import VectorSet

RowsOf = Callable[[str], pa.Table]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One layer: its tables by name, its arrays of links by name, its text."""

    rows: RowsOf
    graph: Mapping[str, Any]
    text: LayerText

    @classmethod
    def open(cls, folder: FilePlace, rows: RowsOf) -> "Layer":
        """Map a layer's files; `folder` holds its `arrays`."""
        return cls(rows, open_graph_arrays(folder / "arrays" / "graph"), LayerText(*open_counts(folder / "arrays")))


@dataclass(frozen=True, slots=True, eq=False)
class JoinedLinks:
    """Which rows of the layers are those of the release, by table, and its arrays of links by name."""

    rows: Mapping[str, Joined]
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
    """Put the rows and links of layers together.

    Args:
        layers: In their order.
        smoothing: Of the weights of keys.
        documents: Which documents are shown; None: all, of each that of the last layer.

    """
    if documents is None:
        documents = overlay([layer.rows("documents")["document_id"] for layer in layers])
    shown = np.where(documents.is_shown(), documents.place, -1)
    owner = [shown[documents.firsts[n] : documents.firsts[n + 1]] for n in range(len(layers))]
    chunk_owner = [own[layer.graph["chunk_document"]] for own, layer in zip(owner, layers, strict=True)]
    event_owner = [own[layer.graph["event_chunk"]] for own, layer in zip(chunk_owner, layers, strict=True)]
    rows = {"documents": Joined(documents.source, shown, documents.firsts)}
    rows |= {"chunks": below(chunk_owner), "events": below(event_owner)}
    event_keys, chunk_keys, counts, keys = _links(layers, rows)
    rows["keys"] = keys
    rows |= {
        name: below([_owners(layer, name, own, "document_id") for layer, own in zip(layers, owner, strict=True)])
        for name in ("sections", "triples")
    }
    described = np.where(keys.is_shown(), keys.place, -1)
    key_owner = [described[keys.firsts[n] : keys.firsts[n + 1]] for n in range(len(layers))]
    rows["key_aliases"] = below(
        [_owners(layer, "key_aliases", own, "key_id") for layer, own in zip(layers, key_owner, strict=True)]
    )
    return JoinedLinks(rows, _graph(layers, rows, (event_keys, chunk_keys, counts), smoothing))


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
    event_keys, chunk_keys = (CsrLists(each.starts, _renumbered(left, each.items)) for each in (event_keys, chunk_keys))
    return event_keys, chunk_keys, counts, keys.without(unused)


def _renumbered(left: Rows64, items: Rows) -> Rows:
    return left[items].astype(np.int32) if len(left) else items


def _shown(lists: Sequence[CsrLists], owners: Joined, keys: Joined) -> tuple[CsrLists, Rows64]:
    """The keys of each row of the release, and where each stands among the items of all layers."""
    items = np.concatenate([keys.of(number)[each.items] for number, each in enumerate(lists)])
    sizes = np.concatenate([each.sizes() for each in lists])
    _, places = CsrLists(ends_of(sizes), items).gather(owners.source)
    return CsrLists(ends_of(sizes[owners.source]), items[places].astype(np.int32)), places


def _graph(
    layers: Sequence[Layer],
    rows: Mapping[str, Joined],
    links: tuple[CsrLists, CsrLists, Rows],
    smoothing: Smoothing,
) -> dict[str, Any]:
    """The arrays of links of the release, by their names in `Arrays`."""
    event_keys, chunk_keys, counts = links
    documents, chunks, events, keys = (rows[name] for name in ("documents", "chunks", "events", "keys"))
    column = partial(_column, layers)
    event_chunk = column("event_chunk", events, chunks)
    chunk_document = column("chunk_document", chunks, documents)
    main = column("chunk_main_key", chunks, keys)
    key_events, _ = transposed(event_keys, len(keys), np.ones(len(event_keys.items), np.int8))
    key_chunks, key_chunk_count = transposed(chunk_keys, len(keys), counts)
    key_idf = idf_of(key_events.sizes(), len(events), smoothing).astype(np.float32)
    return {
        "event_keys": event_keys,
        "key_events": key_events,
        "chunk_keys": chunk_keys,
        "key_chunks": key_chunks,
        "key_chunk_count": key_chunk_count,
        "event_chunk": event_chunk,
        "chunk_events": ranges(event_chunk, len(chunks)),
        "chunk_document": chunk_document,
        "document_chunks": ranges(chunk_document, len(documents)),
        "chunk_main_key": main,
        "is_main_key": np.isin(np.arange(len(keys)), main),
        "key_idf": key_idf,
        "highest_idf": float(key_idf.max(initial=0.0)),
        "key_document_count": _distinct_documents(key_chunks, chunk_document),
    }


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


def _distinct_documents(key_chunks: CsrLists, chunk_document: Rows) -> npt.NDArray[np.int32]:
    """In how many documents the chunks of each key lie; chunks of a list ascend, and so do their documents."""
    owner = np.repeat(np.arange(len(key_chunks)), key_chunks.sizes())
    document = chunk_document[key_chunks.items]
    is_first = (np.diff(owner, prepend=-1) != 0) | (np.diff(document, prepend=-1) != 0)
    return np.bincount(owner[is_first], minlength=len(key_chunks)).astype(np.int32)
