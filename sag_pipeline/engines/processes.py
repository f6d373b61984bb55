"""Worker processes of this machine."""

import os
import pickle
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import forkserver, parent_process, resource_tracker
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from types import ModuleType
from typing import Any, Final

from sag_pipeline.engines.bounds import WorkerBounds
from sag_pipeline.engines.executors import WINDOW_PER_WORKER, ExecutorEngine
from sag_pipeline.engines.tasks import Here, Shared

_LOADED: Final = ["sag_pipeline.table_rules", "sag_pipeline.store.step_batch", "sag_pipeline.embed.tasks", "pandas"]
"""What workers are forked with; pyarrow loads pandas with the first list that becomes an array."""


@dataclass(frozen=True, slots=True)
class _InFile:
    """An object that was written to a file once, and is read once by each worker."""

    path: Path

    def get(self) -> Any:  # noqa: ANN401  whatever is shared
        """The object."""
        return _read(self.path)


@lru_cache(maxsize=1)
def _read(path: Path) -> Any:  # noqa: ANN401
    return pickle.loads(path.read_bytes())  # noqa: S301  written by this run in a folder of its own


class ProcessEngine(ExecutorEngine):
    """Does batches in worker processes, which live as long as the engine."""

    def __init__(self, workers: int, bounds: WorkerBounds | None = None) -> None:
        """Start no process yet."""
        super().__init__(lambda: _pool(workers), WINDOW_PER_WORKER * workers, bounds=bounds)
        self._folder: TemporaryDirectory[str] | None = None
        self._files = 0

    def share(self, value: object) -> Shared:
        """Through a file: a pipe would bring it with every batch."""
        if value is None:
            return Here()
        self._folder = self._folder or TemporaryDirectory(prefix="sag-engine-")
        self._files += 1
        path = Path(self._folder.name) / f"{self._files}.pickle"
        path.write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        return _InFile(path)

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


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=_context(), initializer=_prepare)


def _prepare() -> None:
    """End with the run, however it ends."""
    Thread(target=_end_with_run, name="sag-end-with-run", daemon=True).start()


def _end_with_run() -> None:
    """A run that is killed closes nothing: its workers would wait for ever, and whoever reads its output with them."""
    run = parent_process()
    if run is not None:
        run.join()
        os._exit(1)
