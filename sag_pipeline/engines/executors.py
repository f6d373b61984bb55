"""Batches over any executor, such as processes of this machine: in order, bounded, and past workers that die."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any, Final

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.tasks import Here, Shared, TaskCall, answer, task_of

WINDOW_PER_WORKER: Final = 2
"""Batches under way per worker: one that is done, and one that waits for it."""
ENDED: Final = "ended its worker: it crashed, or was killed for its time or memory; remove or split the document"


@dataclass(slots=True)
class _UnderWay:
    call: TaskCall
    future: Future[Any]


class ExecutorEngine:
    """Does batches on the workers of a `concurrent.futures.Executor`.

    A batch whose worker died is done again, while nothing else is under way; if it ends its worker again, it is split
    into its smallest batches, and the one that ends its worker alone is the one that fails.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        window: int,
        *,
        bounds: WorkerBounds | None = None,
        lost: tuple[type[BaseException], ...] = (BrokenExecutor, MemoryError),
    ) -> None:
        """Start nothing yet.

        Args:
            start: Makes an executor, also in place of a broken one.
            window: Batches under way at a time.
            bounds: What one document may take of a worker.
            lost: What a future raises whose worker died, or could not answer.

        """
        self._start = start
        self._window = window
        self._bounds = bounds
        self._lost = lost
        self._executor: Executor | None = None

    @property
    def workers(self) -> int:
        """How many batches are done at a time."""
        return max(1, self._window // WINDOW_PER_WORKER)

    def share(self, value: object) -> Shared:
        """An object for all batches of a `map`, as workers receive it."""
        return Here(value)

    def map(self, task: str, batches: Iterable[Any], shared: object = None) -> Iterator[Any]:
        """What is made of each batch, in order."""
        call = TaskCall(task, None, self.share(shared), self._bounds)
        under_way: deque[_UnderWay] = deque()
        try:
            for batch in batches:
                under_way.append(self._submitted(replace(call, batch=batch)))
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

    def _submitted(self, call: TaskCall) -> _UnderWay:
        self._executor = self._executor or self._start()
        try:
            return _UnderWay(call, self._executor.submit(answer, call))
        except self._lost as error:  # noticed while a batch was handed over
            future: Future[Any] = Future()
            future.set_exception(error)
            return _UnderWay(call, future)

    def _first(self, under_way: deque[_UnderWay]) -> Any:  # noqa: ANN401  what the task makes
        """The result of the first batch under way."""
        first = under_way.popleft()
        try:
            return first.future.result()
        except self._lost:
            wait([each.future for each in under_way])
            self._renew()
        made = self._alone(first.call)
        for each in under_way:
            if isinstance(each.future.exception(), self._lost):  # a broken pool takes all batches with it
                each.future = _done(self._alone(each.call))
        return made

    def _alone(self, call: TaskCall) -> Any:  # noqa: ANN401
        """Do a batch while nothing else is under way; if it ends its worker again, its parts one by one."""
        try:
            return self._submitted(call).future.result()
        except self._lost:
            self._renew()
        task = task_of(call.task)
        parts: Sequence[Any] = task.split(call.batch)
        if len(parts) == 1:
            return task.failed(call.batch, ENDED)
        return task.joined([self._alone(replace(call, batch=part)) for part in parts])

    def _renew(self) -> None:
        """Forget an executor whose worker died; a broken pool does nothing any more."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _done(made: object) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_result(made)
    return future
