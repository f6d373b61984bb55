"""Keys that rules find, as judged by a reader: shares of usable keys and of usable events, by half of the judged set."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.judged import DATA, judged_events, judged_keys

LEAST_USABLE_KEYS = 90.0
"""Percent of the judged keys that are made: 94.0 and 92.3 in the halves; with 350 keys a point or two is chance."""
LEAST_USABLE_EVENTS = 80.0
"""Percent of the judged events that are made: 90.8 and 83.0 in the halves."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "manuals").is_dir(), reason="needs ../shared/data beside the project"),
]


@pytest.fixture(scope="module")
def keys() -> Mapping[str, Any]:
    """Read once for both halves."""
    return judged_keys()


@pytest.fixture(scope="module")
def events() -> Mapping[str, Any]:
    """Read once for both halves."""
    return judged_events()


@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_most_judged_keys_are_usable(half, keys):
    shares = [each["now"] for name, each in keys.items() if name.endswith(half)]
    count = sum(each["keys"] for each in shares)

    assert sum(each["keys"] * each["usable"] for each in shares) >= LEAST_USABLE_KEYS * count


@pytest.mark.parametrize("half", ["dev", "held_out"])
def test_most_judged_events_are_usable_and_their_keys_right(half, events):
    assert events[half]["usable"] >= LEAST_USABLE_EVENTS
    assert events[half]["wrong or stray"] + events[half]["wrong type"] <= 100 - LEAST_USABLE_KEYS
