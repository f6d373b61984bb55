"""The graph of a release as arrays by row number, the index that a search reads, and tables that follow from arrays."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.errors import FilterError, ReleaseError, shown
from sag_retrieval.core.types import Flags, Floats32, Rows, Rows64
from sag_retrieval.language.words import normal_name
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.key_weights import Smoothing, idf_of
from sag_retrieval.release.mapped_arrays import (
    CsrLists,
    FilePlace,
    Starts,
    arrow_numbers,
    map_array,
    ranges,
    save_array,
    take_rows,
    transposed,
)
from sag_retrieval.release.schema import NUMBERED, TABLES
from sag_retrieval.release.table import LazyTables
from sag_retrieval.release.text_index import Mentions, Postings, Terms, Texts, open_text, write_mentions, write_text
from sag_retrieval.release.vectors import VectorSet, open_vectors


@dataclass(frozen=True, slots=True, eq=False)
class GraphParts:
    """Links between rows by row number: what the arrays of links follow from."""

    event_keys: CsrLists
    chunk_keys: CsrLists
    chunk_key_count: Rows
    """Parallel to `chunk_keys.items`: times the key occurs in the chunk, at least 1."""
    event_chunk: Rows
    chunk_document: Rows
    chunk_main_key: Rows
    """-1 for a chunk without one."""
    key_idf: Floats32
    document_count: int


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """Everything a ranking reads besides the rows themselves; lists hold row numbers in ascending order."""

    event_keys: CsrLists
    key_events: CsrLists
    chunk_keys: CsrLists
    key_chunks: CsrLists
    key_chunk_count: Rows
    """Parallel to `key_chunks.items`: times the key occurs in that chunk."""
    event_chunk: Rows
    chunk_events: Starts
    """Shape (chunks + 1,): chunk c has the events `chunk_events[c]` to `chunk_events[c + 1]`."""
    chunk_document: Rows
    document_chunks: Starts
    """Shape (documents + 1,): document d has the chunks `document_chunks[d]` to `document_chunks[d + 1]`."""
    chunk_main_key: Rows
    is_main_key: npt.NDArray[np.bool_]
    key_idf: Floats32
    highest_idf: float
    key_document_count: Rows
    terms: Terms
    chunk_text: Postings
    document_text: Postings
    mentions: Mentions
    vectors: Mapping[str, VectorSet]
    """Of `events`, `keys` and `chunks`."""

    @property
    def event_count(self) -> int:
        """Rows of events."""
        return len(self.event_chunk)

    @property
    def key_count(self) -> int:
        """Rows of keys."""
        return len(self.key_idf)

    @property
    def chunk_count(self) -> int:
        """Rows of chunks."""
        return len(self.chunk_document)

    @property
    def document_count(self) -> int:
        """Rows of documents."""
        return len(self.document_chunks) - 1


_LISTS = ("event_keys", "key_events", "chunk_keys", "key_chunks")

_ARRAYS = (
    "key_chunk_count",
    "event_chunk",
    "chunk_events",
    "chunk_document",
    "document_chunks",
    "chunk_main_key",
    "is_main_key",
    "key_idf",
    "key_document_count",
)


_FEWER: Final = 4
"""With this many times fewer wanted ids than others, the others are looked up among them."""


def places_of(wanted: pa.Array | pa.ChunkedArray, among: pa.Array | pa.ChunkedArray) -> Rows64:
    """Row of each wanted id among others; -1 for null and for an unknown one."""
    if len(among) < _FEWER * len(wanted):
        return np.asarray(pc.fill_null(pc.index_in(wanted, value_set=among), -1)).astype(np.int64)
    few = wanted.combine_chunks() if isinstance(wanted, pa.ChunkedArray) else wanted
    near = np.flatnonzero(np.asarray(pc.is_in(among, few)))  # a hash table of the others takes longer than their lookup
    found = pc.fill_null(pc.index_in(wanted, value_set=among.take(arrow_numbers(near))), -1)
    return np.asarray(np.append(near, -1)[np.asarray(found)], np.int64)


def row_numbers(wanted: pa.ChunkedArray, among: pa.ChunkedArray) -> Rows:
    """The same where each id must be there; -1 for null."""
    found = places_of(wanted, among)
    missing = np.flatnonzero((found < 0) & np.asarray(wanted.is_valid()))
    if len(missing):
        named = wanted[int(missing[0])]
        raise ReleaseError(f"{len(missing)} rows name ids that do not exist, such as {named}: tables disagree")
    return found.astype(np.int32)


def write_arrays(folder: Path, parts: GraphParts, rows: Mapping[str, pa.Table], *, is_weighed: bool = True) -> None:
    """Write lists in both directions, ranges, full text and names; `write_vectors` writes the vectors.

    Postings of a layer are not weighed: its own weights mean nothing.
    """
    save_graph(folder, graph_arrays(parts))
    write_text(folder / "text", _texts(rows, parts.chunk_document), is_weighed=is_weighed)
    write_names(folder, rows)


def save_graph(folder: Path, graph: Mapping[str, Any]) -> None:
    """Write only `graph/`: the arrays of links that `open_graph_arrays` opens, by their names in `Arrays`."""
    (folder / "graph").mkdir(parents=True, exist_ok=True)
    for name in _LISTS:
        graph[name].save(folder / "graph" / name)
    for name in _ARRAYS:
        save_array(folder / "graph" / name, graph[name])


def write_names(folder: Path, rows: Mapping[str, pa.Table]) -> None:
    """Write only `names/`: the names of keys, with their aliases."""
    write_mentions(folder / "names", _names(rows["keys"], rows["key_aliases"]))


def graph_arrays(parts: GraphParts) -> dict[str, Any]:
    """Links in both directions and ranges, by their names in `Arrays`."""
    chunks, keys = len(parts.chunk_document), len(parts.key_idf)
    key_events, _ = transposed(parts.event_keys, keys, np.ones(len(parts.event_keys.items), np.int8))
    key_chunks, key_chunk_count = transposed(parts.chunk_keys, keys, parts.chunk_key_count)
    return {
        "event_keys": parts.event_keys,
        "key_events": key_events,
        "chunk_keys": parts.chunk_keys,
        "key_chunks": key_chunks,
        "key_chunk_count": key_chunk_count,
        "event_chunk": parts.event_chunk,
        "chunk_events": ranges(parts.event_chunk, chunks),
        "chunk_document": parts.chunk_document,
        "document_chunks": ranges(parts.chunk_document, parts.document_count),
        "chunk_main_key": parts.chunk_main_key,
        "is_main_key": np.isin(np.arange(keys), parts.chunk_main_key),
        "key_idf": parts.key_idf,
        "highest_idf": float(parts.key_idf.max(initial=0.0)),
        "key_document_count": _distinct_documents(key_chunks, parts.chunk_document),
    }


def _distinct_documents(key_chunks: CsrLists, chunk_document: Rows) -> npt.NDArray[np.int32]:
    """In how many documents the chunks of each key lie; chunks of a list ascend, and so do their documents."""
    owner = np.repeat(np.arange(len(key_chunks)), key_chunks.sizes())
    document = chunk_document[key_chunks.items]
    is_first = (np.diff(owner, prepend=-1) != 0) | (np.diff(document, prepend=-1) != 0)
    return np.bincount(owner[is_first], minlength=len(key_chunks)).astype(np.int32)


def _texts(rows: Mapping[str, pa.Table], chunk_document: Rows) -> Texts:
    """What full text is made of: a file is asked for by the words of its path too, a ticket by its number.

    Events and triples in words of their own, as a model writes them, say what a chunk means without saying it.
    """
    documents, triples = rows["documents"], rows["triples"]
    events = rows["events"].filter(pc.is_null(rows["events"]["start"]))
    related = pc.binary_join_element_wise(*(triples[name] for name in ("head", "relation", "tail")), " ")
    of_said = [*events["chunk_id"].chunks, *triples["chunk_id"].chunks]
    of_chunks = take_rows(documents.select(["document_id"]), chunk_document)["document_id"]
    return Texts(
        headers=pc.binary_join_element_wise(rows["chunks"]["header"], of_chunks, "\n"),
        texts=rows["chunks"]["text"],
        chunk_document=chunk_document,
        titles=pc.binary_join_element_wise(documents["title"], documents["document_id"], "\n"),
        languages=documents["language"].to_pylist(),
        said=pa.chunked_array([*events["content"].chunks, *related.chunks], pa.string()),
        said_chunk=row_numbers(pa.chunked_array(of_said, pa.string()), rows["chunks"]["chunk_id"]),
    )


def _names(keys: pa.Table, aliases: pa.Table) -> Iterator[tuple[str, int]]:
    places = row_numbers(aliases["key_id"], keys["key_id"]).tolist()
    other = (normal_name(alias) for alias in aliases["alias"].to_pylist())
    own = ((name, row) for row, name in enumerate(keys["name"].to_pylist()))
    return chain(own, zip(other, places, strict=True))


def open_arrays(folder: Path, vectors: Mapping[str, VectorSet] | None = None) -> Arrays:
    """Map the files that `write_arrays` and `write_vectors` wrote, or take the vectors given; nothing is read yet."""
    terms, chunk_text, document_text = open_text(folder / "text")
    return Arrays(
        **open_graph_arrays(folder / "graph"),
        terms=terms,
        chunk_text=chunk_text,
        document_text=document_text,
        mentions=Mentions.open(folder / "names"),
        vectors=open_vectors(folder / "vectors") if vectors is None else vectors,
    )


def open_graph_arrays(folder: FilePlace) -> dict[str, Any]:
    """Links and ranges by their names in `Arrays`."""
    lists: dict[str, Any] = {name: CsrLists.open(folder / name) for name in _LISTS}
    arrays: dict[str, Any] = {name: map_array(folder / name) for name in _ARRAYS}
    return lists | arrays | {"highest_idf": float(arrays["key_idf"].max(initial=0.0))}


_FEW: Final = 10
"""Documents up to which a key that most of them share still tells something: they may be about one thing."""


@dataclass(frozen=True, eq=False)
class Index:
    """Everything a ranking reads; safe to share between threads, nothing in it changes.

    `rows[table]` is the table of `release/schema.py`, in its order, memory-mapped; `arrays` are the graph, the
    postings and the vectors by row number; `embedder` embeds queries as the release's texts were embedded.
    """

    rows: Mapping[str, pa.Table]
    arrays: Arrays
    embedder: Embedder

    def spelling(self, name: str) -> str:
        """A folded name of a key as the key or its alias is written."""
        return next(
            (each for each in self.other_names(self.arrays.mentions.exact(name)) if normal_name(each) == name), name
        )

    def other_names(self, rows: Rows) -> list[str]:
        """The names of keys, then their aliases."""
        keys, aliases = take_rows(self.rows["keys"].select(["key_id", "value_string"]), rows), self.rows["key_aliases"]
        own = aliases.filter(pc.is_in(aliases["key_id"], keys["key_id"].combine_chunks()))["alias"]
        return [name for name in (*keys["value_string"].to_pylist(), *own.to_pylist()) if name]

    def keys_named(self, name: str) -> Rows:
        """Rows of the keys that have a name or alias; none for a name that is like no other.

        Raises:
            FilterError: If no key has it, but one has a name that is spelt like it.
        """
        rows = self.arrays.mentions.exact(name)
        if not len(rows) and (meant := self.did_you_mean(name)):
            raise FilterError(f"no key of this release is called {shown(name)}{meant}")
        return rows

    def key_ids(self, name: str) -> list[str]:
        """Ids of the keys that have a name or alias; see `keys_named`."""
        return [self.rows["keys"]["key_id"][row].as_py() for row in self.keys_named(name).tolist()]

    def did_you_mean(self, name: str) -> str:
        """The end of a message about an unknown name: the name of a key that is spelt like it; empty without one."""
        near = self.arrays.mentions.near(name)
        return f"; did you mean {self.spelling(near)!r}?" if near else ""

    def misspelt(self, names: Iterable[str]) -> tuple[str, ...]:
        """A sentence for each given name that no key has, with the key that is spelt like it."""
        unknown = [name for name in names if name.strip() and not len(self.arrays.mentions.exact(name))]
        said = ((name, self.did_you_mean(name) or "; `sag keys list` shows them.") for name in unknown)
        return tuple(f"no key is called {shown(name)}{meant} Its words are searched" for name, meant in said)

    @cached_property
    def leads(self) -> Flags:
        """Whether a key leads to other events: no flag, and no value that most documents share."""
        arrays = self.arrays
        leads = np.asarray(arrays.key_document_count <= max(_FEW, arrays.document_count / 2), bool)
        flags = pc.indices_nonzero(pc.is_valid(self.rows["keys"]["value_bool"]))
        leads[np.from_dlpack(flags)] = False  # `to_numpy` would import pandas
        return leads


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rows that a restriction allows: one flag per row of each table that is searched."""

    chunks: Flags
    events: Flags
    keys: Flags


def event_key_rows(arrays: Arrays, event_ids: pa.ChunkedArray, key_ids: pa.ChunkedArray) -> pa.Table:
    """The table `event_keys`."""
    owners, places = _by_id(arrays.event_keys, event_ids)
    columns = [_taken(event_ids, owners), _taken(key_ids, arrays.event_keys.items[places])]
    return pa.table(columns, schema=_schema("event_keys"))


def chunk_key_rows(arrays: Arrays, chunk_ids: pa.ChunkedArray, key_ids: pa.ChunkedArray) -> pa.Table:
    """The table `chunk_keys`."""
    lists, counts = transposed(arrays.key_chunks, len(arrays.chunk_document), arrays.key_chunk_count)
    owners, places = _by_id(lists, chunk_ids)
    keys = lists.items[places]
    is_main = arrays.chunk_main_key[owners] == keys
    columns = [_taken(chunk_ids, owners), _taken(key_ids, keys), arrow_numbers(counts[places]), pa.array(is_main)]
    return pa.table(columns, schema=_schema("chunk_keys"))


def counted_keys(keys: pa.Table, graph: Mapping[str, Any], smoothing: Smoothing) -> pa.Table:
    """The table `keys` with the counts and the idf that follow from the arrays, given by their names in `Arrays`."""
    events = graph["key_events"].sizes()
    columns: dict[str, npt.NDArray[Any]] = {
        "event_count": events.astype(np.int32),
        "chunk_count": graph["key_chunks"].sizes().astype(np.int32),
        "document_count": graph["key_document_count"],
        "idf": idf_of(events, len(graph["event_chunk"]), smoothing),
    }
    for name, values in columns.items():
        keys = keys.set_column(keys.column_names.index(name), keys.schema.field(name), arrow_numbers(values))
    return keys


def _by_id(lists: CsrLists, ids: pa.ChunkedArray) -> tuple[Rows, Rows64]:
    """The owner and the place of each item, in the order of the owners' ids."""
    order = np.asarray(pc.sort_indices(ids)).astype(np.int64)
    owner, places = lists.gather(order)
    return order[owner].astype(np.int32), places


def _taken(ids: pa.ChunkedArray, rows: Rows) -> pa.Array:
    return (ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids).take(arrow_numbers(rows))


def _schema(name: str) -> pa.Schema:
    return pa.schema([field.remove_metadata() for field in TABLES[name]])


def numbered_rows(rows: Mapping[str, pa.Table], arrays: Arrays) -> LazyTables[pa.Table]:
    """Tables as SQL reads them: with `row`, of events also `chunk_row`, of these and chunks `document_row`."""

    def numbered(name: str) -> pa.Table:
        table = rows[name]
        if name not in NUMBERED:
            return table
        numbers = {"row": np.arange(len(table), dtype=np.int32)}
        if name == "chunks":
            numbers["document_row"] = arrays.chunk_document
        elif name == "events":
            chunk = arrays.event_chunk
            numbers |= {"chunk_row": chunk, "document_row": arrays.chunk_document[chunk]}
        columns = {number: arrow_numbers(values) for number, values in numbers.items()}
        return pa.table(columns | {column: table[column] for column in table.column_names})

    return LazyTables(rows, numbered)
