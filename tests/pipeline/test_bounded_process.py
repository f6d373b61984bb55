"""The converting process ends with the run that started it, also in the middle of a file."""

import subprocess
import sys

import psutil
import pytest

pytestmark = pytest.mark.slow

BUSY = """
import os, threading
from sag_pipeline.sync.bounded_process import _end_with
threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
print(os.getpid(), flush=True)
while True: pass
"""
RUN = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}], start_new_session=True)"


def test_a_busy_process_ends_with_its_parent():
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        busy = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        _, left = psutil.wait_procs([busy], timeout=60)
        for each in left:
            each.kill()

    assert left == []
