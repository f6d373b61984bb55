"""How long work takes, question by question."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np


def timed(work: Callable[[str], object], asked: Sequence[str]) -> dict[str, float]:
    """Milliseconds of one call a question: median and 95th percentile."""
    seconds = []
    for question in asked:
        start = perf_counter()
        work(question)
        seconds.append(perf_counter() - start)
    return {"p50_ms": 1e3 * float(np.median(seconds)), "p95_ms": 1e3 * float(np.quantile(seconds, 0.95))}


def forget(folder: Path) -> None:
    """Write the files of a folder out and drop them from the page cache, so that the next reader reads the disk."""
    for path in filter(Path.is_file, sorted(folder.rglob("*"))):
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(number)
