"""The process in which files are converted: it reads what it is sent, within bounds that the kernel keeps too."""

import math
import os
import re
import resource
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

from sag_pipeline.steps.conversion import load_converters
from sag_pipeline.steps.documents import parse_document
from sag_pipeline.steps.folders import SourceOptions

_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def serve(connection: Connection) -> None:
    """Read documents until the other end closes; each answer is the document, or None without memory, and the peak."""
    options: SourceOptions = connection.recv()
    load_converters()
    _limit_memory(2 * options.conversion_memory)
    connection.send(os.getpid())
    _silence()
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
        connection.send((document, _peak()))


def _limit_memory(more: int) -> None:
    """Let the address space grow by so much at most: a single huge request fails before anyone could look.

    Whoever started this process watches its resident memory; only Linux tells how much is taken already.
    """
    statm = Path("/proc/self/statm")
    if statm.is_file():
        taken = int(statm.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + more, taken + more))


def _allow_seconds(seconds: int) -> None:
    """Processor time from now on; the kernel ends the process after it, whatever it does."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _silence() -> None:
    """What parsers print or warn goes nowhere; an interrupt of the terminal is for the run to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)


def _peak() -> int:
    """The most resident bytes this process ever had.

    Not by `getrusage` where there is another way: on Linux that counts what the parent had before this program began.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        found = _PEAK.search(status.read_text(encoding="ascii", errors="replace"))
        return int(found[1]) * 1024 if found else 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
