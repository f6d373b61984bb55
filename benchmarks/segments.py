"""Choosing segments in linear time against brute force: seconds, their ratio, and that the answers are equal.

`python benchmarks/segments.py` prints a table.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sag_retrieval.segments import PRESETS, best_segments, chunk_values

RESULTS = Path(__file__).parent / "results"
SIZES = (200, 500, 1_000, 2_000, 5_000, 20_000)
BRUTE_FORCE_UP_TO = 20_000
HITS = 200
REPEATS = 3


def brute_force(
    values: Sequence[float], ends: Sequence[int], longest: int, budget: int, minimum: float
) -> list[tuple[int, int]]:
    """Every run in every round, by the definition; sums grow with the run, so not even the slowest way."""
    chosen: list[tuple[int, int]] = []
    left = budget
    while left > 0:
        runs = _runs(values, set(ends), chosen, min(longest, left))
        best = min(runs, default=(0.0, 0, 0))
        if best[1] == best[2] or -best[0] < minimum:
            break
        chosen.append(best[1:])
        left -= best[2] - best[1]
    return chosen


def _runs(
    values: Sequence[float], borders: set[int], chosen: Sequence[tuple[int, int]], longest: int
) -> Iterator[tuple[float, int, int]]:
    for start, first in enumerate(values):
        if first < 0 or any(s <= start < e for s, e in chosen):
            continue
        total = 0.0
        for end in range(start + 1, min(start + longest, len(values)) + 1):
            total += values[end - 1]
            if any(s < end <= e for s, e in chosen):
                break
            if values[end - 1] >= 0:
                yield -total, start, end
            if end in borders:
                break


def case(count: int, preset: str) -> tuple[list[float], list[int]]:
    """Values of chunks in documents of about 100, 200 of them hits that come in bunches."""
    draw = random.Random(count)
    places: dict[int, None] = {}
    while len(places) < min(HITS, count // 2):
        middle = draw.randrange(count)
        for place in range(middle, min(middle + draw.randint(1, 6), count)):
            places.setdefault(place)
    ranks, relevance = np.full(count, 1000.0), np.zeros(count)
    order = list(places)
    draw.shuffle(order)
    ranks[order] = np.arange(len(order))
    relevance[order] = np.linspace(1.0, 0.3, len(order))
    values = np.round(chunk_values(ranks, relevance, PRESETS[preset]) * 1024) / 1024  # sums are exact
    return values.tolist(), [*range(100, count, 100), count]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of some runs, and what came out."""
    best, answer = float("inf"), None
    for _ in range(REPEATS):
        started = time.perf_counter()
        answer = work()
        best = min(best, time.perf_counter() - started)
    return best, answer


def main() -> None:
    """Print the table and write it as JSON."""
    rows = []
    for preset, options in PRESETS.items():
        for count in SIZES:
            values, ends = case(count, preset)
            limits = options.max_length, options.overall_max_length, options.minimum_value
            fast, runs = seconds(lambda v=values, e=ends, n=limits: best_segments([v], e, *n))
            row = {
                "preset": preset,
                "chunks": count,
                "segments": len(runs),
                "linear ms": round(1e3 * fast, 2),
            }
            if count <= BRUTE_FORCE_UP_TO:
                slow, expected = seconds(lambda v=values, e=ends, n=limits: brute_force(v, e, *n))
                row |= {"brute force ms": round(1e3 * slow, 1), "ratio": round(slow / fast, 1)}
                row["equal"] = [(run.start, run.end) for run in runs] == expected
            rows.append(row)
    print(pd.DataFrame(rows).to_string(index=False))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "segments.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
