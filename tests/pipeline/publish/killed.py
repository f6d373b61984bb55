"""Publishing in a process of its own that is killed before one of its changes of the disk."""

import os
import signal
import sys
from dataclasses import replace
from itertools import count
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sag_pipeline.publish.changes import Layering
from tests.pipeline.publish.histories import Home

CALLS = frozenset({"os.rename", "os.remove", "os.rmdir", "os.link", "shutil.rmtree"})
"""Audit events of calls that change names on disk; an `open` for writing is the other one.

Every run must count the same changes. So only what lies below the home counts (the first run alone writes the bytecode
of modules), and no folder that is made: threads that make the same folder try it once more or less by chance, and a kill
before the next change shows the folder anyway. Paths that are relative are those that `shutil.rmtree` removes.
"""
_server = forkserver.ForkServer()  # one without threads, which has imported everything; that of the engines is another
_server.set_forkserver_preload(["tests.pipeline.publish.fork_server"])


def publish_killed(home: Home, before: int = 0) -> tuple[int, str]:
    """Publish; kill the process before this change of the disk, if it comes to it; its exit code and its changes."""
    log = home.folder.with_name(f"{home.folder.name}.changes")
    log.unlink(missing_ok=True)
    given = (home.folder, home.is_dense, home.layering, home.clock, before, log)
    process = get_context("forkserver").Process(target=_publish, args=given)
    with patch.object(forkserver, "connect_to_new_process", _server.connect_to_new_process):
        process.start()
    process.join(600)
    assert process.exitcode is not None, "the process ends within ten minutes"
    return process.exitcode, log.read_text(encoding="utf-8")


def _publish(
    folder: Path,
    is_dense: bool,  # noqa: FBT001
    layering: Layering,
    clock: int,
    before: int,
    log: Path,
) -> None:
    changes, told = count(1), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if _is_change(event, arguments, folder):
            os.write(told, f"{event} {arguments[0]}\n".encode())
            if next(changes) == before:
                os.kill(os.getpid(), signal.SIGKILL)

    home = replace(Home(folder, is_dense, layering), clock=clock)
    sys.addaudithook(hook)
    home.publish()


def _is_change(event: str, arguments: tuple[Any, ...], folder: Path) -> bool:
    if event != "open":
        return event in CALLS and _is_below(arguments[0], folder)
    path, mode, flags = arguments
    is_writing = bool(set(mode) & set("wxa+")) if isinstance(mode, str) else bool(flags & (os.O_WRONLY | os.O_RDWR))
    return is_writing and Path(str(path)).is_relative_to(folder)


def _is_below(path: object, folder: Path) -> bool:
    return not Path(str(path)).is_absolute() or Path(str(path)).is_relative_to(folder)
