"""Rolling periods of reports: counted back from a day, and the same for the same day."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import QueryError
from sag_retrieval.reports.scope import resolved_period

DAYS = st.dates(min_value=date(1000, 1, 1))


@pytest.mark.parametrize(
    ("period", "found"),
    [
        ("last day", "2024-03-31..2024-03-31"),
        ("last 7 days", "2024-03-25..2024-03-31"),
        ("Last  2 weeks", "2024-03-18..2024-03-31"),
        ("last month", "2024-03-01..2024-03-31"),
        ("last 1 year", "2023-04-01..2024-03-31"),
        ("this week", "2024-03-25..2024-03-31"),
        ("this month", "2024-03-01..2024-03-31"),
        ("this quarter", "2024-01-01..2024-03-31"),
        ("this year", "2024-01-01..2024-03-31"),
        ("2019..2021-06", "2019..2021-06"),
        ("..2021-06-30", "..2021-06-30"),
        ("2019..", "2019.."),
        ("last 9999 years", "0001-01-01..2024-03-31"),
    ],
)
def test_a_period_is_two_dates(period, found):
    assert resolved_period(period, date(2024, 3, 31)) == found


@pytest.mark.parametrize(
    "period", ["yesterday", "last 0.5 days", "2019-2021", "2019..2021..2022", "last days 7", "2019..x"]
)
def test_another_text_is_refused_with_examples(period):
    with pytest.raises(QueryError, match=r"is not like 2024, .*2019\.\.2021-06 .* `last 7 days` or `this quarter`"):
        resolved_period(period, date(2024, 3, 31))


@given(DAYS, st.integers(1, 400), st.sampled_from(["day", "week", "month", "quarter", "year"]))
def test_a_rolling_period_ends_with_the_day_and_grows_with_its_count(today, count, unit):
    first, last = resolved_period(f"last {count} {unit}s", today).split("..")
    longer, _ = resolved_period(f"last {count + 1} {unit}s", today).split("..")

    assert last == today.isoformat()
    assert longer <= first <= last


@given(DAYS, st.integers(1, 3_000))
def test_that_many_days_are_that_many_days(today, count):
    first, last = map(date.fromisoformat, resolved_period(f"last {count} days", today).split(".."))

    assert last - first == timedelta(days=count - 1)
