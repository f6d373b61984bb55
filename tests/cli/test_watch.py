"""`sag watch`, as a process of its own."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

import pytest

from sag_pipeline.sources.folders import watch_sources
from sag_retrieval import open_release
from sag_retrieval.core.errors import SourceError
from tests.support.terminal import SAG

SECONDS = 600.0


@contextmanager
def watching(*arguments: str) -> Iterator[tuple["subprocess.Popen[str]", "Queue[str]"]]:
    """A process that watches, and the lines that it writes."""
    lines: Queue[str] = Queue()
    command = [*SAG, "watch", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    thread = threading.Thread(target=lambda: [lines.put(line) for line in process.stdout or ()], daemon=True)
    thread.start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        thread.join(10)
        if process.stdout:
            process.stdout.close()


@pytest.mark.slow
def test_each_change_is_one_run_an_error_ends_nothing_and_sigterm_ends_it(home: Path, tmp_path: Path):
    inbox, aside = tmp_path / "inbox", tmp_path / "aside"
    inbox.mkdir()
    (aside / "b").mkdir(parents=True)
    (inbox / "a.md").write_text("# Heron\n\nLumen Optics built the Heron buoy in 2021.\n")
    for number in range(20):
        (aside / f"b/{number}.md").write_text(f"# Egret {number}\n\nOrin Pumps built buoy {number} in 2022.\n")
    with watching("inbox", "--json") as (process, lines):
        first = json.loads(lines.get(timeout=SECONDS))
        (inbox / ".hidden.md").write_text("# Hidden\n")
        (aside / "b").rename(inbox / "b")  # 20 documents at once, however busy the machine is
        second = json.loads(lines.get(timeout=SECONDS))
        for name in ("b", "a.md"):
            (inbox / name).rename(aside / name)
        failed = lines.get(timeout=SECONDS)
        (aside / "a.md").write_text("# Heron\n\nLumen Optics built the Heron buoy in 2023.\n")
        for name in ("b", "a.md"):
            (aside / name).rename(inbox / name)
        third = json.loads(lines.get(timeout=SECONDS))
        process.send_signal(signal.SIGTERM)
        code = process.wait(SECONDS)
        last = lines.get(timeout=SECONDS)

    assert [each["steps"]["documents"]["new"] for each in (first, second, third)] == [1, 20, 0]
    assert third["steps"]["documents"]["changed"] == 1
    assert failed.startswith("Failed: ingest failed: documents: source 'inbox': 21 of its 21 documents are gone")
    assert (code, last) == (0, "stopped: inbox is watched no longer\n")
    with pytest.raises(Empty):
        lines.get_nowait()
    with open_release(home) as release:
        assert release.manifest.release_id == third["release"]


@pytest.mark.parametrize(
    ("source", "said"), [("nowhere", "source 'nowhere' does not exist"), ("https://example.org", "cannot be watched")]
)
@pytest.mark.usefixtures("home")
def test_what_cannot_be_watched_is_refused(source, said):
    with pytest.raises(SourceError, match=said):
        watch_sources([source], lambda: None, print)
