"""A document has its whole time, however much those before it took, and bounds cost next to nothing where none is met."""

import faulthandler
import signal
import time

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


def test_each_document_has_its_whole_time(settings_of_watchdog):
    with within(WorkerBounds(worker_seconds=1)):
        for _ in range(3):  # the timer that the first one set rings while the second one is under way
            with one_document():
                time.sleep(0.7)
        with pytest.raises(TimeoutError, match="it needs more than 1 s"), one_document():
            time.sleep(60)
        with one_document():
            time.sleep(0.7)
        with pytest.raises(TimeoutError) as found, one_document():
            time.sleep(60)
        assert reason_of(found.value).endswith("`sag ingest --set worker_seconds=2`")

    assert len(settings_of_watchdog) == 6


def test_no_document_has_a_time_outside_of_a_worker():
    with within(None), one_document():
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
