"""Batches over any executor, such as processes of this machine: in order, bounded, and past workers that die."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Final

from sag_pipeline.work import Batch, Made, do_batch, failed, joined

_WINDOW_PER_WORKER = 2
"""Batches under way per worker: one that is done, and one that waits for it."""
ENDED: Final = "ended its worker: it crashed, or was killed for its memory; remove or split the document"


@dataclass(slots=True)
class _UnderWay:
    batch: Batch
    future: Future[Made]


class ExecutorEngine:
    """Does batches on the workers of a `concurrent.futures.Executor`.

    A batch whose worker died is done again, while nothing else is under way; if it ends its worker again, it is done
    document by document, and the document that does so is the one that fails.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        window: int,
        *,
        do: Callable[[Batch], Made] = do_batch,
        lost: tuple[type[BaseException], ...] = (BrokenExecutor,),
    ) -> None:
        """Start nothing yet.

        Args:
            start: Makes an executor, also in place of a broken one.
            window: Batches under way at a time.
            do: What a worker does with a batch.
            lost: What a future raises whose worker died.

        """
        self._start = start
        self._window = window
        self._do = do
        self._lost = lost
        self._executor: Executor | None = None

    def map(self, batches: Iterable[Batch]) -> Iterator[Made]:
        """What is made of each batch, in order."""
        under_way: deque[_UnderWay] = deque()
        try:
            for batch in batches:
                under_way.append(self._submitted(batch))
                if len(under_way) >= self._window:
                    yield self._first(under_way)
            while under_way:
                yield self._first(under_way)
        finally:
            for each in under_way:
                each.future.cancel()

    def close(self) -> None:
        """End the workers."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)

    def _submitted(self, batch: Batch) -> _UnderWay:
        self._executor = self._executor or self._start()
        try:
            return _UnderWay(batch, self._executor.submit(self._do, batch))
        except self._lost as error:  # noticed while a batch was handed over
            future: Future[Made] = Future()
            future.set_exception(error)
            return _UnderWay(batch, future)

    def _first(self, under_way: deque[_UnderWay]) -> Made:
        """The result of the first batch under way."""
        first = under_way.popleft()
        try:
            return first.future.result()
        except self._lost:
            wait([each.future for each in under_way])
            self._renew()
        made = self._alone(first.batch)
        for each in under_way:
            if each.future.exception() is not None:  # a broken pool takes all batches with it
                each.future = _done(self._alone(each.batch))
        return made

    def _alone(self, batch: Batch) -> Made:
        """Do a batch while nothing else is under way; if it ends its worker, its documents one by one."""
        try:
            return self._submitted(batch).future.result()
        except self._lost:
            self._renew()
        if len(batch.documents) == 1:
            return failed(batch, ENDED)
        return joined([self._alone(one) for one in batch.split()])

    def _renew(self) -> None:
        """Forget an executor whose worker died; a broken pool does nothing any more."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _done(made: Made) -> "Future[Made]":
    future: Future[Made] = Future()
    future.set_result(made)
    return future


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
