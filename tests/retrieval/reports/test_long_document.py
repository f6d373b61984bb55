"""Reports of one long document: a paragraph for each part, in reading order."""

from dataclasses import replace

from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.reports.context import make_context
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.render import compose, render_markdown
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


def test_each_part_of_a_tale_is_told_by_a_sentence_of_its_own_in_reading_order():
    made = context(tale(parts(SALES)))
    text = render_markdown(compose(made), made)

    assert [each.title for each in made.topics] == ["Dusk", "Night", "Dawn"]
    assert all(each.central in each.members for each in made.topics)
    assert "No sentence of it stands alone" not in text
    assert "has 3 parts with a title, from “Dusk” to “Dawn”." in text


def test_a_summary_that_a_model_wrote_stays():
    events = tale(parts(DEEDS))
    communities = build_topics(events, OPTIONS.cluster)
    own = (CitedSentence("A model wrote it.", (events.event_ids[0],)),)
    made = context(events, communities=tuple(replace(each, summary=own) for each in communities))

    assert {each.summary[0].text for each in made.topics} == {"A model wrote it."}


def test_the_method_speaks_of_parts():
    made = context(tale(parts(DEEDS)))

    assert "lie in 3 topics, the parts of the text" in render_markdown(compose(made), made)
