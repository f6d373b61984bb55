"""Reports of one long document: a paragraph for each part, and who is in which part."""

from dataclasses import replace

import pytest

from sag_retrieval.communities.groups import CitedSentence
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.communities.themes import build_themes
from sag_retrieval.reports.compose import compose, render_markdown, render_page
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.section import make_context
from sag_retrieval.reports.sections.cast import SECTION as CAST
from sag_retrieval.reports.sections.highlights import SECTION as HIGHLIGHTS
from tests.support.tale import tale

OPTIONS = ReportOptions(cluster=ClusterOptions(method="topics"))
DEEDS = (
    "rowed the ferry over the swollen river in the dark",
    "bought bread and candles at the market of the upper town",
    "wrote a long letter about the mill to a cousin abroad",
    "mended the broken roof of the chapel with new slate",
)
SALES = (
    "sold 12 boats to the mill",
    "paid 300 crowns for slate",
    "hired 40 men for the chapel",
    "lost 9 carts of bread",
)


def parts(deeds):
    who = {"Dusk": ["Ida Voss", "Oona Pell"], "Night": ["Ida Voss", "Marten Brook"], "Dawn": ["Ida Voss"] * 2}
    return [
        (title, [f"{name} {deed} at {title.casefold()}." for name in names for deed in deeds])
        for title, names in who.items()
    ]


def context(events, **changes):
    communities = build_themes(events, OPTIONS.cluster, "en")
    return make_context(events, replace(communities, **changes), OPTIONS, None)


def test_each_part_of_a_tale_is_retold_and_has_no_findings():
    made = context(tale(parts(DEEDS)))
    text = render_markdown(compose(made), made)

    assert compose(made).of(HIGHLIGHTS) is None
    assert all(each.summary for each in made.ranking.communities)
    assert "No sentence of this theme" not in text
    assert "[^1]" in text


def test_a_report_in_parts_has_one_finding_of_a_part_in_reading_order():
    made = context(tale(parts(SALES)))

    found = compose(made).of(HIGHLIGHTS)

    assert [each.community.number for each in found.items] == [1, 2, 3]


def test_a_summary_that_a_model_wrote_stays():
    events = tale(parts(DEEDS))
    communities = build_themes(events, OPTIONS.cluster, "en")
    own = (CitedSentence("A model wrote it.", (events.event_ids[0],)),)
    made = context(events, communities=tuple(replace(each, summary=own) for each in communities))

    assert {each.summary[0].text for each in made.ranking.communities} == {"A model wrote it."}


@pytest.fixture(scope="module")
def made():
    return context(tale(parts(DEEDS)))


def test_the_grid_counts_the_events_of_each_name_in_each_part(made):
    cast = compose(made).of(CAST)

    assert {row.name: [count for count, _ in row.cells] for row in cast.rows} == {
        "Ida Voss": [4, 4, 8],
        "Oona Pell": [4, 0, 0],
        "Marten Brook": [0, 4, 0],
    }
    assert cast.telling == (
        "Ida Voss is named in every part.",
        "Marten Brook (4 events) is named in “Night” alone.",
        "Oona Pell (4 events) is named in “Dusk” alone.",
    )


def test_the_grid_stands_on_the_page_and_in_markdown(made):
    assert 'href="#c2" aria-label="2 Night"' in render_page(compose(made), made)
    assert "| Marten Brook |  | 4 |  |" in render_markdown(compose(made), made)


def test_parts_are_not_tied_and_the_method_speaks_of_parts(made):
    text = render_markdown(compose(made), made)

    assert "Tied to" not in text
    assert "lie in 3 themes, the parts of the text" in text


def test_themes_that_are_no_parts_have_no_grid(towns):
    events = towns(months=6)
    made = make_context(events, build_themes(events, OPTIONS.cluster, "en"), OPTIONS, None)

    assert compose(made).of(CAST) is None
