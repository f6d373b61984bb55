"""What led to each hit: paths of a walk and triples of documents, with names and ids."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sag_retrieval.core.types import Rows
from sag_retrieval.release.arrays import Index
from sag_retrieval.release.knowledge_graph import ReleaseGraph
from sag_retrieval.search.methods.think_on_graph.beams import Beam, path_text
from sag_retrieval.search.methods.think_on_graph.retriever import GraphDocument, GraphOptions, Walk, debug_record
from sag_retrieval.search.paths import GraphEvidence, HitPath, PathStep

MOST_PATHS: Final = 5
"""Paths shown per hit."""


def evidence_of(index: Index, known: ReleaseGraph, found: Walk, chunks: Rows) -> dict[int, GraphEvidence]:
    """Paths and triples for the chunks of documents that a walk reached, by row of the chunk.

    Source: docs/algorithm.md §think-on-graph.14.
    """
    steps = _Steps(index, known)
    beams = sorted((beam for beam in found.beams if beam.edges), key=lambda beam: -beam.score)
    reached = {document.document: document for document in found.documents}
    owners = index.arrays.chunk_document
    return {
        int(chunk): steps.evidence(int(chunk), reached[int(owners[chunk])], beams)
        for chunk in chunks
        if int(owners[chunk]) in reached
    }


def graph_trace(index: Index, known: ReleaseGraph, question: str, found: Walk, options: GraphOptions) -> dict[str, Any]:
    """`debug_record` with the ids of documents in place of their rows."""
    record = debug_record(known.graph, question, found, options)
    ids = index.rows["documents"]["document_id"]
    named = {name: {ids[row].as_py(): score for row, score in record[name].items()} for name in ("raw", "normalised")}
    return record | named


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    index: Index
    known: ReleaseGraph

    def evidence(self, chunk: int, document: GraphDocument, beams: Sequence[Beam]) -> GraphEvidence:
        """The paths that end in the document, else those through it, and its triples; those of the chunk first."""
        ends = [beam for beam in beams if self._document(beam.edges[-1]) == document.document]
        through = (beam for beam in beams if any(self._document(edge) == document.document for edge in beam.edges))
        paths = self._chunk_first(ends or list(through), chunk)[:MOST_PATHS]
        stated = [triple for triple in document.evidence_triples if triple < self.known.triple_count]
        stated.sort(key=lambda triple: int(self.known.chunk[triple]) != chunk)
        return GraphEvidence(tuple(map(self._path, paths)), tuple(map(self._step, stated)))

    def _chunk_first(self, beams: Iterable[Beam], chunk: int) -> list[Beam]:
        return sorted(beams, key=lambda beam: all(int(self.known.chunk[edge >> 1]) != chunk for edge in beam.edges))

    def _document(self, edge: int) -> int:
        return int(self.known.graph.document[edge >> 1])

    def _path(self, beam: Beam) -> HitPath:
        steps = tuple(self._step(edge >> 1) for edge in beam.edges)
        return HitPath(path_text(self.known.graph, beam), beam.score, steps)

    def _step(self, triple: int) -> PathStep:
        graph, rows = self.known.graph, self.index.rows
        is_stated = triple < self.known.triple_count
        return PathStep(
            head=graph.entities.texts[graph.head[triple]],
            relation=graph.relations.texts[graph.relation[triple]],
            tail=graph.entities.texts[graph.tail[triple]],
            document_id=rows["documents"]["document_id"][int(graph.document[triple])].as_py(),
            event_id=rows["events"]["event_id"][int(self.known.event[triple])].as_py(),
            triple_id=rows["triples"]["triple_id"][triple].as_py() if is_stated else "",
        )
