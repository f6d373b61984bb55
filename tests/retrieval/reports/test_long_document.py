"""Reports of one long document: a paragraph for each part, in reading order."""

from dataclasses import replace

from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.reports.compose import compose, render_markdown
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.section import make_context
from sag_retrieval.reports.sections.highlights import SECTION as HIGHLIGHTS
from sag_retrieval.topics.topics import build_topics
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
    communities = build_topics(events, OPTIONS.cluster)
    return make_context(events, replace(communities, **changes), OPTIONS, None)


def test_each_part_of_a_tale_is_summed_up_by_sentences_of_its_own_in_reading_order():
    made = context(tale(parts(DEEDS)))
    text = render_markdown(compose(made), made)

    assert all(each.summary and list(each.typical) == sorted(each.typical) for each in made.ranking.communities)
    assert "No sentence of this theme" not in text
    assert "[^1]" in text


def test_a_report_in_parts_has_one_finding_of_a_part_in_reading_order():
    made = context(tale(parts(SALES)))

    found = compose(made).of(HIGHLIGHTS)

    assert [each.community.number for each in found.items] == [1, 2, 3]


def test_a_summary_that_a_model_wrote_stays():
    events = tale(parts(DEEDS))
    communities = build_topics(events, OPTIONS.cluster)
    own = (CitedSentence("A model wrote it.", (events.event_ids[0],)),)
    made = context(events, communities=tuple(replace(each, summary=own) for each in communities))

    assert {each.summary[0].text for each in made.ranking.communities} == {"A model wrote it."}


def test_parts_are_not_tied_and_the_method_speaks_of_parts():
    made = context(tale(parts(DEEDS)))
    text = render_markdown(compose(made), made)

    assert "Tied to" not in text
    assert "lie in 3 themes, the parts of the text" in text
