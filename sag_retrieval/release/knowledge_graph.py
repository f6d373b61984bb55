"""The knowledge graph of a release: edges by entity, words of names, and which entities are named in one statement."""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Final

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.records import make_id
from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.language.words import normal_name, words
from sag_retrieval.release.arrays import Arrays, GraphParts, Index, row_numbers
from sag_retrieval.release.mapped_arrays import CsrLists, group, map_array, map_rows, map_trie, save_array, save_rows
from sag_retrieval.release.schema import TABLES
from sag_retrieval.release.table import no_rows
from sag_retrieval.release.text_index import SHORTEST_NAME, cuts_word, names_at, readings_of

_COLUMNS: Final = ("head", "relation", "tail", "document")


class MappedTexts:
    """Texts in an Arrow file, read one at a time."""

    def __init__(self, path: Path) -> None:
        self._column = map_rows(path)["text"]

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: int) -> str:
        return str(self._column[int(place)].as_py())

    def __iter__(self) -> Iterator[str]:
        return iter(self._column.to_pylist())


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Distinct words of each name, by word, and how many each name has."""

    texts: Sequence[str] | MappedTexts
    words: marisa_trie.Trie
    rows_of: CsrLists
    sizes: Rows

    def jaccard(self, query: frozenset[str]) -> "Overlap":
        """Similarity of each name to a set of words; only names that share a word are compared."""
        shared = np.zeros(len(self.texts), np.int16)
        for word in sorted(query):
            number = self.words.get(word)
            if number is not None:
                shared[self.rows_of.row(number)] += 1
        return Overlap(shared, self.sizes, len(query))

    def save(self, path: Path) -> None:
        """Write the files; the path is the prefix of their names."""
        texts = pa.table({"text": pa.array(list(self.texts), pa.large_string())})
        save_rows(path.with_name(f"{path.name}.texts.arrow"), texts)
        self.words.save(f"{path}.words.marisa")
        self.rows_of.save(path)
        save_array(path.with_name(f"{path.name}.sizes"), self.sizes)

    @classmethod
    def open(cls, path: Path) -> "Names":
        """Map what `save` wrote."""
        trie = map_trie(path.with_name(f"{path.name}.words.marisa"))
        texts = MappedTexts(path.with_name(f"{path.name}.texts.arrow"))
        return cls(texts, trie, CsrLists.open(path), map_array(path.with_name(f"{path.name}.sizes")))


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """Words that names share with a query."""

    shared: npt.NDArray[np.int16]
    sizes: Rows
    query_size: int

    def of(self, rows: npt.NDArray[np.integer]) -> Floats:
        """Jaccard of the given names: shared words / distinct words of both; 0 where nothing is shared."""
        shared = self.shared[rows].astype(np.float64)
        union = self.query_size + self.sizes[rows] - shared
        jaccard: Floats = np.divide(shared, union, out=np.zeros(len(rows)), where=union > 0)
        return jaccard

    def above_zero(self) -> Rows:
        """Names that share a word."""
        return np.flatnonzero(self.shared).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeGraph:
    """Triples by number and the edges of each entity: edge 2t runs along triple t, edge 2t + 1 against it."""

    entities: Names
    relations: Names
    head: Rows
    relation: Rows
    tail: Rows
    document: Rows
    edges_of: CsrLists
    trie: marisa_trie.Trie
    entities_named: CsrLists

    def target(self, edges: npt.NDArray[np.integer]) -> Rows:
        """The entities that edges lead to."""
        triples = edges >> 1
        ends: Rows = np.where(edges & 1, self.head[triples], self.tail[triples]).astype(np.int32)
        return ends

    def relation_of(self, edge: int) -> str:
        """What an edge states; empty where both ends are only named in one statement."""
        return self.relations.texts[self.relation[edge >> 1]]

    def source(self, edges: npt.NDArray[np.integer]) -> Rows:
        """The entities that edges come from."""
        return self.target(edges ^ 1)

    def save(self, folder: Path) -> None:
        """Write the graph's arrays into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.entities.save(folder / "entities")
        self.relations.save(folder / "relations")
        for name in _COLUMNS:
            save_array(folder / name, getattr(self, name))
        self.edges_of.save(folder / "edges")
        self.entities_named.save(folder / "named")
        self.trie.save(str(folder / "names.marisa"))

    @classmethod
    def open(cls, folder: Path) -> "KnowledgeGraph":
        """Map what `save` wrote."""
        head, relation, tail, document = (map_array(folder / name) for name in _COLUMNS)
        return cls(
            entities=Names.open(folder / "entities"),
            relations=Names.open(folder / "relations"),
            head=head,
            relation=relation,
            tail=tail,
            document=document,
            edges_of=CsrLists.open(folder / "edges"),
            trie=map_trie(folder / "names.marisa"),
            entities_named=CsrLists.open(folder / "named"),
        )

    def named(self, name: str) -> Rows:
        """Entities of exactly this folded name."""
        number = self.trie.get(name)
        return self.entities_named.row(number) if number is not None else np.zeros(0, np.int32)

    def mentioned(self, text: str) -> Rows:
        """Entities that the text names, longest names first, ties by row.

        Latin names need word boundaries, Chinese names do not; names of one character are skipped.
        """
        found: set[str] = set()
        for read, place in ((reading, place) for reading in readings_of(text) for place in range(len(reading))):
            if not cuts_word(read, place):
                fitting = names_at(self.trie, read, place)
                found.update(name for name in fitting if not cuts_word(read, place + len(name)))
        named = (self.entities_named.row(self.trie[name]) for name in found if len(name) >= SHORTEST_NAME)
        rows = [int(row) for some in named for row in some]
        return np.array(sorted(rows, key=lambda row: (-len(self.entities.texts[row]), row)), np.int32)


def build_graph(
    entities: Sequence[str],
    relations: Sequence[str],
    triples: tuple[Rows, Rows, Rows],
    document: Rows,
    is_walked: Flags | None = None,
) -> KnowledgeGraph:
    """The graph of triples given as rows of names; paths use those that `is_walked`, or all."""
    head, relation, tail = triples
    edges = np.arange(2 * len(head))
    ends = np.empty(len(edges), np.int64)
    ends[0::2], ends[1::2] = head, tail
    if is_walked is not None:
        edges = edges[np.repeat(is_walked, 2)]
    edges_of, _ = group(ends[edges], edges, len(entities))
    folded = [normal_name(name) for name in entities]
    trie = marisa_trie.Trie([name for name in folded if name])
    numbers = np.array([trie.get(name, -1) if name else -1 for name in folded], np.int64)
    named = np.flatnonzero(numbers >= 0)
    entities_named, _ = group(numbers[named], named, len(trie))
    names = read_names(entities), read_names(relations)
    return KnowledgeGraph(*names, head, relation, tail, document, edges_of, trie, entities_named)


def read_names(texts: Sequence[str]) -> Names:
    """Inverted lists from the words of names to the names."""
    number: dict[str, int] = {}
    found = [{number.setdefault(word, len(number)) for word in words(text)} for text in texts]
    trie = marisa_trie.Trie(list(number))
    lasting = np.array([trie[word] for word in number], np.int32)
    sizes = np.fromiter(map(len, found), np.int32, len(found))
    items = np.fromiter(chain.from_iterable(found), np.int32, int(sizes.sum()))
    owners = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)
    rows_of, _ = group(lasting[items], owners, len(number))
    return Names(texts, trie, rows_of, sizes)


FOLDER: Final = "graph"
_LAYERS: Final = "layers"
_ATTRIBUTE_TYPES: Final = frozenset({"date", "time"})
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


def graph_of(index: Index, home: Path | None = None) -> ReleaseGraph:
    """The knowledge graph of an index, the same one for every caller; empty for a release without triples.

    It is mapped from the release's folder `home` if that has one layer and `write_graph` wrote it there, else built.
    """
    triples = index.rows.get("triples", _NO_TRIPLES)
    with _lock:
        found = _built.get(id(triples))
        if found is None:
            if home and not (home / _LAYERS).exists() and (home / "arrays" / FOLDER / "triple_count.npy").is_file():
                found = open_graph(home / "arrays" / FOLDER)
            else:
                found = _build_release_graph(index.rows, index.arrays)
            _built[id(triples)] = found
            weakref.finalize(triples, _built.pop, id(triples), None)
    return found


def write_graph(folder: Path, rows: Mapping[str, pa.Table], links: GraphParts | Arrays) -> None:
    """Write the knowledge graph of a release's tables into a folder, for `open_graph`; `graph` below its arrays."""
    built = _build_release_graph(rows, links)
    built.graph.save(folder)
    save_array(folder / "event", built.event)
    save_array(folder / "chunk", built.chunk)
    save_array(folder / "triple_count", np.array([built.triple_count]))


def open_graph(folder: Path) -> ReleaseGraph:
    """Map what `write_graph` wrote."""
    count = int(map_array(folder / "triple_count")[0])
    return ReleaseGraph(KnowledgeGraph.open(folder), map_array(folder / "event"), map_array(folder / "chunk"), count)


def _build_release_graph(rows: Mapping[str, pa.Table], links: GraphParts | Arrays) -> ReleaseGraph:
    """The knowledge graph of a release's tables, in memory.

    Keys of one folded name are one entity, whatever their types. No path uses a triple that ends in a date.

    Source: docs/algorithm.md §think-on-graph.2.
    """
    triples, keys = rows.get("triples", _NO_TRIPLES), rows["keys"]
    names = _Entities()
    ends = [names.of_column(triples[end]) for end in _ENDS]
    is_walked = _is_walked(triples, keys)
    event = row_numbers(triples["event_id"], rows["events"]["event_id"])
    said, main, other = _mentions_of(keys, links)
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


def _mentions_of(keys: pa.Table, links: GraphParts | Arrays) -> tuple[Rows, Rows, Rows]:
    """Event, main key and other key of each mention, by row.

    An event's main key is that of its chunk, or its first text key where the chunk has none. Dates are left out.
    """
    is_entity = np.asarray(keys["value_string"].is_valid())
    is_entity = is_entity & np.array([each not in _ATTRIBUTE_TYPES for each in keys["key_type"].to_pylist()], np.bool_)
    event, place = links.event_keys.gather(np.arange(len(links.event_keys)))
    key = links.event_keys.items[place]
    kept = is_entity[key] if len(key) else np.zeros(0, np.bool_)
    event, key = event[kept], key[kept]
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
        if key_type in _ATTRIBUTE_TYPES
    }
    ids, names = ([*(triples[f"{end}{part}"].to_pylist() for end in _ENDS)] for part in ("_key_id", ""))
    dates |= {key for end, name in zip(ids, names, strict=True) for key in _unlisted(end, name)}
    return np.array([not dates.intersection(pair) for pair in zip(*ids, strict=True)], np.bool_)


def _unlisted(ids: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Ids of dates that are ends of triples, and keys of no event."""
    for key, name in zip(ids, names, strict=True):
        if any(map(str.isdigit, name)) and key == make_id("k", "date", normal_name(name)):
            yield key


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
