"""Which statements answer a question about all documents without a model."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from sag_retrieval import open_release
from sag_retrieval.ask.asked_words import asked_words, share_held
from sag_retrieval.ask.global_answer import LEAST, Wanted, answering_statements
from sag_retrieval.clusters.clustering import build_communities
from sag_retrieval.language.words import tokens
from sag_retrieval.llm_writing.themes import NearTheme


def even(terms):
    return dict.fromkeys(terms, 1.0)


@pytest.fixture
def own(demo_home: Path, home: Path) -> Path:
    """The demo's release in a home of its own."""
    shutil.copytree(demo_home, home)
    return home


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("What are the main risks?", ["risks"]),
        ("Which companies were acquired?", ["companies", "acquired"]),
        ("What are these documents about?", []),
        ("Summarise the reports", []),
        ("主要的风险有哪些？", ["风险"]),
        ("哪些公司被收购了？", ["公司", "收购"]),
        ("这些文档主要讲述什么内容？", []),
    ],
)
def test_words_that_narrow_nothing_are_not_asked_for(question, written):
    assert [each.written for each in asked_words(question, even)] == written


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("What are the main risks?", "the risk of a storm", 1.0),
        ("What are the main risks?", "the seal leaked in may", 0.6),
        ("What are the main risks?", "the museum opened in may", 0.0),
        ("主要的风险有哪些？", "台风造成的风险很大", 1.0),
        ("主要的风险有哪些？", "直接损失为1350万元", 0.6),
        ("主要的风险有哪些？", "博物馆于五月开放", 0.0),
    ],
)
def test_a_word_of_the_same_class_counts_for_less_than_the_word_itself(question, text, held):
    (word,) = asked_words(question, even)

    assert word.held_by(text, frozenset(tokens(text)), frozenset()) == held


def test_a_key_of_the_type_that_is_asked_for_counts_too():
    (word,) = asked_words("Which companies are there?", even)

    assert word.held_by("heron foods", frozenset({"heron", "food"}), frozenset({"organisation"})) == 0.6
    assert word.held_by("heron foods", frozenset({"heron", "food"}), frozenset({"place"})) == 0.0


@pytest.mark.parametrize(
    ("question", "says", "leaves_out"),
    [
        ("What are the main risks?", "failed", "The prize carries"),
        ("主要的风险有哪些？", "直接损失为1350万元", "注册资本"),
        ("Which companies were acquired?", "bought 30% of 502.AI", "The prize carries"),
    ],
)
def test_what_is_quoted_is_about_the_question(own, question, says, leaves_out):
    with open_release() as release:
        answer = release.ask(question, mode="global")

    assert answer.is_found
    assert says in answer.text
    assert leaves_out not in answer.text
    assert 3 <= len(answer.citations) <= 6
    assert len({each.document_id for each in answer.citations}) >= 2


@pytest.mark.parametrize(
    ("question", "words"),
    [("What are the plans for tourism?", "“plans”, “tourism”"), ("有哪些关于旅游的规划？", "“旅游”、“规划”")],
)
def test_where_nothing_answers_that_is_said_before_what_is_near(own, question, words):
    with open_release() as release:
        answer = release.ask(question, mode="global")

    assert not answer.is_found
    assert ("没有一句同时提到" if words.count("、") else "No statement of these themes holds") in answer.text
    assert all(word in answer.text for word in words.replace("、", ", ").split(", "))
    assert answer.citations


@pytest.mark.parametrize(
    ("question", "text", "held"),
    [
        ("Why did pumps fail or stop?", "the pump stopped in may", True),
        ("Why did pumps fail or stop?", "the museum was sold in may", False),
        ("哪些人担任了领导职务？", "沈若溪是海澜的董事长", True),
        ("哪些人担任了领导职务？", "沈若溪是海澜的客户", False),
        ("Who founded companies?", "ann lee founded acme", True),
        ("Which customers complained?", "a complaint of a customer", True),
        ("What are the main risks for the firm?", "the seal leaked in may", True),
    ],
)
def test_words_that_ask_for_the_same_or_for_a_kind_of_answer_need_not_all_be_said(question, text, held):
    asked = asked_words(question, even)

    assert (share_held(asked, text, frozenset(tokens(text)), frozenset()) >= LEAST) == held


def test_a_value_of_the_kind_that_is_asked_for_counts():
    wanted = Wanted((), np.zeros(0), "en", "How much was spent on the pumps?")

    assert wanted.is_stated_by("The pumps cost 3 million euros.")
    assert not wanted.is_stated_by("The pumps were bought by Acme.")


def test_a_quotation_that_shares_no_word_with_its_title_has_it_behind(own):
    with open_release() as release:
        answer = release.ask("哪些人担任了领导职务？", mode="global")

    cited = {each.marker: each for each in answer.citations}
    named = [each for each in cited.values() if f"（{each.title}）[{each.marker}]" in answer.text]
    assert answer.is_found
    assert named
    assert all(set(tokens(each.title)).isdisjoint(tokens(each.quote)) for each in named)


def test_a_question_what_all_is_about_is_answered_by_the_largest_themes(own):
    with open_release() as release:
        answer = release.ask("What are these documents about?", mode="global")
        largest = max(release._themes().communities.at(0), key=lambda each: len(each.members))

    assert answer.is_found
    assert answer.text.startswith(largest.title)


def test_alike_statements_are_quoted_once_and_other_languages_only_without_one_of_the_questions(towns):
    events = towns(languages=("en", "zh"), months=4)
    near = [NearTheme(each, 0.0, tuple(each.members.tolist())) for each in build_communities(events).at(0)]
    none = np.zeros(len(events))

    def said(question, language):
        found = answering_statements(events, near, Wanted(asked_words(question, even), none, language))
        return [events.contents[row] for each in found for row in each.rows]

    english = said("What do they say about the bridge?", "en")
    assert 1 <= len(english) <= 2
    assert all("bridge" in text for text in english)
    assert all("洪水" in text for text in said("What about 洪水?", "en"))
    assert said("What do they say about whales?", "en") == []
