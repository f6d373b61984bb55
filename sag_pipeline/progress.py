"""Who watches the progress of a run: the log of Dagster, and the command line where it runs the job itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sag_pipeline.runner import ProgressCallback, ignore_progress

_watcher: ContextVar[ProgressCallback] = ContextVar("watcher", default=ignore_progress)


@contextmanager
def listening(progress: ProgressCallback) -> Iterator[None]:
    """Let a listener hear the steps that run in this context."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def listener() -> ProgressCallback:
    """The listener of this context; silent by default."""
    return _watcher.get()
