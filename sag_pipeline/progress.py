"""The progress callback of the current context: set by the command line, called by every step of a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sag_pipeline.runner import ProgressCallback, ignore_progress

_watcher: ContextVar[ProgressCallback] = ContextVar("watcher", default=ignore_progress)


@contextmanager
def listening(progress: ProgressCallback) -> Iterator[None]:
    """Report the progress of all steps that run in this context to a callback."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def listener() -> ProgressCallback:
    """The callback of this context; it ignores progress by default."""
    return _watcher.get()
