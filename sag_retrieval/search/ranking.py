"""From scores of all chunks to the best of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from sag_retrieval.core.types import Flags, Floats, Rows
from sag_retrieval.release.topk import kth_largest
from sag_retrieval.search.method import Ranking


@dataclass(slots=True)
class Stopwatch:
    """Seconds that each named stage took; time is measured, never used."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time the block that follows `with stopwatch("stage"):`."""
        start = perf_counter()
        yield
        self.seconds[stage] = perf_counter() - start


def best_rows(scores: Floats, k: int, allowed: Flags | None = None) -> Rows:
    """The k best allowed rows, best first, ties by row; fewer only where fewer are allowed.

    Rows with score 0 are found only under a restriction: three that fit among a million are three results.
    """
    rows = np.flatnonzero(scores > 0 if allowed is None else allowed)
    rows = rows[scores[rows] >= kth_largest(scores[rows], k)]
    return rows[np.argsort(-scores[rows], kind="stable")][: max(k, 0)].astype(np.int32)


def rank_by(
    scores: Floats,
    k: int,
    allowed: Flags | None = None,
    parts: Mapping[str, Floats] | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Ranking:
    """The ranking that scores of all chunks give, with the parts of the chosen ones."""
    rows = best_rows(scores, k, allowed)
    return Ranking(
        chunks=rows,
        scores=scores[rows],
        parts={name: part[rows] for name, part in (parts or {}).items()},
        seconds=seconds or {},
    )
