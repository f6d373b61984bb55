"""Batches over any executor, such as processes of this machine: in order, bounded, and past workers that die."""

import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing import forkserver, parent_process, resource_tracker
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import ModuleType
from typing import Any, Final

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.tasks import Engine, TaskCall, answer, task_of

WINDOW_PER_WORKER: Final = 2
"""Batches under way per worker: one that is done, and one that waits for it."""
ENDED: Final = "ended its worker: it crashed, or was killed for its time or memory; remove or split the document"


@dataclass(slots=True)
class _UnderWay:
    call: TaskCall
    future: Future[Any]


class ExecutorEngine(Engine):
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
        """Take what makes an executor, also in place of a broken one, and how many batches are under way at a time.

        `lost`: what a future raises whose worker died, or could not answer.
        """
        self._start = start
        self._window = window
        self._bounds = bounds
        self._lost = lost
        self._executor: Executor | None = None

    @property
    def workers(self) -> int:
        """As its window allows."""
        return max(1, self._window // WINDOW_PER_WORKER)

    def share(self, value: object) -> Callable[[], Any]:
        """What gives an object for all batches of a `map` to workers: here with every call."""
        return partial(_same, value)

    def map(self, task: str, batches: Iterable[Any], shared: object = None) -> Iterator[Any]:
        """Over the workers."""
        call = TaskCall(task, None, None if shared is None else self.share(shared), self._bounds)
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
                each.future = Future()
                each.future.set_result(self._alone(each.call))
        return made

    def _alone(self, call: TaskCall) -> Any:  # noqa: ANN401
        """Do a batch while nothing else is under way; if it ends its worker again, its parts one by one."""
        try:
            return self._submitted(call).future.result()
        except self._lost:
            self._renew()
        task = task_of(call.task)
        parts = task.split(call.batch)
        if len(parts) == 1:
            return task.failed(call.batch, ENDED)
        return task.joined([self._alone(replace(call, batch=part)) for part in parts])

    def _renew(self) -> None:
        """Forget an executor whose worker died; a broken pool does nothing any more."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _same(value: object) -> object:
    return value


_LOADED: Final = ["sag_pipeline.table_rules", "sag_pipeline.store.step_batch", "sag_pipeline.embed.tasks", "pandas"]
"""What workers are forked with; pyarrow loads pandas with the first list that becomes an array."""


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:  # noqa: ANN401  whatever is shared
    return pickle.loads(path.read_bytes())  # noqa: S301  written by this run in a folder of its own


class ProcessEngine(ExecutorEngine):
    """Does batches in worker processes, which live as long as the engine."""

    def __init__(self, workers: int, bounds: WorkerBounds | None = None) -> None:
        """Start no process yet."""
        super().__init__(
            lambda: ProcessPoolExecutor(workers, mp_context=_context(), initializer=_prepare),
            WINDOW_PER_WORKER * workers,
            bounds=bounds,
        )
        self._folder: TemporaryDirectory[str] | None = None
        self._files = 0

    def share(self, value: object) -> Callable[[], Any]:
        """Through a file, which each worker reads once: a pipe would bring it with every batch."""
        self._folder = self._folder or TemporaryDirectory(prefix="sag-engine-")
        self._files += 1
        path = Path(self._folder.name) / f"{self._files}.pickle"
        path.write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        return partial(_read, path)

    def close(self) -> None:
        """End the processes and delete what they shared."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()


class _Process(ForkServerProcess):
    """A process that does not run the main module of this one: without a guard, that would start the run again."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: ANN401, N802  as multiprocessing names it
        with _another_main(), _without_signals():
            return ForkServerProcess._Popen(process_obj)  # noqa: SLF001  its only seam

    def terminate(self) -> None:
        """End it: a pool that broke ends its workers in this way, and they leave SIGTERM to the run."""
        self.kill()


class _Context(ForkServerContext):
    """Workers are forked from a small server process, never from this one, which has threads."""

    Process = _Process


@contextmanager
def _another_main() -> Iterator[None]:
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _without_signals() -> Iterator[None]:
    """Start processes that leave Ctrl-C and SIGTERM, which reach all processes of a run, to the run, which ends them.

    The mask is theirs from their first instruction; a handler is set only after the modules are loaded, and until then
    Ctrl-C in a terminal, which reaches them too, would print their traceback over the progress.
    """
    resource_tracker.ensure_running()  # started on the way, it would unblock what is blocked here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def load_ahead() -> None:
    """Start the server process that workers are forked from, and wait for nothing."""
    _context()
    with _another_main(), _without_signals():
        forkserver.ensure_running()


def _context() -> _Context:
    context = _Context()
    context.set_forkserver_preload(_LOADED)
    return context


def _prepare() -> None:
    """End with the run: one that is killed closes nothing, and its workers would wait for ever."""

    def end() -> None:
        if run := parent_process():
            run.join()
            os._exit(1)

    Thread(target=end, name="sag-end-with-run", daemon=True).start()
