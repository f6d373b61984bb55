"""The timeline: the finest periods that fit, and honest edges."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.reports.sections.picture import text_width
from sag_retrieval.reports.sections.timeline import MOST_COLUMNS, SHAPES, WORDING, draw, make_timeline
from sag_retrieval.reports.wording import Messages
from sag_retrieval.topics.naming import name_communities
from tests.retrieval.reports.test_map import community


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


def test_stray_dates_are_marked_at_both_ends_and_events_without_a_date_have_no_column(towns):
    events = towns(months=12)
    usual = [f"2024-{i % 12 + 1:02}" for i in range(600)]
    many = replace(
        events,
        event_ids=[f"{i}" for i in range(2_000)],
        dates=["1066-10", "2525-01", *usual, *[None] * 1_398],
    )

    timeline = make_timeline(many, [])

    assert timeline is not None
    names = [each.said(MESSAGES) for each in timeline.columns]
    assert (names[0], names[1]) == ("before 2024-01", "2024-01")
    assert (names[-2], names[-1]) == ("2024-12", "after 2024-12")
    assert timeline.counts[0, [0, -1]].tolist() == [1, 1]
    assert timeline.counts[0].sum() + timeline.undated == 2_000
    assert timeline.undated == 1_398


def test_a_few_stray_dates_do_not_stretch_the_timeline(towns):
    events = towns(months=12)
    many = replace(
        events,
        event_ids=[f"{i}" for i in range(300)],
        dates=["1066-10", *(f"2024-{i % 12 + 1:02}" for i in range(299))],
    )

    timeline = make_timeline(many, [])

    assert timeline is not None
    assert [each.said(MESSAGES) for each in timeline.columns[:2]] == ["before 2024-01", "2024-01"]
    assert timeline.counts[0].sum() == 300


@pytest.mark.parametrize(("early", "first"), [(20, "before 2022-01"), (60, "1950–1954")])
def test_periods_leave_out_a_twentieth_of_the_dates_if_that_makes_them_half_as_long(towns, early, first):
    old = ["1950-05"] * early
    recent = [f"{2022 + row % 24 // 12}-{1 + row % 12:02}" for row in range(400)]
    events = replace(towns(), event_ids=[f"{row}" for row in range(len(old) + 400)], dates=[*old, *recent])

    timeline = make_timeline(events, [])

    assert timeline is not None
    assert timeline.columns[0].said(MESSAGES) == first
    assert timeline.counts[0].sum() == early + 400


MESSAGES = Messages("en", WORDING)
LONG = (
    "Strategic partnership and fixed-term imprisonment of the accused",
    "信息披露与内部控制以及高级管理人员的股份发行和资产收购",
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("title", LONG)
def test_labels_and_names_of_periods_fit_their_place(towns, shape, title):
    events = with_dates(towns(), [f"{year}-{month:02}" for year in (2023, 2024) for month in range(1, 7)])
    members = np.arange(len(events), dtype=np.int32)
    timeline = make_timeline(events, [members])

    picture = draw(timeline, [replace(community(1, 1, title), members=members)], [0], shape, MESSAGES)

    width = (shape.left or shape.width) + 1
    said = "".join(line for _, line in picture.rows[0].label)
    assert said.replace(" ", "") == f"1{title}".replace(" ", "")
    assert all(text_width(line) < width for _, line in picture.rows[0].label)
    named = picture.years
    ends = [x + 3 + text_width(year) for x, year in named]
    assert len(named) == 2
    assert all(end < x for end, (x, _) in zip(ends, named[1:], strict=False))
    assert max(ends) <= shape.width


def test_few_dates_make_no_timeline_and_a_theme_without_dates_has_no_row(towns, tmp_path):
    events = with_dates(towns(months=6), [None])
    communities = name_communities(events, build_communities(events)).communities
    first = set(communities.at(0)[0].members.tolist())
    pages = []
    for count in (9, 12):
        dated = [f"2024-{1 + row % 6:02}" if row in sorted(first)[:count] else None for row in range(len(events))]
        report = write_report(replace(events, dates=dated), communities, ReportOptions(), tmp_path / str(count))
        pages.append(report.page.read_text(encoding="utf-8"))

    assert "Fewer than 10 events have a date" in pages[0]
    assert 'href="#timeline"' not in pages[0]
    assert pages[1].count('class="rule"') == 2  # one row in each of the two shapes
    assert "Source: the dates of 12 events" in pages[1]


def test_a_date_that_most_events_share_is_told_in_a_sentence_instead_of_a_tower(towns, tmp_path):
    events = towns(months=6)
    communities = name_communities(events, build_communities(events)).communities
    dates = ["2021-05" if row % 5 else f"2021-{6 + row % 6:02}" for row in range(len(events))]

    report = write_report(replace(events, dates=dates), communities, ReportOptions(), tmp_path)

    assert "of the 36 events with a date are of 2021-05, so there is no timeline." in report.markdown.read_text("utf-8")
    assert 'id="timeline-svg"' not in report.page.read_text(encoding="utf-8")
