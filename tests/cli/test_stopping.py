"""SIGTERM, which systemd, Docker and Kubernetes send, ends every command as Ctrl-C does: soon, and with the same words."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

import sag_pipeline
from tests.support.bare_ingest import bare_ingest
from tests.support.chat_server import ChatServer, SlowServer
from tests.support.deployed import program, until
from tests.support.small_model import SmallModel
from tests.support.terminal import SAG

pytestmark = pytest.mark.slow

SECONDS = 10.0
"""What Docker gives a container to end, on a machine that has time: a busy one gives a process its share alone."""


@pytest.fixture
def slow_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A model that writes one token in two seconds."""
    with SlowServer(SmallModel(), tokens_per_second=0.5) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("SAG_CHAT_MODEL", "openai:slow")
        yield server


def started(command: Sequence[str], **more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **more},
        start_new_session=True,
    )  # fmt: skip


def stopped(process: "subprocess.Popen[str]", sent: signal.Signals, *, everybody: bool = False) -> str:
    """What a process says that ends on a signal; `everybody` sends it to its workers too, as systemd does."""
    at = time.monotonic()
    (os.killpg if everybody else os.kill)(process.pid, sent)
    try:
        said, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert time.monotonic() - at < SECONDS * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))
    return said


def workers_of(process: "subprocess.Popen[str]") -> int:
    return len(psutil.Process(process.pid).children(recursive=True))


def test_an_ingest_that_waits_for_a_model_says_what_is_kept(home: Path, source, slow_model: ChatServer):
    source({f"{n}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021.\n" for n in range(6)})
    process = started([*SAG, "ingest", "inbox"])
    until(lambda: slow_model.running, "a request", pause=0.05)

    said = stopped(process, signal.SIGTERM)

    assert process.returncode == 1
    assert said.rstrip().endswith(
        "Error: stopped; 6 documents are read and kept, no release is published yet; "
        "`sag ingest inbox` continues where it stopped"
    )
    assert "Traceback" not in said
    assert not slow_model.finished


@pytest.mark.parametrize("sent_to", ["the command", "its workers too"])
def test_an_ingest_with_workers_says_what_is_kept(home: Path, source, sent_to: str):
    source({f"{n}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021. " * 20 for n in range(600)})
    process = started([*SAG, "ingest", "inbox"], SAG_ENGINE="processes:2")
    until(lambda: workers_of(process) > 3 or process.poll() is not None, "workers", pause=0.05)
    time.sleep(1)

    said = stopped(process, signal.SIGTERM, everybody=sent_to == "its workers too")

    assert process.returncode == 1
    assert "Error: stopped; " in said
    assert "`sag ingest inbox` continues where it stopped" in said
    assert "Traceback" not in said


def test_a_question_to_a_model_is_stopped(home: Path, source, slow_model: ChatServer, monkeypatch):
    folder = source({f"{n}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021.\n" for n in range(3)})
    with monkeypatch.context() as offline:
        offline.setenv("SAG_CHAT_MODEL", "offline")
        bare_ingest([folder])
    process = started([*SAG, "ask", "Who built buoy 2?", "--mode", "deep"])
    until(lambda: slow_model.running, "a request", pause=0.05)

    said = stopped(process, signal.SIGTERM)

    assert process.returncode == 1
    assert said.split("\n")[-2:] == ["Error: stopped", ""]


def test_a_worker_of_dagster_that_waits_for_a_model_ends(home: Path, source, slow_model: ChatServer, tmp_path):
    source({f"{n}.md": f"# Note {n}\n\nLumen Optics built buoy {n} in 2021.\n" for n in range(6)})
    (tmp_path / "dagster").mkdir()
    definitions = Path(sag_pipeline.__file__).with_name("definitions.py")
    command = ["dagster", "job", "execute", "-f", str(definitions), "-j", "ingest"]
    process = started(program(command), DAGSTER_HOME=str(tmp_path / "dagster"), SAG_SOURCE=str(tmp_path / "inbox"))
    until(lambda: slow_model.running or process.poll() is not None, "a request", pause=0.05)

    said = stopped(process, signal.SIGTERM)

    assert "DagsterExecutionInterruptedError" in said
    assert not slow_model.finished
