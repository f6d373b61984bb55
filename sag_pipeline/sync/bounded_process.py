"""Run the child process in which files are converted, within limits that the kernel enforces too."""

import logging
import math
import os
import re
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

from sag_pipeline.engines.bounds import memory_of
from sag_pipeline.sources.conversion import load_converters
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.folders import SourceOptions
from sag_retrieval.language.words import without_breaks

_LOOK = 0.5
"""Seconds between two looks whether the parent is alive."""
_MOST_NOTES = 5
"""Different warnings that are kept of one file."""
_NOTE_LENGTH = 200
_ADDRESS = re.compile(" at 0x[0-9a-f]+")
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def serve(connection: Connection) -> None:
    """Parse documents until the connection closes.

    Each answer is the document (None: out of memory), the peak of memory, and what the parsers warned of.
    """
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    options: SourceOptions = connection.recv()
    load_converters()
    _limit_memory(2 * options.conversion_memory)
    connection.send(os.getpid())
    _silence()
    notes = _Notes()
    while True:
        try:
            raw = connection.recv()
        except EOFError:
            return
        _allow_seconds(options.conversion_seconds)
        try:
            document = parse_document(raw, options)
        except MemoryError:
            document = None
        connection.send((document, _peak(), notes.taken()))


def _end_with(parent: int) -> None:
    """End this process and the programs that it started as soon as its parent has died, however long a file takes."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os.killpg(os.getpid(), signal.SIGKILL)


class _Notes(logging.Handler):
    """Collects what libraries log and warn of while they read one file."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: Counter[str] = Counter()
        logging.getLogger().addHandler(self)
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)  # about code, not about the file
        warnings.showwarning = lambda message, *_: self._add(str(message))

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record of a logger."""
        self._add(record.getMessage())

    def _add(self, message: str) -> None:
        text = _ADDRESS.sub("", without_breaks(message))[:_NOTE_LENGTH]
        if text in self._said or len(self._said) < _MOST_NOTES:
            self._said[text] += 1

    def taken(self) -> str:
        """What was collected since the last call, each once with how often it came."""
        said, self._said = self._said, Counter()
        shown = [f"{text} ({count} times)" if count > 1 else text for text, count in said.items()]
        return "; ".join(shown)


def _limit_memory(more: int) -> None:
    """Limit the growth of the address space: a single huge allocation fails before the parent could notice it.

    The parent watches resident memory; only Linux reports how much address space is used already.
    """
    if taken := memory_of("self", 0):
        resource.setrlimit(resource.RLIMIT_AS, (taken + more, taken + more))


def _allow_seconds(seconds: int) -> None:
    """Limit processor time from now on; the kernel ends the process after it."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _silence() -> None:
    """Discard what parsers print; an interrupt from the terminal is handled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)


def _peak() -> int:
    """Peak of resident bytes of this process.

    On Linux not by `getrusage`, which includes the memory of the parent before this program began.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        found = _PEAK.search(status.read_text(encoding="ascii", errors="replace"))
        return int(found[1]) * 1024 if found else 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
