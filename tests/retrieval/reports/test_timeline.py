"""The timeline: the finest periods that fit, and honest edges."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.reports.sections.timeline import MOST_COLUMNS, make_timeline


def with_dates(events, dates):
    return replace(events, dates=(dates * len(events))[: len(events)])


@pytest.mark.parametrize(
    ("dates", "columns", "name"),
    [
        ([f"2024-{m:02}" for m in range(1, 13)], 12, "2024-01"),
        ([f"{y}-{m:02}" for y in range(2019, 2024) for m in (1, 7)], 19, "2019 Q1"),
        (["2001", "2010", "2020"], 20, "2001"),
        (["1801-05", "1900-01", "1999-12"], 20, "1800–1809"),
    ],
)
def test_columns_are_the_finest_that_fit(towns, dates, columns, name):
    events = with_dates(towns(), dates)

    timeline = make_timeline(events, [])

    assert timeline is not None
    assert len(timeline.columns) == columns <= MOST_COLUMNS
    assert timeline.columns[0].name == name
    assert timeline.counts[0].sum() == len(events)


def test_events_without_a_date_are_counted_apart(towns):
    events = with_dates(towns(), ["2024-01", "2024-02", None])

    timeline = make_timeline(events, [np.arange(3, dtype=np.int32)])

    assert timeline is not None
    assert timeline.undated == len(events) // 3
    assert timeline.counts[1].tolist() == [1, 1]


def test_without_dates_there_is_no_timeline(towns):
    assert make_timeline(towns(dated=False), []) is None


def test_a_few_stray_dates_do_not_stretch_the_timeline(towns):
    events = towns(months=12)
    many = replace(
        events,
        event_ids=[f"{i}" for i in range(300)],
        dates=["1066-10", *(f"2024-{i % 12 + 1:02}" for i in range(299))],
    )

    timeline = make_timeline(many, [])

    assert timeline is not None
    assert timeline.columns[0].name == "≤ 2024-01"
    assert timeline.counts[0].sum() == 300
