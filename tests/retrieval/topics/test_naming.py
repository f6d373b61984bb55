"""Titles and summaries: short, distinct, kept, and by a model if there is one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.clusters.events import EventLinks
from sag_retrieval.clusters.groups import CitedSentence
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.core.errors import AnswerError, ModelError
from sag_retrieval.language.cleaning import clean
from sag_retrieval.language.words import fold
from sag_retrieval.models.protocols import Reply, Request, Usage
from sag_retrieval.topics.naming import (
    Described,
    DescribedSentence,
    TitledGroup,
    contents_of,
    distinctive_keys,
    known_names,
    name_communities,
    naming_keys,
)
from sag_retrieval.topics.titler import TopicContents, by_terms, fits, shorten


@dataclass
class WrittenModel:
    """A chat model that answers from a list and remembers what it was asked."""

    answers: list[Described | ModelError]
    asked: list[Request[Any]] = field(default_factory=list)
    model_id: str = "written"

    def ask(self, request: Request[Any]) -> Reply[Any]:
        raise NotImplementedError

    def ask_all(self, requests: Iterable[Request[Any]]) -> Iterator[Reply[Any] | ModelError]:
        for request, answer in zip(requests, self.answers, strict=False):
            self.asked.append(request)
            yield answer if isinstance(answer, ModelError) else Reply(answer, Usage(calls=1, input_tokens=10))


def described(title: str, *sentences: tuple[str, list[int]]) -> Described:
    return Described(title=title, summary=[DescribedSentence(text=text, events=rows) for text, rows in sentences])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_offline_titles_name_the_topic_in_its_language(towns, language):
    events = towns(languages=(language,))

    named = name_communities(events, build_communities(events)).communities

    topics = {
        "en": {"Harbour Bridge", "City Library", "River Flood"},
        "zh": {"港湾大桥", "市图书馆", "洪水"},
    }[language]
    for topic in topics:
        assert any(topic in each.title for each in named.at(0))


@pytest.mark.slow
def test_titles_of_a_level_are_short_and_all_different(dragonball_zh):
    named = name_communities(dragonball_zh, build_communities(dragonball_zh)).communities

    for level in range(named.levels):
        titles = [fold(each.title) for each in named.at(level)]
        assert len(titles) == len(set(titles))
    assert sum(fits(each.title) for each in named) >= 0.9 * len(named)


def test_communities_of_the_same_keys_still_get_different_titles(towns):
    events = towns()
    lonely = build_communities(events, ClusterOptions(resolution=50.0, levels=1))

    named = name_communities(events, lonely).communities

    assert len({fold(each.title) for each in named}) == len(named) == len(events)


def test_every_sentence_of_an_offline_summary_names_events_of_its_community(towns):
    events = towns(languages=("en", "zh"))

    for each in name_communities(events, build_communities(events)).communities:
        members = {events.event_ids[row] for row in each.members.tolist()}
        assert each.summary
        assert all(sentence.event_ids and set(sentence.event_ids) <= members for sentence in each.summary)


def test_known_titles_and_summaries_are_kept_while_members_stay(towns):
    events = towns()
    communities = build_communities(events)
    first = communities.at(0)[0]
    known = {first.community_id: ("My own title", (CitedSentence("Said before.", (events.event_ids[0],)),))}

    named = name_communities(events, communities, known=known).communities

    assert named.at(0)[0].title == "My own title"
    assert named.at(0)[0].summary_text == "Said before."
    assert named.at(0)[1].title != ""


def test_nothing_is_asked_about_known_communities(towns):
    events = towns()
    communities = build_communities(events)
    known = known_names(name_communities(events, communities).communities)
    model = WrittenModel([])

    named = name_communities(events, communities, model, known)

    assert model.asked == []
    assert known_names(named.communities) == known


def test_a_model_describes_communities_and_only_proven_sentences_stay(towns):
    events = towns()
    communities = build_communities(events, ClusterOptions(levels=1))
    answers = [
        described("Bridge under repair", ("Cables were inspected.", [1, 2]), ("Nobody says so.", [99])),
        AnswerError("no JSON"),
        described("a title that is much too long for anyone to read", ("The river rose.", [1])),
    ]

    named = name_communities(events, communities, WrittenModel(answers))

    one, two, three = named.communities.at(0)[:3]
    assert one.title == "Bridge under repair"
    assert [sentence.text for sentence in one.summary] == ["Cables were inspected."]
    assert one.summary[0].event_ids == tuple(events.event_ids[row] for row in one.members[:2].tolist())
    assert two.title
    assert two.summary
    assert fits(three.title)
    assert named.failures == 1
    assert named.usage.calls == 2


def test_a_title_taken_by_another_community_is_replaced(towns):
    events = towns()
    communities = build_communities(events, ClusterOptions(levels=1))
    answers = [described("The same", ("Said.", [1])) for _ in communities]

    named = name_communities(events, communities, WrittenModel(list(answers))).communities

    assert [each.title for each in named].count("The same") == 1


def test_the_prompt_carries_text_as_data_in_the_language_of_the_events(towns):
    events = towns(languages=("zh",))
    communities = build_communities(events, ClusterOptions(levels=1))
    model = WrittenModel([described("大桥", ("大桥停止通行。", [1])) for _ in communities])

    name_communities(events, communities, model)

    assert "标题" in model.asked[0].system
    assert events.contents[int(communities.at(0)[0].members[0])] in model.asked[0].prompt
    assert '"n": 1' in model.asked[0].prompt


def test_a_telling_key_is_frequent_here_and_rare_elsewhere(towns):
    events = towns()
    groups = [each.members for each in build_communities(events).at(0)]

    for rows, keys in zip(groups, distinctive_keys(events, groups), strict=True):
        assert events.keys.types[keys[0].row] == "topic"
        assert keys[0].count <= len(rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("一二三四五六七八九十一二三四", "一二三四五六七八九十一…"),
        ("one two three four five six seven", "one two three four five six…"),
        ("a\u202eb\x00c\nd", "a b c d"),
        ("白鹭号港务日志(2023年全年记录)", "白鹭号港务日志"),
        ("Tideway Partners: a joint venture for Heron Point", "Tideway Partners"),
        ("Heron Point (2025)", "Heron Point (2025)"),
    ],
)
def test_titles_are_cut_and_cleaned(text, expected):
    assert shorten(clean(text)) == expected
    assert clean(expected) == expected


def test_a_documents_title_names_a_community_only_where_nothing_else_is_telling(towns):
    events = towns()
    titled = replace(events.keys, types=["title" if kind == "topic" else kind for kind in events.keys.types])
    of_documents = replace(events, keys=titled)
    both = replace(
        of_documents,
        keys=replace(titled, types=[*titled.types, "person"], values=[*titled.values, "Ada Byrne"]),
        links=EventLinks(
            event=np.concatenate([events.links.event, np.arange(0, 30, 6, dtype=np.int32)]),
            key=np.concatenate([events.links.key, np.full(5, len(titled.types), np.int32)]),
        ),
    )
    members = np.arange(0, 30, 6, dtype=np.int32)
    mixed = np.concatenate([members, np.arange(2, 30, 6, dtype=np.int32)])

    without, named = (distinctive_keys(each, [members])[0] for each in (of_documents, both))

    assert of_documents.keys.values[naming_keys(of_documents, without)[0].row] == "Harbour Bridge"
    assert next(both.keys.values[key.row] for key in naming_keys(both, named)) == "Ada Byrne"
    assert title_of(both, members) == "Harbour Bridge"  # the community is this document
    assert title_of(both, mixed) == "Ada Byrne"


def title_of(events, members):
    keys = distinctive_keys(events, [members])[0]
    return next(iter(by_terms(contents_of(events, TitledGroup(members, keys, "en", events.incidence()[members])))))


def test_events_without_any_key_are_titled_by_their_words(towns):
    events = towns()
    bare = replace(events, links=replace(events.links, event=events.links.event[:0], key=events.links.key[:0]))

    named = name_communities(bare, build_communities(bare)).communities

    assert all(each.title for each in named)


@pytest.mark.parametrize(
    ("language", "terms", "title"),
    [
        ("en", ["net profit", "profit margin", "cash flow"], "Net profit and cash flow"),
        ("en", ["net profit", "profit"], "Net profit"),
        ("en", ["profit", "margin"], "Profit and margin"),
        ("zh", ["净利润", "股东分红", "利润"], "股东分红"),
        ("zh", ["利润", "分红"], "利润与分红"),
    ],
)
def test_a_topic_is_titled_by_two_terms_or_a_phrase(language, terms, title):
    assert next(by_terms(TopicContents(language=language, terms=terms))) == title


def test_another_titler_may_be_passed_in(towns):
    events = towns()

    found = name_communities(events, build_communities(events), titler=lambda topic: [topic.sentences[0][:5], "Same"])

    titles = [each.title for each in found.communities.at(0)]
    assert len(set(titles)) == len(titles)
    assert all(title in {text[:5] for text in events.contents} or title.startswith("Same") for title in titles)
