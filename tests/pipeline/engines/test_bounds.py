"""A document has its whole time, however much those before it took, and bounds cost next to nothing where none is met."""

import faulthandler
import signal
from types import SimpleNamespace

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


@pytest.mark.parametrize("documents", [1, 1_000])
def test_the_watchdog_is_set_once_for_documents_that_take_no_time(settings_of_watchdog, documents):
    with within(WorkerBounds(worker_seconds=100)):
        for _ in range(documents):
            with one_document():
                pass

    assert settings_of_watchdog == [151]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


class Clock:
    """A clock of the test's own; the timer that is set rings when its time has passed on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.rings = 100.0, float("inf")
        monkeypatch.setattr("sag_pipeline.engines.bounds.time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(signal, "setitimer", self._set)

    def _set(self, which: int, seconds: float) -> None:
        assert which == signal.ITIMER_REAL
        self.rings = self.now + seconds if seconds else float("inf")

    def passes(self, seconds: float) -> None:
        end = self.now + seconds
        while self.rings <= end:
            self.now, self.rings = self.rings, float("inf")
            signal.raise_signal(signal.SIGALRM)
        self.now = end


def test_each_document_has_its_whole_time(settings_of_watchdog, monkeypatch):
    clock = Clock(monkeypatch)
    with within(WorkerBounds(worker_seconds=1_000)):
        for _ in range(3):  # the timer that the first one set rings while the second one is under way
            with one_document():
                clock.passes(700)
        with pytest.raises(TimeoutError, match="it needs more than 1000 s"), one_document():
            clock.passes(60_000)
        with one_document():
            clock.passes(700)
        clock.passes(5_000)  # between two documents nothing is limited
        with pytest.raises(TimeoutError) as found, one_document():
            clock.passes(60_000)
        assert reason_of(found.value).endswith("`sag ingest --set worker_seconds=2000`")

    assert settings_of_watchdog == [1_501] * 6
    assert clock.rings == float("inf")


@pytest.mark.slow
def test_the_timer_of_the_system_interrupts_a_document():
    with within(WorkerBounds(worker_seconds=1)):
        with pytest.raises(TimeoutError, match="it needs more than 1 s"), one_document():
            signal.pause()


def test_no_document_has_a_time_outside_of_a_worker():
    with within(None), one_document():
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
