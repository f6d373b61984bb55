"""The sensor of a source asks for a run for every change, once the files rest, and again where a run failed."""

from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.tags import RUN_KEY_TAG
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.definitions import defs
from sag_pipeline.defs.sensors import _Watched


@pytest.fixture
def look(home, tmp_path, monkeypatch):
    """Run the sensor once, as the daemon does, with the cursor of the look before."""
    monkeypatch.setenv("SAG_SOURCE", str(tmp_path / "inbox"))
    (tmp_path / "inbox").mkdir()
    sensor, state = defs.resolve_sensor_def("inbox"), {"cursor": None}
    with dg.DagsterInstance.ephemeral() as instance:

        def once():
            context = dg.build_sensor_context(
                instance=instance, cursor=state["cursor"], repository_def=defs.get_repository_def()
            )
            with context:
                found = sensor(context)
            state["cursor"] = found.cursor
            return [request.run_key for request in found.run_requests or []]

        once.instance, once.inbox = instance, tmp_path / "inbox"
        yield once


def write(inbox: Path, text: str) -> None:
    (inbox / "heron.md").write_text(text, encoding="utf-8")


def test_a_state_that_was_seen_before_is_asked_for_again(look):
    write(look.inbox, "# Heron")
    first = [*look(), *look()]
    (look.inbox / "heron.md").rename(look.inbox.parent / "heron.md")
    gone = [*look(), *look()]
    (look.inbox.parent / "heron.md").rename(look.inbox / "heron.md")
    back = [*look(), *look()]

    assert [len(first), len(gone), len(back)] == [1, 1, 1]
    assert len({*first, *gone, *back}) == 3
    assert look() == []


def test_a_file_that_is_still_being_copied_is_read_once_when_it_rests(look):
    asked = []
    for size in range(1, 5):
        write(look.inbox, "# Heron\n" * size)
        asked += look()
    assert asked == []

    assert len(look()) == 1
    assert look() == []


def test_a_failed_run_is_asked_for_again_after_a_pause(look, monkeypatch):
    write(look.inbox, "# Heron")
    (key,) = [*look(), *look()]
    run = look.instance.create_run_for_job(
        job_def=defs.resolve_job_def("ingest"), tags={RUN_KEY_TAG: key}, status=dg.DagsterRunStatus.FAILURE
    )
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert look() == []

    monkeypatch.setattr("sag_pipeline.defs.sensors.time.time", lambda: 10_000_000_000.0)

    (again,) = look()
    assert again != key
    assert look() == []


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=40))
def test_every_state_that_rests_is_asked_for_and_no_look_asks_twice(states):
    watched = _Watched()
    for number, state in enumerate(states):
        after = watched.next(state, 0.0, lambda: False)
        rested = number > 0 and states[number - 1] == state
        assert (after.number > watched.number) == (state != watched.asked and (rested or watched.looks + 1 >= 15))
        assert _Watched.read(after.text()) == after
        watched = after


def test_a_source_that_never_rests_is_read_all_the_same():
    watched, asked = _Watched(), 0
    for number in range(60):
        after = watched.next(f"state {number}", 0.0, lambda: False)
        asked += after.number > watched.number
        watched = replace(after)

    assert asked == 4


def test_a_cursor_of_an_earlier_version_asks_for_nothing_new():
    watched = _Watched.read("0a1b")

    assert watched.next("0a1b", 1e9, lambda: True) == watched
