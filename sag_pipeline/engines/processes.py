"""The engine of several processes on this machine."""

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import BaseContext

from sag_pipeline.engines.ordered import ExecutorEngine
from sag_pipeline.work import Batch, Made, do_batch

_WINDOW_PER_WORKER = 2
"""Batches under way per worker: one that is done, and one that waits for it."""


class ProcessEngine(ExecutorEngine):
    """Does batches in worker processes."""

    def __init__(self, workers: int, do: Callable[[Batch], Made] = do_batch) -> None:
        """Start no process yet."""
        super().__init__(lambda: _pool(workers), _WINDOW_PER_WORKER * workers, do=do)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=_context(), initializer=_prepare)


def _context() -> BaseContext:
    """Workers are forked from a small server process, never from this one, which has threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sag_pipeline.rules.by_table", "sag_pipeline.work"])
    return context


def _prepare() -> None:
    """Leave Ctrl-C to the run: it ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
