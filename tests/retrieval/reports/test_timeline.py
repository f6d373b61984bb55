"""The timeline: the finest periods that fit, and honest edges."""

from dataclasses import replace

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.reports.timeline import MOST_COLUMNS, WIDTHS, draw_timeline, make_timeline, text_width
from sag_retrieval.reports.wording import Messages
from sag_retrieval.topics.naming import name_communities


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

    timeline = make_timeline(events.dates)

    assert timeline is not None
    assert len(timeline.columns) == columns <= MOST_COLUMNS
    assert timeline.columns[0].name == name
    assert sum(each.count for each in timeline.columns) == len(events)


def test_events_without_a_date_are_counted_apart(towns):
    events = with_dates(towns(), ["2024-01", "2024-02", None])

    timeline = make_timeline(events.dates)

    assert timeline is not None
    assert timeline.undated == len(events) // 3
    assert [each.count for each in timeline.columns] == [len(events) // 3] * 2


def test_without_dates_there_is_no_timeline(towns):
    assert make_timeline(towns(dated=False).dates) is None


def test_stray_dates_are_marked_at_both_ends_and_events_without_a_date_have_no_column(towns):
    events = towns(months=12)
    usual = [f"2024-{i % 12 + 1:02}" for i in range(600)]
    many = replace(
        events,
        event_ids=[f"{i}" for i in range(2_000)],
        dates=["1066-10", "2525-01", *usual, *[None] * 1_398],
    )

    timeline = make_timeline(many.dates)

    assert timeline is not None
    names = [each.said(MESSAGES) for each in timeline.columns]
    assert (names[0], names[1]) == ("before 2024-01", "2024-01")
    assert (names[-2], names[-1]) == ("2024-12", "after 2024-12")
    assert [timeline.columns[place].count for place in (0, -1)] == [1, 1]
    assert sum(each.count for each in timeline.columns) + timeline.undated == 2_000
    assert timeline.undated == 1_398


def test_a_few_stray_dates_do_not_stretch_the_timeline(towns):
    events = towns(months=12)
    many = replace(
        events,
        event_ids=[f"{i}" for i in range(300)],
        dates=["1066-10", *(f"2024-{i % 12 + 1:02}" for i in range(299))],
    )

    timeline = make_timeline(many.dates)

    assert timeline is not None
    assert [each.said(MESSAGES) for each in timeline.columns[:2]] == ["before 2024-01", "2024-01"]
    assert sum(each.count for each in timeline.columns) == 300


@pytest.mark.parametrize(("early", "first"), [(20, "before 2022-01"), (60, "1950–1954")])
def test_periods_leave_out_a_twentieth_of_the_dates_if_that_makes_them_half_as_long(towns, early, first):
    old = ["1950-05"] * early
    recent = [f"{2022 + row % 24 // 12}-{1 + row % 12:02}" for row in range(400)]
    events = replace(towns(), event_ids=[f"{row}" for row in range(len(old) + 400)], dates=[*old, *recent])

    timeline = make_timeline(events.dates)

    assert timeline is not None
    assert timeline.columns[0].said(MESSAGES) == first
    assert sum(each.count for each in timeline.columns) == early + 400


MESSAGES = Messages("en")


@pytest.mark.parametrize("width", WIDTHS)
def test_names_of_periods_do_not_cover_each_other_and_bars_stay_inside(towns, width):
    dates = [f"{year}-{month:02}" for year in (2021, 2022, 2023) for month in range(1, 13)]
    timeline = make_timeline(dates)

    picture = draw_timeline(timeline, width, MESSAGES)

    ends = [x + text_width(label) for x, label in picture.labels]
    assert len(picture.labels) == 2
    assert all(end < x for end, (x, _) in zip(ends, picture.labels[1:], strict=False))
    assert max(ends) <= width
    assert all(0 <= bar.x <= bar.x + bar.width <= width and bar.y >= 0 for bar in picture.bars)
    assert sum(int(bar.tip.rpartition(": ")[2]) for bar in picture.bars) == len(dates)


def test_few_dates_and_dates_of_one_period_are_no_picture(towns, tmp_path):
    events = towns(months=6)
    communities = name_communities(events, build_communities(events)).communities
    few = [f"2024-{1 + row % 6:02}" if row < 9 else None for row in range(len(events))]
    one = ["2021-05" if row % 5 else f"2021-{6 + row % 6:02}" for row in range(len(events))]
    pages = []
    for name, dates in (("few", few), ("one", one), ("all", events.dates)):
        report = write_report(replace(events, dates=dates), communities, ReportOptions(), tmp_path / name)
        pages.append(report.page.read_text(encoding="utf-8"))

    assert [page.count('id="timeline-svg"') for page in pages] == [0, 0, 1]
    assert "The dates of 36 statements in 6 documents." in pages[2]
