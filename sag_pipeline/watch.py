"""Who watches the progress of a run: the log of Dagster, and the command line where it runs the job itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sag_pipeline.work import Progress, silent

_watcher: ContextVar[Progress] = ContextVar("watcher", default=silent)


@contextmanager
def watching(progress: Progress) -> Iterator[None]:
    """Let a listener hear the steps that run in this context."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def watcher() -> Progress:
    """The listener of this context; silent by default."""
    return _watcher.get()
