"""A report about what is new only shows also what belongs to no theme."""

from dataclasses import replace

import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import write_report
from sag_retrieval.topics.naming import name_communities


@pytest.mark.parametrize(("since", "is_shown"), [("r1", True), ("", False)])
def test_new_events_without_a_theme_stand_under_what_is_new(towns, tmp_path, since, is_shown):
    events = towns(months=1)
    communities = name_communities(events, build_communities(events)).communities
    alone = tuple(replace(each, members=each.members[:1], centrality=each.centrality[:1]) for each in communities.at(0))

    report = write_report(
        events, replace(communities, communities=alone), ReportOptions(since=since, title="News"), tmp_path
    )

    told = report.markdown.read_text(encoding="utf-8")
    changes = told.partition("## New since the last report")[2].partition("\n## ")[0]
    assert ("The library opened a new reading room" in changes) == is_shown
    for text in (report.page.read_text(encoding="utf-8"), told):
        assert ("only about what is new since r1" in text) == is_shown
