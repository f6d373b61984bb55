"""Think-on-Graph: seeds, beam search over triples, and documents scored by the paths that lead to them."""

from sag_retrieval.release.knowledge_graph import KnowledgeGraph, build_graph
from sag_retrieval.think_on_graph.options import GraphOptions
from sag_retrieval.think_on_graph.retriever import GraphDocument, Hints, Walk, debug_record, walk
from sag_retrieval.think_on_graph.seeds import asks_many_hops

__all__ = [
    "GraphDocument",
    "GraphOptions",
    "Hints",
    "KnowledgeGraph",
    "Walk",
    "asks_many_hops",
    "build_graph",
    "debug_record",
    "walk",
]
