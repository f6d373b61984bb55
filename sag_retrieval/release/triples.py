"""The triples of a release as a knowledge graph: built at first use, kept as long as its rows are."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.csr import map_array, save_array
from sag_retrieval.release.knowledge_graph import KnowledgeGraph, build_graph
from sag_retrieval.release.schema import TABLES
from sag_retrieval.text.words import normal_name


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseGraph:
    """A release's knowledge graph, and the event and chunk of each triple."""

    graph: KnowledgeGraph
    event: Rows
    chunk: Rows


FOLDER: Final = "graph"
_NO_TRIPLES: Final = TABLES["triples"].empty_table()
_built: dict[int, ReleaseGraph] = {}
_lock = Lock()


def graph_of(index: Index, home: Path | None = None) -> ReleaseGraph:
    """The knowledge graph of an index, the same one for every caller; empty for a release without triples.

    It is mapped from the release's folder `home` where `write_graph` was called for it, else built here.
    """
    triples = index.rows.get("triples", _NO_TRIPLES)
    with _lock:
        found = _built.get(id(triples))
        if found is None:
            folder = home / "arrays" / FOLDER if home else None
            is_written = folder is not None and (folder / "head.npy").is_file()
            found = (
                open_graph(folder)
                if folder and is_written
                else build_release_graph(index.rows, index.arrays.event_chunk)
            )
            _built[id(triples)] = found
            weakref.finalize(triples, _built.pop, id(triples), None)
    return found


def write_graph(folder: Path, rows: Mapping[str, pa.Table], event_chunk: Rows) -> None:
    """Write the knowledge graph of a release's tables into a folder, for `open_graph`; `graph` below its arrays."""
    built = build_release_graph(rows, event_chunk)
    built.graph.save(folder)
    save_array(folder / "event", built.event)
    save_array(folder / "chunk", built.chunk)


def open_graph(folder: Path) -> ReleaseGraph:
    """Map what `write_graph` wrote."""
    return ReleaseGraph(KnowledgeGraph.open(folder), map_array(folder / "event"), map_array(folder / "chunk"))


def build_release_graph(rows: Mapping[str, pa.Table], event_chunk: Rows) -> ReleaseGraph:
    """The knowledge graph of a release's tables, in memory.

    Entities are the triples' keys; keys of one folded name are one entity, whatever their types.
    """
    triples = rows.get("triples", _NO_TRIPLES)
    documents = _rows_of(triples["document_id"], rows["documents"]["document_id"])
    events = _rows_of(triples["event_id"], rows["events"]["event_id"])
    entities, ends = _entities(triples)
    relations = triples["relation"].combine_chunks().dictionary_encode()
    head, tail = ends[: len(events)], ends[len(events) :]
    relation = relations.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    graph = build_graph(entities, relations.dictionary.to_pylist(), (head, relation, tail), documents)
    return ReleaseGraph(graph, events, np.asarray(event_chunk[events], np.int32))


def _entities(triples: pa.Table) -> tuple[list[str], Rows]:
    """Names of the entities, and the entity of each head, then of each tail."""
    keys = pa.concat_arrays([triples[f"{end}_key_id"].combine_chunks() for end in ("head", "tail")])
    names = pa.concat_arrays([triples[end].combine_chunks() for end in ("head", "tail")])
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(codes, return_index=True)
    entities: list[str] = []
    number: dict[str, int] = {}
    entity_of = np.empty(len(first), np.int32)
    for code, name in enumerate(names.take(pa.array(first)).to_pylist()):
        folded = normal_name(name)
        if folded not in number:
            number[folded] = len(entities)
            entities.append(name)
        entity_of[code] = number[folded]
    return entities, entity_of[codes]


def _rows_of(ids: pa.ChunkedArray, table: pa.ChunkedArray) -> Rows:
    found = pc.index_in(ids.combine_chunks(), value_set=table.combine_chunks())
    rows: Rows = found.to_numpy(zero_copy_only=False).astype(np.int32)
    return rows
