"""Bounds on what one document may take of a worker: seconds and memory, enforced by the kernel and by a watchdog."""

import faulthandler
import math
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from sag_retrieval.core.options import Bounds, CheckedOptions

_GRACE: Final = 1.5
"""Code that does not return to Python within this multiple of the time has its worker ended."""
_LEAST_GRACE: Final = 0.9
"""The watchdog is set again for a document that would have less than this share of that time."""
_DATA: Final = "VmData:"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBounds(CheckedOptions):
    """What one document may take of a worker of an engine."""

    worker_seconds: Annotated[int, Bounds(1)] = 300
    """Seconds that the rules of one step may take for one document; it is skipped after them."""
    worker_memory: Annotated[int, Bounds(100_000_000)] = 4_000_000_000
    """Bytes that a worker may take in addition to what it has; the document that needs more is skipped."""


@dataclass(slots=True)
class _Watch:
    """The timer and the watchdog of a batch, which stay set from one document to the next: that costs time itself."""

    bounds: WorkerBounds
    ends: float = math.inf
    """When the document under way has used its time."""
    is_ringing: bool = False
    """Whether the timer is set."""
    ended_at: float = 0.0
    """When the watchdog ends this process."""
    before: Any = None
    """What SIGALRM did."""

    def start(self) -> None:
        """Begin a document."""
        now, seconds = time.monotonic(), self.bounds.worker_seconds
        self.ends = now + seconds
        if not self.is_ringing:
            self.is_ringing, before = True, signal.signal(signal.SIGALRM, _interrupt)
            self.before = before if self.before is None else self.before
            signal.setitimer(signal.ITIMER_REAL, seconds)
        most = _GRACE * seconds + 1
        if self.ended_at < now + _LEAST_GRACE * most:
            faulthandler.dump_traceback_later(most, exit=True, file=_nowhere())
            self.ended_at = now + most

    def stop(self) -> None:
        """Leave no timer and no watchdog behind."""
        self.ends = math.inf
        if self.ended_at:
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self.before)


_current: _Watch | None = None


@cache
def _nowhere() -> int:
    """A descriptor for the report of the watchdog, which nobody reads; open as long as this process."""
    return os.open(os.devnull, os.O_WRONLY)


@contextmanager
def within(bounds: WorkerBounds | None) -> Iterator[None]:
    """Apply bounds to what this process does; none without bounds, and none in threads of the process of the run."""
    global _current  # noqa: PLW0603  a worker does one thing at a time
    if bounds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    watch = _current = _Watch(bounds)
    try:
        if taken := _data():
            most = taken + bounds.worker_memory
            resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
        yield
    finally:
        watch.stop()
        _current = None
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def one_document() -> Iterator[None]:
    """Limit the time of what is done here, if bounds apply.

    Raises:
        TimeoutError: In the middle of what takes too long.
    """
    watch = _current
    if watch is None:
        yield
        return
    watch.start()
    try:
        yield
    finally:
        watch.ends = math.inf


def reason_of(error: Exception) -> str:
    """Why a document failed, in one sentence."""
    if _current is not None and isinstance(error, MemoryError):
        most = _current.bounds.worker_memory
        return (
            f"it needs more than {most:,} bytes of memory; split the document, or raise the bound: "
            f"`sag ingest --set worker_memory={2 * most}`"
        )
    return str(error) if isinstance(error, _TooLongError) else f"{type(error).__name__}: {error}"


class _TooLongError(TimeoutError):
    """A document took longer than its bound."""


def _interrupt(*_: object) -> None:
    """The timer rang: for the document under way, or for one that was done long ago.

    Raises:
        TimeoutError: If the document under way has used its time.
    """
    watch = _current
    if watch is None:
        return
    left = watch.ends - time.monotonic()
    watch.is_ringing = 0 < left < math.inf
    if watch.is_ringing:
        signal.setitimer(signal.ITIMER_REAL, left)
    elif left <= 0:
        seconds = watch.bounds.worker_seconds
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
