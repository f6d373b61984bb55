"""Themes of a report: parts of one long document, groups by keys of few events, titles in the reader's language."""

from dataclasses import replace

import numpy as np
import pytest
from sag_retrieval.topics.said import SaidNames
from sag_retrieval.topics.themes import _by_names, _title_language, build_themes
from sag_retrieval.topics.topic_titles import topic_titles
from sag_retrieval.topics.topic_words import TopicWords, WordPlace
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventLinks
from sag_retrieval.clusters.groups import Community
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.language.words import is_cjk

TOPICS = ClusterOptions(method="topics")


def one_document(events, titles):
    """The events as one document, its chunks under these section titles."""
    count = len(events.chunks.chunk_ids)
    sections = [titles[place * len(titles) // count] for place in range(count)]
    chunks = replace(events.chunks, document=np.zeros(count, np.int32), sections=sections)
    documents = replace(events.documents, document_ids=["d"], titles=["A book"], languages=["en"])
    return replace(events, chunks=chunks, documents=documents)


def test_one_long_document_is_grouped_by_its_parts_in_the_order_of_the_text(towns):
    events = one_document(towns(months=9), ["STAVE ONE", "STAVE TWO", "The Year After"])

    found = build_themes(events, TOPICS, "en")

    assert found.is_ordered
    titles = [each.title for each in found if each.title]
    assert len(titles) == 3
    assert titles[0].startswith("Stave One: ")
    assert titles[2] == "The Year After"
    assert sum(len(each.members) for each in found) == len(events)
    assert [int(each.members.min()) for each in found][:3] == sorted(int(each.members.min()) for each in found)[:3]


LANTERN = "Ida Voss carried the lantern down to the old harbour {number} before the storm."


def test_a_section_without_words_belongs_to_the_part_before_it(towns):
    events = one_document(towns(months=9), ["Home", "[Picture", "", "Sea", "***", "Sky"])

    titles = [each.title for each in build_themes(events, TOPICS, "en") if each.title]

    assert titles == ["Home", "Sea", "Sky"]


def test_a_document_with_hundreds_of_sections_is_not_cut_into_parts(towns):
    events = one_document(towns(months=60), [f"Item {number} of the list" for number in range(60)])

    assert not build_themes(events, TOPICS, "en").is_ordered


def without_common_words(events):
    """The same events, each with words of its own."""
    told = [f"Ab{row:c} told Xe{row:c} of Yo{row:c}." for row in range(97, 97 + len(events))]
    return replace(events, contents=told)


def with_years(events):
    """The same events, each with the year of its month as a key, one for each month."""
    keys, years = events.keys, [f"20{20 + number}" for number in range(len(events.documents.titles))]
    event = np.concatenate([events.links.event, np.arange(len(events), dtype=np.int32)])
    key = np.concatenate([events.links.key, len(keys.values) + events.document]).astype(np.int32)
    return replace(
        events,
        keys=replace(keys, types=[*keys.types, *["date"] * len(years)], values=[*keys.values, *years]),
        links=EventLinks(event=event[np.argsort(event, kind="stable")], key=key[np.argsort(event, kind="stable")]),
    )


def test_few_events_are_grouped_by_whom_they_name_not_by_when(towns):
    events = with_years(without_common_words(towns(months=3)))
    events = replace(events, vectors=np.eye(len(events), dtype=np.float32))
    subject = [event_id.rsplit("-", 2)[1] for event_id in events.event_ids]

    found = build_themes(events, TOPICS, "en")

    named = [{subject[row] for row in each.members.tolist()} for each in found]
    assert sorted(map(sorted, named)) == [["City Library"], ["Harbour Bridge"], ["River Flood"]]


@pytest.mark.parametrize(
    ("places", "title"),
    [([], ""), ([WordPlace(1, 20, 24)], ""), ([WordPlace(0, 14, 19), WordPlace(1, 20, 24)], "Paper book")],
)
def test_a_topic_is_titled_by_a_phrase_not_by_one_noun(towns, places, title):
    events = towns(months=4)
    count = len(events)
    events = replace(events, contents=["Oban bought a paper book."] * count)
    topic = np.where(np.arange(count) % 2, 0, -1).astype(np.int32)
    said = [places if number >= 0 else [] for number in topic.tolist()]
    words = TopicWords(csr_array(np.ones((count, 2))), ["paper", "book"], said, np.ones(2))

    assert topic_titles(events, words, topic) == [title]


def test_few_events_without_common_words_are_grouped_by_their_keys(towns):
    events = without_common_words(towns(months=3))

    found = build_themes(events, TOPICS, "en")

    assert sum(len(each.members) for each in found.at(0)) == len(events)
    assert found.levels == 1
    assert all(not each.summary for each in found)
    assert any("Harbour Bridge" in each.title for each in found)


@pytest.mark.slow
def test_a_topic_of_another_language_is_titled_by_its_names(dragonball_zh):
    count = len(dragonball_zh.documents.titles)
    values = [f"Oban {number} Metals" for number in range(count)]
    events = replace(
        dragonball_zh,
        keys=replace(dragonball_zh.keys, types=["organisation"] * count, values=values, is_text=None),
        links=replace(
            dragonball_zh.links, event=np.arange(len(dragonball_zh), dtype=np.int32), key=dragonball_zh.document
        ),
    )

    chinese, english = (build_themes(events, TOPICS, language) for language in ("zh", "en"))

    titles = [(one.title, two.title) for one, two in zip(chinese, english, strict=True) if one.title]
    both = [pair for pair in titles if is_cjk(pair[0])]  # the others have no phrase, and names in both
    assert len(both) > 3
    assert all(one != two for one, two in both)
    assert all(two.startswith("Oban ") for _, two in both)
    assert len({two for _, two in both}) == len(both)


@pytest.mark.parametrize(
    ("value", "text", "is_name"),
    [
        ("Kestrel", "The yard sold Kestrel to the harbour master.", True),
        ("Plus", "Plus the yard sold the boat to the harbour master.", False),
        ("defendant", "The court heard the defendant in the morning.", False),
        ("PM", "The yard closed at six PM on all days of the week.", False),
        ("Handover", "Handover: | 12 | 13 |", False),
        ("K7-2204", "Sensors of batch K7-2204 failed in the strait.", True),
        ("观澜", "观澜在三月发出洪水预警。", True),
    ],
)
def test_a_word_is_a_name_where_sentences_use_it_as_one(towns, value, text, is_name):
    events = towns(months=1)
    events = replace(
        events,
        contents=[text] * len(events),
        keys=replace(events.keys, types=["entity"] * len(events.keys.values), values=[value] * len(events.keys.values)),
    )

    assert (0 in SaidNames(events)) == is_name


@pytest.mark.parametrize(
    ("values", "language", "title"),
    [
        (["桑纳港", "Ada Byrne", "水城精機"], "en", "Ada Byrne"),
        (["HMI-223", "Ada Byrne", "桑纳港"], "en", "Ada Byrne"),
        (["Ada Byrne", "桑纳港", "水城"], "zh", "桑纳港 · 水城"),
        (["桑纳港"], "en", "桑纳港"),
        ([], "en", ""),
    ],
)
def test_a_theme_of_another_language_is_named_in_the_script_of_the_page(values, language, title):
    assert _by_names(values, language) == title


def test_a_title_in_the_words_of_another_language_is_that_of_its_events(towns):
    events = towns(languages=("en", "zh"))
    members = np.arange(len(events), dtype=np.int32)
    whole = Community(
        community_id="g",
        parent_id=None,
        level=0,
        members=members,
        centrality=np.ones(len(members)),
        weight=1.0,
        conductance=0.0,
    )

    assert _title_language(events, replace(whole, title="图书馆与大桥")) == "zh"
    assert _title_language(events, replace(whole, title="Library and river")) == "en"
