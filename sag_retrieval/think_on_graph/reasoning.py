"""From kept paths to documents: scores, evidence and the paths that lead to each."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sag_retrieval.release.knowledge_graph import KnowledgeGraph
from sag_retrieval.think_on_graph.beams import Beam, path_text

DocumentScoreMap = Mapping[int, float]
"""Document → score."""

_FILLED = 0.7


def score_by_paths(graph: KnowledgeGraph, beams: Sequence[Beam]) -> dict[int, float]:
    """Every edge of every beam adds `0.6 · max(0, beam score) + 0.4 · relevance` to its document.

    Source:
        docs/algorithm.md §think-on-graph.7

    """
    scores: dict[int, float] = {}
    for beam in beams:
        for edge, relevance in zip(beam.edges, beam.relevance, strict=True):
            document = int(graph.document[edge >> 1])
            scores[document] = scores.get(document, 0.0) + 0.6 * max(0.0, beam.score) + 0.4 * relevance
    return scores


def combine(candidates: Sequence[int], judged: DocumentScoreMap, by_paths: DocumentScoreMap) -> dict[int, float]:
    """The judge's scores; if fewer than half are there, the others are `0.7 ·` their scaled path score.

    Source:
        docs/algorithm.md §think-on-graph.8

    """
    scores = {document: judged[document] for document in candidates if document in judged}
    if 2 * len(scores) >= len(candidates):
        return scores
    scaled = scale({document: by_paths.get(document, 0.0) for document in candidates})
    return {d: scores[d] if d in scores else _FILLED * scaled.get(d, 0.0) for d in candidates}


def mix(judged: DocumentScoreMap, scaled: DocumentScoreMap) -> dict[int, float]:
    """Half the judge's score, 0 without one, and half the scaled path score of every document.

    Source:
        docs/algorithm.md §think-on-graph.8

    """
    return {document: 0.5 * judged.get(document, 0.0) + 0.5 * score for document, score in scaled.items()}


def scale(scores: DocumentScoreMap) -> dict[int, float]:
    """Scores above 0, moved to [0, 1] by least and greatest; all 1 where they are equal.

    Source:
        docs/algorithm.md §think-on-graph.9

    """
    above = {document: score for document, score in scores.items() if score > 0}
    if not above:
        return {}
    low, high = min(above.values()), max(above.values())
    if high == low:
        return dict.fromkeys(above, 1.0)
    return {d: float(np.clip((score - low) / (high - low), 0.0, 1.0)) for d, score in above.items()}


def scale_by_rank(scores: DocumentScoreMap) -> dict[int, float]:
    """Scores above 0 as `1 − p / 2n`: the p-th best of n, from 0; ties in order.

    Path scores have no upper bound, and one document of many paths leaves all others near 0.

    Source:
        docs/algorithm.md §think-on-graph.9

    """
    best = sorted((document for document, score in scores.items() if score > 0), key=lambda d: -scores[d])
    return {document: 1 - place / (2 * len(best)) for place, document in enumerate(best)}


def evidence(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 10) -> dict[int, list[int]]:
    """For each document the triples of its edges on the beams, each once, in the order of the beams."""
    found: dict[int, list[int]] = {}
    for beam in beams:
        for edge in beam.edges:
            triples = found.setdefault(int(graph.document[edge >> 1]), [])
            if edge >> 1 not in triples and len(triples) < most:
                triples.append(edge >> 1)
    return found


def paths_to(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 5) -> dict[int, list[str]]:
    """For each document the paths whose last edge it says, each once, in the order of the beams."""
    return _grouped(((int(graph.document[b.edges[-1] >> 1]), b) for b in beams if b.edges), graph, most)


def paths_through(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 5) -> dict[int, list[str]]:
    """For each document the paths that have one of its edges, each once, in the order of the beams."""
    pairs = ((int(graph.document[edge >> 1]), beam) for beam in beams for edge in beam.edges)
    return _grouped(pairs, graph, most)


def triples_said(beams: Sequence[Beam], graph: KnowledgeGraph, most: int = 5) -> dict[int, list[str]]:
    """For each document the triples it says on the beams as paths of one edge, each once, in the order of the beams."""
    pairs = (
        (int(graph.document[edge >> 1]), Beam(beam.entities[place : place + 2], 0.0, (edge,), (0.0,)))
        for beam in beams
        for place, edge in enumerate(beam.edges)
    )
    return _grouped(pairs, graph, most)


def _grouped(pairs: Iterable[tuple[int, Beam]], graph: KnowledgeGraph, most: int) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for document, beam in pairs:
        paths = found.setdefault(document, [])
        text = path_text(graph, beam)
        if text not in paths and len(paths) < most:
            paths.append(text)
    return found
