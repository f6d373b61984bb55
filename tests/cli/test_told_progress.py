"""Where no output is a terminal, a line a minute tells of the work under way."""

import time

import pytest

from sag_pipeline.cli.commands import told_progress
from sag_pipeline.progress import listener, measured, offer


def test_lines_at_a_steady_pace_say_what_is_done_what_it_cost_and_how_long_it_takes(capfd: pytest.CaptureFixture[str]):
    started = time.monotonic()
    with told_progress(seconds=0.1):
        with measured():
            offer(calls=lambda: 1_234, failed=lambda: 0)
            listener()("events", 2, 6, "inbox/a.md")
            time.sleep(0.35)
        with measured():
            listener()("release", 0, 0)
            time.sleep(0.15)
    taken = time.monotonic() - started

    said = capfd.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert lines[0] == "events: 2 of 6 documents, inbox/a.md, calls 1,234, running for 0:00:00"
    assert 2 <= len(lines) <= taken / 0.1 + 1
    assert lines[-1].startswith("release: running for 0:00:0")
