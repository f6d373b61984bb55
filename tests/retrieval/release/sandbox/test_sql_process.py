"""Outside SQL runs in a process of its own, which ends with its memory, its time, its release and its program."""

import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from sag_retrieval.core.errors import FilterError
from sag_retrieval.release.sandbox import SandboxOptions, SqlSandbox
from tests.support.sql_tables import tables_of

ROOT = Path(__file__).parents[4]


def doubled(times: int) -> str:
    """A short SELECT whose text doubles with every line."""
    lines = [f"a{n} AS (SELECT s || s AS s FROM a{n - 1})" for n in range(1, times + 1)]
    return f"WITH a0 AS (SELECT content AS s FROM events), {', '.join(lines)} SELECT max(length(s)) AS n FROM a{times}"


@pytest.fixture
def own(database, children):
    sandbox = SqlSandbox(tables_of(database), options=SandboxOptions(seconds=2.0, memory="300MB"))
    yield sandbox
    sandbox.close()


def all_children() -> set[psutil.Process]:
    found = set()
    for child in psutil.Process().children():
        with suppress(psutil.Error):  # another test's that ended meanwhile
            if "sql_process" in " ".join(child.cmdline()):
                found.add(child)
    return found


@pytest.fixture
def children():
    """The processes that the test started; those of releases that other tests hold open are left out."""
    others = all_children()
    return lambda: all_children() - others


@pytest.mark.slow
def test_text_that_doubles_takes_no_memory_of_the_program_and_the_next_query_works(own):
    own.select("SELECT count(*) AS n FROM events")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    for times in (24, 26, 28):
        with pytest.raises(FilterError, match=r"more memory than 300MB|took longer than 2 s"):
            own.select(doubled(times))

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB; one result alone had 600 MB
    assert own.select("SELECT count(*) AS n FROM events")["n"].to_pylist() == [5]


@pytest.mark.slow
def test_a_process_that_does_not_answer_is_killed_at_the_deadline(own, children):
    own.select("SELECT count(*) AS n FROM events")
    (process,) = children()
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()

    with pytest.raises(FilterError, match="took longer than 2 s"):
        own.select("SELECT count(*) AS n FROM chunks")

    assert time.monotonic() - began >= 2
    assert not process.is_running()
    assert own.select("SELECT count(*) AS n FROM chunks")["n"].to_pylist() == [5]


@pytest.mark.slow
def test_a_process_that_ended_is_replaced(own, children):
    own.select("SELECT count(*) AS n FROM events")
    (process,) = children()
    process.kill()
    process.wait()

    with pytest.raises(FilterError, match="more memory"):
        own.select("SELECT count(*) AS n FROM events")
    assert own.select("SELECT count(*) AS n FROM events")["n"].to_pylist() == [5]


def test_threads_share_two_processes_and_get_their_own_rows(own, children):
    def count(number: int) -> list[int]:
        return own.select(f"SELECT {number} AS n FROM documents")["n"].to_pylist()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(count, range(40)))

    assert found == [[number] * 4 for number in range(40)]
    assert len(children()) <= 2


def test_a_closed_sandbox_leaves_no_process(database, children):
    sandbox = SqlSandbox(tables_of(database))
    sandbox.select("SELECT count(*) AS n FROM events")
    (process,) = children()

    sandbox.close()

    assert not process.is_running()


@pytest.mark.slow
def test_the_process_ends_with_its_program_and_has_none_of_its_secrets():
    code = (
        "import pyarrow as pa, psutil, sys\n"
        "from sag_retrieval.release.sandbox import SqlSandbox\n"
        "box = SqlSandbox({'events': pa.table({'event_id': ['e0']})})\n"
        "box.select('SELECT event_id FROM events')\n"
        "print(psutil.Process().children()[0].pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = os.environ | {"OPENAI_API_KEY": "sk-secret", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as program:
        child = psutil.Process(int(program.stdout.readline()))
        assert "OPENAI_API_KEY" not in child.environ()
        program.kill()
    psutil.wait_procs([child], timeout=300)

    assert not child.is_running()
