"""Keys that rules find, as judged by a reader: shares of usable keys and of usable events, by half of the judged set."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEAST_USABLE_KEYS = 90.0
"""Percent of the judged keys that are made: 94.0 and 92.3 in the halves; with 350 keys a point or two is chance."""
LEAST_USABLE_EVENTS = 80.0
"""Percent of the judged events that are made: 90.8 and 83.0 in the halves."""


def measured(script, *asked):
    command = [sys.executable, str(ROOT / "benchmarks" / script), *asked]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_most_judged_keys_are_usable(half):
    if not (ROOT.parent / "shared" / "data" / "manuals").is_dir():
        pytest.skip("needs ../shared/data beside the project")
    found = measured("judged_keys.py", "judged")["judged"]
    shares = [each["now"] for name, each in found.items() if name.endswith(half)]
    keys = sum(each["keys"] for each in shares)

    assert sum(each["keys"] * each["usable"] for each in shares) >= LEAST_USABLE_KEYS * keys


@pytest.mark.slow
@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_most_judged_events_are_usable_and_their_keys_right(half):
    if not (ROOT.parent / "shared" / "data" / "manuals").is_dir():
        pytest.skip("needs ../shared/data beside the project")
    found = measured("judged_events.py")[half]

    assert found["usable"] >= LEAST_USABLE_EVENTS
    assert found["wrong or stray"] + found["wrong type"] <= 100 - LEAST_USABLE_KEYS
