"""Triples as a knowledge graph: edges by entity, and words of names as inverted lists."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import marisa_trie
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.language.words import normal_name, words
from sag_retrieval.release.csr import CsrLists, group, map_array, map_rows, map_trie, save_array
from sag_retrieval.release.text_index import SHORTEST_NAME, cuts_word, names_at, readings_of

_COLUMNS: Final = ("head", "relation", "tail", "document")


class MappedTexts:
    """Texts in an Arrow file, read one at a time."""

    def __init__(self, path: Path) -> None:
        """Map the file."""
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
        table = pa.table({"text": pa.array(list(self.texts), pa.large_string())})
        with pa.OSFile(f"{path}.texts.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
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
    """The graph of triples given as rows of names.

    Args:
        entities: Names of the entities.
        relations: Names of the relations.
        triples: Head, relation and tail of each triple, shape (triples,) each.
        document: The document of each triple.
        is_walked: Which triples paths may use; None: all.

    """
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
