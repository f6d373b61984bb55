"""Read found documents under bounds: files are converted in a child process, which is ended when it breaks one.

Several readers convert on all cores; what they read comes back in its order.
"""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import blake2b
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Self

from sag_pipeline.engines.bounds import memory_of, too_much
from sag_pipeline.sources.bucket_source import drop, fetch
from sag_pipeline.sources.conversion import is_converted, parser_versions
from sag_pipeline.sources.documents import parse_document, skipped
from sag_pipeline.sources.folders import SourceOptions
from sag_pipeline.sources.listing import RawDocument
from sag_retrieval.core.errors import SourceError
from sag_retrieval.core.records import Document, Quarantined

_PERIOD = 0.05
"""Seconds between two checks of the memory of the process."""
_PATIENCE = 10
"""Seconds of wall clock per second of processor time: a process that only waits ends too."""
_START = 300
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


@dataclass(slots=True)
class _Process:
    """A running converter."""

    popen: subprocess.Popen[bytes]
    connection: Connection

    def end(self) -> int:
        """End the process and the programs that it started; returns its exit code, negative for a signal."""
        self.connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        return self.popen.wait()


class BoundedReader:
    """Reads found documents one at a time; the converting process starts with the first file that needs it.

    Texts and JSON lines are read in this process: that takes time linear in their bytes, which are bounded.
    """

    def __init__(self, options: SourceOptions) -> None:
        self.options = options
        self.notes = ""
        """What the parsers of the last file warned of."""
        self._process: _Process | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def pid(self) -> int | None:
        """The id of the converting process, while one runs."""
        return self._process.popen.pid if self._process else None

    def read(self, raw: RawDocument) -> Document | Quarantined:
        """The document, or why it is skipped: its content, a bound it breaks, a converter that crashed.

        Raises:
            SourceError: If the converting process cannot be started.
        """
        self.notes = ""
        if raw.remote is None:
            return self._read(raw)
        try:
            fetch(Path(raw.file), raw.remote)
        except OSError as error:
            return skipped(raw, f"cannot be fetched: {error}", is_passing=True)
        try:
            return self._read(raw)
        finally:
            if raw.line is None:  # lines of one file are read one by one
                drop(Path(raw.file))

    def _read(self, raw: RawDocument) -> Document | Quarantined:
        try:
            if is_converted(raw.suffix):
                return self._convert(raw)
            return parse_document(raw, self.options)
        except SourceError:
            raise
        except Exception as error:  # noqa: BLE001  a fault of one document must not end the run
            self._end()  # its answer may still arrive
            return skipped(raw, f"could not be read: {type(error).__name__}: {error}")

    def _convert(self, raw: RawDocument) -> Document | Quarantined:
        process = self._asked(raw)
        deadline = time.monotonic() + _PATIENCE * self.options.conversion_seconds
        while not process.connection.poll(_PERIOD):
            if memory_of(process.popen.pid, 1) > self.options.conversion_memory:  # of its peak it tells at the end
                self._end()
                return skipped(raw, _over_memory(self.options))
            if time.monotonic() > deadline:
                self._end()
                return skipped(raw, _over_time(self.options))
        try:
            answer: tuple[Document | Quarantined | None, int, str] = process.connection.recv()
        except (EOFError, OSError):
            return self._crashed(raw)
        document, peak, self.notes = answer
        if document is None or peak > self.options.conversion_memory:
            self._end()
            return skipped(raw, _over_memory(self.options))
        if peak > self.options.conversion_memory // 2:  # memory it keeps would count against the next file
            self._end()
        return document

    def _asked(self, raw: RawDocument) -> _Process:
        """The process, after it received a file; a new one if the last one ended since."""
        process = self._process or self._started()
        try:
            process.connection.send(raw)
        except OSError:
            self._end()
            process = self._started()
            process.connection.send(raw)
        return process

    def _started(self) -> _Process:
        """A new interpreter, not a fork, because this process has threads; with the same module path."""
        ours, theirs = Pipe()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109  as the import system does
        with theirs:
            popen = subprocess.Popen(  # noqa: S603  this interpreter, a module of ours
                [sys.executable, "-P", "-m", "sag_pipeline.sync.bounded_process", str(theirs.fileno())],
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # a group of its own, which ends together
            )
        self._process = _Process(popen, ours)
        try:
            ours.send(self.options)
            if ours.poll(_START):
                ours.recv()
                return self._process
        except (EOFError, OSError):
            pass
        raise SourceError(
            f"the converting process cannot be started (exit code {self._end()}); "
            f"see the output of `{Path(sys.executable).name} -m sag_pipeline.sync.bounded_process`"
        )

    def _crashed(self, raw: RawDocument) -> Quarantined:
        process = self._process
        assert process is not None
        process.connection.close()
        self._process = None
        code = process.popen.wait()
        if code == -signal.SIGXCPU:
            return skipped(raw, _over_time(self.options))
        if code >= 0:
            return skipped(raw, f"the converter ended with exit code {code}; repair or remove the file")
        name = signal.Signals(-code).name
        if -code in _FROM_OUTSIDE:
            return skipped(raw, f"the converter was killed ({name}); the next run tries again", is_passing=True)
        return skipped(raw, f"the converter crashed ({name}); repair or remove the file")

    def _end(self) -> int:
        process, self._process = self._process, None
        return process.end() if process else 0


def _over_time(options: SourceOptions) -> str:
    most = options.conversion_seconds
    return too_much("converting it", f"{most} s", "file", conversion_seconds=most)


def _over_memory(options: SourceOptions) -> str:
    most = options.conversion_memory
    return too_much("converting it", f"{most:,} bytes of memory", "file", conversion_memory=most)


def refusal_of(state: str, options: SourceOptions) -> str:
    """The hash of everything that decides whether a document is skipped: its version, the bounds, parser versions."""
    return blake2b(repr((state, options, parser_versions())).encode(), digest_size=16).hexdigest()


ReadDocument = tuple[Document | Quarantined, str]
"""A document, or why it is skipped, and what its parser warned of."""


def read_all(found: Iterable[RawDocument], options: SourceOptions, count: int) -> Generator[ReadDocument]:
    """What is read of each document, in order, with this number of converting processes.

    At most twice as many documents are under way or unread.

    Raises:
        SourceError: If a converting process cannot be started.
    """
    free: SimpleQueue[BoundedReader] = SimpleQueue()
    under_way: deque[Future[ReadDocument] | RawDocument] = deque()

    def converted(raw: RawDocument) -> ReadDocument:
        reader = free.get()
        try:
            return reader.read(raw), reader.notes
        finally:
            free.put(reader)

    # Readers end first, or threads would be awaited as long as a file takes.
    with ThreadPoolExecutor(count, "sag-read") as threads, ExitStack() as stack:
        here, *others = (stack.enter_context(BoundedReader(options)) for _ in range(1 + count))
        for reader in others:
            free.put(reader)

        def first() -> ReadDocument:
            each = under_way.popleft()
            return (here.read(each), here.notes) if isinstance(each, RawDocument) else each.result()

        try:
            for raw in found:
                waits = raw.remote is not None or is_converted(raw.suffix)
                under_way.append(threads.submit(converted, raw) if waits else raw)
                if len(under_way) >= 2 * count:
                    yield first()
            while under_way:
                yield first()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
