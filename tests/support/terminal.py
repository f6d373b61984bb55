"""A command in a pseudo-terminal of a given size, and the screens that its user sees."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
SAG = (sys.executable, "-m", "sag_retrieval.cli.main")


@dataclass
class TerminalRun:
    """How a command ended, and what stood on the screen."""

    exit_code: int
    lines: list[str]
    """All that scrolled off the screen and what is left on it, in order."""
    screen: list[str]
    """What is left on the screen."""
    written: str = ""
    """All that the command wrote, also what it wrote over later, without control sequences."""

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def run_in_terminal(
    *command: str,
    folder: Path,
    columns: int = 80,
    rows: int = 24,
    environment: Mapping[str, str] | None = None,
    stop_when: Callable[[str], bool] | None = None,
) -> TerminalRun:
    """Run `sag` in a pseudo-terminal; with `stop_when`, press Ctrl-C once a screen fulfils it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "", "LINES": "", **(environment or {})}
    del variables["COLUMNS"], variables["LINES"]
    process = subprocess.Popen(
        [*SAG, *command], stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=variables, start_new_session=True
    )
    os.close(slave)
    screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.01)
    stream, written = pyte.ByteStream(screen), b""
    try:
        while (data := _read(master, process)) is not None:
            stream.feed(data)
            written += data
            if stop_when is not None and stop_when("\n".join(screen.display)):
                stop_when = None
                os.killpg(process.pid, signal.SIGINT)
    finally:
        os.close(master)
        if process.poll() is None:
            process.kill()
    left = [line.rstrip() for line in screen.display]
    gone = [_line(row, columns) for row in screen.history.top]
    return TerminalRun(process.wait(), [*gone, *left], left, _CONTROL.sub("", written.decode()))


def _line(row: Mapping[int, pyte.screens.Char], columns: int) -> str:
    return "".join(row[column].data for column in range(columns)).rstrip()


def _read(master: int, process: subprocess.Popen[bytes]) -> bytes | None:
    """Bytes that the command wrote, or None at its end."""
    while True:
        has_ended = process.poll() is not None  # before the look: what it wrote last is there by then
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                return os.read(master, 65_536) or None
            except OSError:  # the other end is closed
                return None
        if has_ended:
            return None


def words_of(lines: Sequence[str]) -> str:
    """Lines as one run of words without spaces: how a text reads wherever it was wrapped."""
    return "".join("".join(lines).split())
