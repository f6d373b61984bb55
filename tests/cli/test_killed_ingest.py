"""SIGKILL of `sag ingest` in the middle of a file: nothing that it started goes on."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.deployed import until
from tests.support.hostile_files import pdf
from tests.support.terminal import SAG

pytestmark = pytest.mark.slow

CONVERTER = "sag_pipeline.sync.bounded_process"


def below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):  # it ended meanwhile
        return process.children(recursive=True)
    return []


def is_converting(process: psutil.Process) -> bool:
    """Whether one of its converters is past its imports and at the file."""
    for each in below(process):
        with suppress(psutil.Error):
            if CONVERTER in each.cmdline() and each.cpu_times().user > 4:
                return True
    return False


def test_a_killed_ingest_leaves_no_process_that_converts_or_works(home: Path, tmp_path: Path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    for name in ("a.pdf", "b.pdf"):  # a page that takes half a minute of processor time
        (inbox / name).write_bytes(pdf(b"BT /F1 9 Tf 72 700 Td " + b"(a) Tj 1 0 Td " * 250_000 + b" ET"))
    command = subprocess.Popen(
        [*SAG, "ingest", "inbox"], env=os.environ | {"SAG_ENGINE": "processes:2"}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    process = psutil.Process(command.pid)
    until(lambda: is_converting(process), "a converter at work", pause=0.2)
    started = below(process)

    os.kill(command.pid, signal.SIGKILL)
    assert command.wait() == -signal.SIGKILL
    _, left = psutil.wait_procs(started, timeout=60)
    for each in left:
        each.kill()

    assert [" ".join(each.cmdline()) for each in left] == []
