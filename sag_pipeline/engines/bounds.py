"""Bounds on what one document may take of a worker: seconds and memory, enforced by the kernel and by a watchdog."""

import faulthandler
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from sag_retrieval.core.options import Bounds, check_options

_GRACE: Final = 1.5
"""Code that does not return to Python within this multiple of the time has its worker ended."""
_DATA: Final = "VmData:"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBounds:
    """What one document may take of a worker of an engine."""

    worker_seconds: Annotated[int, Bounds(1)] = 300
    """Seconds that the rules of one step may take for one document; it is skipped after them."""
    worker_memory: Annotated[int, Bounds(100_000_000)] = 4_000_000_000
    """Bytes that a worker may take in addition to what it has; the document that needs more is skipped."""

    def __post_init__(self) -> None:
        """Refuse impossible bounds."""
        check_options(self)


_current: WorkerBounds | None = None


@contextmanager
def within(bounds: WorkerBounds | None) -> Iterator[None]:
    """Apply bounds to what this process does; none without bounds, and none in threads of the process of the run."""
    global _current  # noqa: PLW0603  a worker does one thing at a time
    if bounds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    _current = bounds
    try:
        if taken := _data():
            most = taken + bounds.worker_memory
            resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
        yield
    finally:
        _current = None
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def one_document() -> Iterator[None]:
    """Limit the time of what is done here, if bounds apply.

    Raises:
        TimeoutError: In the middle of what takes too long.

    """
    bounds = _current
    if bounds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, bounds.worker_seconds)
    with Path(os.devnull).open("w", encoding="ascii") as nowhere:
        faulthandler.dump_traceback_later(_GRACE * bounds.worker_seconds + 1, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def reason_of(error: Exception) -> str:
    """Why a document failed, in one sentence."""
    bounds = _current
    if bounds is not None and isinstance(error, MemoryError):
        more = 2 * bounds.worker_memory
        return (
            f"it needs more than {bounds.worker_memory:,} bytes of memory; split the document, or raise the bound: "
            f"`sag ingest --set worker_memory={more}`"
        )
    return str(error) if isinstance(error, _TooLongError) else f"{type(error).__name__}: {error}"


class _TooLongError(TimeoutError):
    """A document took longer than its bound."""


def _interrupt(*_: object) -> None:
    seconds = _current.worker_seconds if _current else 0
    raise _TooLongError(
        f"it needs more than {seconds} s; split the document, or raise the bound: "
        f"`sag ingest --set worker_seconds={2 * seconds}`"
    )


def _data() -> int:
    """Bytes of private writable memory of this process; 0 where the system does not report them."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0
    lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(_DATA)), 0)
