"""How many lists of a vector index a search has to read: measured on sampled rows against the exact scan."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.publish.lance_source import Floats, LanceSource

_RECALL_GOAL: Final = 0.95
_QUESTIONS: Final = 32
_NEAREST: Final = 50
_PROBES: Final = (20, 50, 100, 200, 400, 800)
_REFINE: Final = 3
_BLOCK: Final = 65_536


def calibrate(table: Any, source: LanceSource) -> Mapping[str, Any]:  # noqa: ANN401  lancedb ships no types
    """The fewest probes of `_PROBES` that reach the recall goal, and the recall they reach."""
    ids = source.ids
    questions = source.take(np.linspace(0, len(ids) - 1, _QUESTIONS).astype(np.int64))
    nearest = exact_nearest(source.blocks(_BLOCK), questions, _NEAREST)
    truth = [set(ids.take(pa.array(found)).to_pylist()) for found in nearest]
    recall, probes = 0.0, _PROBES[0]
    for probes in _PROBES:
        found = [_search(table, question, probes) for question in questions]
        recall = sum(len(f & t) / max(1, len(t)) for f, t in zip(found, truth, strict=True)) / len(truth)
        if recall >= _RECALL_GOAL:
            break
    return {"nprobes": probes, "refine_factor": _REFINE, "recall_at_50": round(recall, 4)}


def exact_nearest(blocks: Iterable[Floats], questions: Floats, k: int) -> npt.NDArray[np.int64]:
    """Shape (questions, k): rows of the highest products, in no order; one pass over the vectors for all questions."""
    rows, scores = np.zeros((len(questions), 0), np.int64), np.zeros((len(questions), 0), np.float32)
    start = 0
    for block in blocks:
        product = questions @ block.T
        scores = np.concatenate([scores, product], axis=1)
        rows = np.concatenate([rows, np.broadcast_to(np.arange(start, start + len(block)), product.shape)], axis=1)
        start += len(block)
        if scores.shape[1] > k:
            best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
            rows, scores = np.take_along_axis(rows, best, axis=1), np.take_along_axis(scores, best, axis=1)
    return rows


def _search(table: Any, question: Floats, probes: int) -> set[str]:  # noqa: ANN401
    asked = table.search(question).distance_type("cosine").nprobes(probes).refine_factor(_REFINE)
    return set(asked.select(["id", "_distance"]).limit(_NEAREST).to_arrow()["id"].to_pylist())
