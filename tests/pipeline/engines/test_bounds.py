"""A document has its whole time, however much those before it took, and bounds cost next to nothing where none is met."""

import faulthandler
import signal

import pytest

from sag_pipeline.engines.bounds import WorkerBounds, one_document, reason_of, within


@pytest.fixture
def settings_of_watchdog(monkeypatch) -> list[float]:
    """Each time for which the watchdog was set."""
    found: list[float] = []
    setting = faulthandler.dump_traceback_later

    def noted(timeout: float, **given: object) -> None:
        found.append(timeout)
        setting(timeout, **given)

    monkeypatch.setattr(faulthandler, "dump_traceback_later", noted)
    return found


def test_each_document_has_its_whole_time_and_none_is_left_after_it(settings_of_watchdog):
    with within(WorkerBounds(worker_seconds=100)):
        for _ in range(3):
            with one_document():
                assert 99 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100
            assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)

    assert settings_of_watchdog == [151] * 3


def test_a_document_that_takes_too_long_is_told_how_to_have_more():
    with within(WorkerBounds(worker_seconds=1_000)):
        with pytest.raises(TimeoutError, match="it needs more than 1000 s") as found, one_document():
            signal.raise_signal(signal.SIGALRM)

        assert reason_of(found.value).endswith("`sag ingest --set worker_seconds=2000`")


@pytest.mark.slow
def test_the_timer_of_the_system_interrupts_a_document():
    with within(WorkerBounds(worker_seconds=1)):
        with pytest.raises(TimeoutError, match="it needs more than 1 s"), one_document():
            signal.pause()


def test_no_document_has_a_time_outside_of_a_worker():
    with within(None), one_document():
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
