"""Rates, pauses, breaker, prices: with a clock of the test's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import ModelUnavailable, SettingsError
from sag_retrieval.models.protocols import Prices, Usage
from sag_retrieval.models.rate_limits import (
    ChatOptions,
    CircuitBreaker,
    TokenBucket,
    pause_seconds,
    retry_after_seconds,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.integers(10, 500), st.lists(st.floats(0, 3), min_size=1, max_size=120))
def test_no_minute_carries_more_than_its_rate(per_minute: int, gaps: list[float]):
    pace, now, sent = TokenBucket(per_minute), 0.0, []

    for gap in gaps:
        now += gap
        sent.append(now + pace.wait_seconds(1, now))

    for start in sent:
        assert sum(start <= moment < start + 60 for moment in sent) <= per_minute


def test_a_used_up_pace_waits_and_a_rested_one_does_not():
    pace = TokenBucket(60)

    waits = [pace.wait_seconds(1, 0.0) for _ in range(4)]
    rested = pace.wait_seconds(1, 60.0)

    assert waits == sorted(waits)
    assert waits[-1] > 2
    assert rested < 1.1


def test_tokens_used_beyond_what_was_said_delay_the_next_call():
    one, other = TokenBucket(6_000), TokenBucket(6_000)
    for pace in (one, other):
        pace.wait_seconds(100, 0.0)

    other.correct(600)

    assert other.wait_seconds(100, 0.0) > one.wait_seconds(100, 0.0) + 5


@given(st.integers(1, 12), st.none() | st.floats(0, 20), st.floats(0, 0.999))
def test_pauses_double_up_to_a_bound_and_never_fall_under_what_was_asked(
    failed: int, asked: float | None, drawn: float
):
    options = ChatOptions(first_pause_seconds=0.5, longest_pause_seconds=8)

    pause = pause_seconds(failed, options, asked, lambda: drawn)

    full = min(8, 0.5 * 2 ** (failed - 1))
    assert full / 2 - 1e-9 <= pause - (asked or 0) <= full + 1e-9


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60.0),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None):
    assert retry_after_seconds(header, lambda: 40.0) == seconds


def test_the_breaker_opens_after_failures_in_a_row_that_last():
    clock = Clock()
    breaker = CircuitBreaker(ChatOptions(failures_until_down=3, patience_seconds=10, down_seconds=30), clock)
    for _ in range(5):
        breaker.failed("500")
    breaker.check()

    clock.now += 11
    breaker.failed("500")

    with pytest.raises(ModelUnavailable, match="6 tries failed in a row"):
        breaker.check()


def test_an_open_breaker_lets_one_call_try_after_a_while():
    clock = Clock()
    breaker = CircuitBreaker(ChatOptions(failures_until_down=1, patience_seconds=0, down_seconds=30), clock)
    breaker.failed("refused")
    clock.now += 31

    breaker.check()

    with pytest.raises(ModelUnavailable):
        breaker.check()
    breaker.succeeded()
    breaker.check()


@pytest.mark.parametrize(
    "wrong", [{"concurrency": 0}, {"tries": 0}, {"requests_per_minute": 0}, {"timeout_seconds": -1}]
)
def test_options_that_let_no_call_through_are_refused(wrong: dict[str, int]):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ChatOptions(**wrong)


def test_prices_are_for_a_million_tokens():
    assert Prices.parse("0.25/2").cost(Usage(1, 0, 2_000_000, 500_000)) == 1.5


@pytest.mark.parametrize("text", ["", "1", "a/b", "-1/2", "1/2/3"])
def test_prices_of_another_form_are_refused(text: str):
    with pytest.raises(SettingsError, match="input/output"):
        Prices.parse(text)
