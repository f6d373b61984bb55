"""The knowledge graph of a release: its triples, and which entities are named in one statement."""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import pyarrow as pa

from sag_retrieval.core.records import make_id
from sag_retrieval.core.types import Flags, Rows
from sag_retrieval.language.words import normal_name
from sag_retrieval.release.arrays import GraphParts, Index, row_numbers
from sag_retrieval.release.csr import map_array, save_array
from sag_retrieval.release.knowledge_graph import KnowledgeGraph, build_graph
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.table import no_rows

FOLDER: Final = "graph"
LAYERS: Final = "layers"
ATTRIBUTE_TYPES: Final = frozenset({"date", "time"})
"""Types of text keys that say something of an entity and are none: a path over a year joins whatever happened then."""

_NO_TRIPLES: Final = no_rows(TABLES["triples"])
_ENDS: Final = ("head", "tail")

_built: dict[int, "ReleaseGraph"] = {}

_lock = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseGraph:
    """A release's knowledge graph, and the event and chunk of each triple.

    Behind the first `triple_count` triples, which are the rows of the table, stand mentions: the main key of a chunk
    with each other entity of its events, under the empty relation.
    """

    graph: KnowledgeGraph
    event: Rows
    chunk: Rows
    triple_count: int

    @property
    def is_stated(self) -> Flags:
        """Which of its triples are rows of the table, and no mentions."""
        flags: Flags = np.arange(len(self.event)) < self.triple_count
        return flags


@dataclass(frozen=True, slots=True, eq=False)
class MentionLinks:
    """What mentions are made of: event and key of each link by row, the chunk of each event, main keys of chunks."""

    event: Rows
    key: Rows
    event_chunk: Rows
    chunk_main_key: Rows

    @classmethod
    def of_parts(cls, parts: GraphParts) -> "MentionLinks":
        """Those of a release that is being written."""
        event, key = parts.event_key.T if len(parts.event_key) else np.zeros((2, 0), np.int32)
        return cls(event, key, parts.event_chunk, parts.chunk_main_key)

    @classmethod
    def of_index(cls, index: Index) -> "MentionLinks":
        """Those of a release that is open."""
        arrays = index.arrays
        event, place = arrays.event_keys.gather(np.arange(len(arrays.event_chunk), dtype=np.int32))
        return cls(event, arrays.event_keys.items[place], arrays.event_chunk, arrays.chunk_main_key)


def graph_of(index: Index, home: Path | None = None) -> ReleaseGraph:
    """The knowledge graph of an index, the same one for every caller; empty for a release without triples.

    It is mapped from the release's folder `home` if that has one layer and `write_graph` wrote it there, else built.
    """
    triples = index.rows.get("triples", _NO_TRIPLES)
    with _lock:
        found = _built.get(id(triples))
        if found is None:
            if home and not (home / LAYERS).exists() and (home / "arrays" / FOLDER / "triple_count.npy").is_file():
                found = open_graph(home / "arrays" / FOLDER)
            else:
                found = build_release_graph(index.rows, MentionLinks.of_index(index))
            _built[id(triples)] = found
            weakref.finalize(triples, _built.pop, id(triples), None)
    return found


def write_graph(folder: Path, rows: Mapping[str, pa.Table], links: MentionLinks) -> None:
    """Write the knowledge graph of a release's tables into a folder, for `open_graph`; `graph` below its arrays."""
    built = build_release_graph(rows, links)
    built.graph.save(folder)
    save_array(folder / "event", built.event)
    save_array(folder / "chunk", built.chunk)
    save_array(folder / "triple_count", np.array([built.triple_count]))


def open_graph(folder: Path) -> ReleaseGraph:
    """Map what `write_graph` wrote."""
    count = int(map_array(folder / "triple_count")[0])
    return ReleaseGraph(KnowledgeGraph.open(folder), map_array(folder / "event"), map_array(folder / "chunk"), count)


def build_release_graph(rows: Mapping[str, pa.Table], links: MentionLinks) -> ReleaseGraph:
    """The knowledge graph of a release's tables, in memory.

    Keys of one folded name are one entity, whatever their types. No path uses a triple that ends in a date.

    Source:
        docs/algorithm.md §think-on-graph.2

    """
    triples, keys = rows.get("triples", _NO_TRIPLES), rows["keys"]
    names = _Entities()
    ends = [names.of_column(triples[end]) for end in _ENDS]
    is_walked = _is_walked(triples, keys)
    event = row_numbers(triples["event_id"], rows["events"]["event_id"])
    said, main, other = mentions_of(keys, links)
    met = [names.of_column(keys["value_string"].take(pa.array(each, pa.int32()))) for each in (main, other)]
    is_pair = met[0] != met[1]
    relations = triples["relation"].combine_chunks().dictionary_encode()
    labels = [*relations.dictionary.to_pylist(), ""]
    numbers = relations.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    relation = np.append(numbers, np.full(int(is_pair.sum()), len(labels) - 1, np.int32))
    head, tail = (np.append(each, others[is_pair]) for each, others in zip(ends, met, strict=True))
    events = np.append(event, said[is_pair]).astype(np.int32)
    chunk = np.asarray(links.event_chunk[events], np.int32)
    document = row_numbers(rows["chunks"]["document_id"], rows["documents"]["document_id"])[chunk]
    walked = np.append(is_walked, np.ones(int(is_pair.sum()), np.bool_))
    graph = build_graph(names.texts, labels, (head, relation, tail), document, walked)
    return ReleaseGraph(graph, events, chunk, len(event))


def mentions_of(keys: pa.Table, links: MentionLinks) -> tuple[Rows, Rows, Rows]:
    """Event, main key and other key of each mention, by row.

    An event's main key is that of its chunk, or its first text key where the chunk has none. Dates are left out.
    """
    is_entity = np.asarray(keys["value_string"].is_valid()) & ~_is_attribute(keys["key_type"].to_pylist())
    kept = is_entity[links.key] if len(links.key) else np.zeros(0, np.bool_)
    event, key = links.event[kept], links.key[kept]
    owners, first, inverse = np.unique(event, return_index=True, return_inverse=True)
    main = links.chunk_main_key[links.event_chunk[owners]] if len(owners) else np.zeros(0, np.int32)
    usable = main >= 0
    usable[usable] = is_entity[main[usable]]
    hub = np.where(usable, main, key[first])[inverse]
    other = key != hub
    return event[other], hub[other], key[other]


def _is_walked(triples: pa.Table, keys: pa.Table) -> Flags:
    dates = {
        key
        for key, key_type in zip(keys["key_id"].to_pylist(), keys["key_type"].to_pylist(), strict=True)
        if key_type in ATTRIBUTE_TYPES
    }
    ids, names = ([*(triples[f"{end}{part}"].to_pylist() for end in _ENDS)] for part in ("_key_id", ""))
    dates |= {key for end, name in zip(ids, names, strict=True) for key in _unlisted(end, name)}
    return np.array([not dates.intersection(pair) for pair in zip(*ids, strict=True)], np.bool_)


def _unlisted(ids: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Ids of dates that are ends of triples, and keys of no event."""
    for key, name in zip(ids, names, strict=True):
        if any(map(str.isdigit, name)) and key == make_id("k", "date", normal_name(name)):
            yield key


def _is_attribute(types: Sequence[str]) -> Flags:
    return np.array([each in ATTRIBUTE_TYPES for each in types], np.bool_)


class _Entities:
    """Numbers of entities by folded name, in the order of their first spelling."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._number: dict[str, int] = {}

    def of_column(self, column: pa.ChunkedArray) -> Rows:
        """The number of each name; each distinct one is folded once."""
        encoded = column.combine_chunks().dictionary_encode()
        numbers = np.array([self._number_of(name) for name in encoded.dictionary.to_pylist()], np.int32)
        found: Rows = numbers[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
        return found

    def _number_of(self, name: str) -> int:
        number = self._number.setdefault(normal_name(name), len(self.texts))
        if number == len(self.texts):
            self.texts.append(name)
        return number
