"""Bounds on what one document may take of a worker: seconds and memory, enforced by the kernel and by a watchdog."""

import faulthandler
import os
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from sag_retrieval.core.options import Bounds, CheckedOptions

_GRACE: Final = 1.5
"""Code that does not return to Python within this multiple of the time has its worker ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBounds(CheckedOptions):
    """What one document may take of a worker of an engine."""

    worker_seconds: Annotated[int, Bounds(1)] = 300
    """Seconds that the rules of one step may take for one document; it is skipped after them."""
    worker_memory: Annotated[int, Bounds(100_000_000)] = 4_000_000_000
    """Bytes that a worker may take in addition to what it has; the document that needs more is skipped."""


_current: WorkerBounds | None = None
_is_timed = False
"""Bounds of what this process does, and whether a document is under way."""


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
    _current = bounds
    try:
        if taken := memory_of("self", 5):
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
    global _is_timed  # noqa: PLW0603
    if _current is None:
        yield
        return
    seconds, before = _current.worker_seconds, signal.signal(signal.SIGALRM, _interrupt)
    try:
        _is_timed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        faulthandler.dump_traceback_later(_GRACE * seconds + 1, exit=True, file=_nowhere())
        yield
    finally:
        _is_timed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def reason_of(error: Exception) -> str:
    """Why a document failed, in one sentence."""
    if _current is not None and isinstance(error, MemoryError):
        most = _current.worker_memory
        return too_much("it", f"{most:,} bytes of memory", "document", worker_memory=most)
    return str(error) if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"


def _interrupt(*_: object) -> None:
    if _current is not None and _is_timed:
        seconds = _current.worker_seconds
        raise TimeoutError(too_much("it", f"{seconds} s", "document", worker_seconds=seconds))


def too_much(what: str, bound: str, file: str, **option: int) -> str:
    """Why a document or file was given up, and how it may have twice as much."""
    ((name, value),) = option.items()
    return (
        f"{what} needs more than {bound}; split the {file}, or raise the bound: `sag ingest --set {name}={2 * value}`"
    )


def memory_of(process: int | str, column: int) -> int:
    """Bytes in a column of `/proc/<process>/statm`; 0 where the system does not report them.

    Columns are 0 for the address space, 1 for what is resident, 5 for private writable memory.
    """
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[column]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
