"""Batches over any executor: results in order, a bounded number under way, and batches that end their worker."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass

from sag_pipeline.work import Batch, Made, do_batch, failed, joined

ENDED: str = "ended its worker: it crashed, or was killed for its memory; remove or split the document"


@dataclass(slots=True)
class _UnderWay:
    batch: Batch
    future: Future[Made]


class ExecutorEngine:
    """Does batches on the workers of a `concurrent.futures.Executor`.

    A worker that dies takes the batches under way with it. They are done again one at a time; a batch that then ends
    its worker again is done document by document, and the document that does so is the one that fails.
    """

    def __init__(self, start: Callable[[], Executor], window: int) -> None:
        """`start` makes an executor, also in place of a broken one; `window`: batches under way at a time."""
        self._start = start
        self._window = window
        self._executor: Executor | None = None

    def map(self, batches: Iterable[Batch]) -> Iterator[Made]:
        """What is made of each batch, in order."""
        under_way: deque[_UnderWay] = deque()
        try:
            for batch in batches:
                under_way.append(self._submitted(batch))
                if len(under_way) >= self._window:
                    yield self._result(under_way)
            while under_way:
                yield self._result(under_way)
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
            return _UnderWay(batch, self._executor.submit(do_batch, batch))
        except BrokenExecutor as error:  # noticed while a batch was handed over
            lost: Future[Made] = Future()
            lost.set_exception(error)
            return _UnderWay(batch, lost)

    def _result(self, under_way: deque[_UnderWay]) -> Made:
        """The result of the first batch; after a worker died, all batches under way are done again one at a time."""
        first = under_way.popleft()
        try:
            return first.future.result()
        except BrokenExecutor:
            self._renew()
        made = self._alone(first.batch)
        for each in list(under_way):
            again: Future[Made] = Future()
            again.set_result(self._finished(each))
            each.future = again
        return made

    def _finished(self, each: _UnderWay) -> Made:
        """The result of a batch that was under way when a worker died."""
        if each.future.done() and not each.future.cancelled() and each.future.exception() is None:
            return each.future.result()
        return self._alone(each.batch)

    def _alone(self, batch: Batch) -> Made:
        """Do a batch while nothing else is under way; if it ends its worker, its documents one by one."""
        try:
            return self._submitted(batch).future.result()
        except BrokenExecutor:
            self._renew()
        if len(batch.documents) == 1:
            return failed(batch, ENDED)
        return joined([self._alone(one) for one in batch.split()])

    def _renew(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)
