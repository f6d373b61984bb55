"""Think-on-Graph: seeds, beam search over triples, and documents scored by the paths to them."""

from sag_retrieval.release.knowledge_graph import KnowledgeGraph, build_graph
from sag_retrieval.search.methods.think_on_graph.beams import asks_many_hops
from sag_retrieval.search.methods.think_on_graph.retriever import (
    GraphDocument,
    GraphOptions,
    Hints,
    Walk,
    debug_record,
    walk,
)

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
