"""Which statements answer a question about all documents without a model."""

import shutil
from pathlib import Path

import pytest

from sag_retrieval import open_release
from sag_retrieval.ask.answer import UNSURE
from sag_retrieval.ask.global_answer import stated_rows
from sag_retrieval.ask.question import telling_terms
from sag_retrieval.language.words import tokens
from tests.support.bare_ingest import bare_ingest


def even(terms):
    return dict.fromkeys(terms, 1.0)


@pytest.fixture
def own(demo_home: Path, home: Path) -> Path:
    """The demo's release in a home of its own."""
    shutil.copytree(demo_home, home)
    return home


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Which pumps leaked?", {"pump", "leak"}),
        ("What are these documents about?", set()),
        ("Summarise the reports", set()),
        ("哪些水泵？", {"水泵", "水", "泵"}),
        ("这些文档主要讲述什么内容？", set()),
    ],
)
def test_words_that_narrow_nothing_are_not_asked_for(question, terms):
    assert telling_terms(question) == terms


REGISTER = """# Risk register of the pump works

| No. | Risk | Owner | Deadline |
|---|---|---|---|
| 1 | The only supplier of seals may stop | Ann Lee | 2025-03-01 |
| 2 | Spare parts arrive late | Bo Grant | 2025-04-15 |

The works were founded in 1931 by the Lee family.
"""
REGISTER_ZH = """# 水泵厂风险登记册

| 编号 | 风险 | 责任人 | 期限 |
|---|---|---|---|
| 1 | 密封件唯一供应商可能停产 | 李安 | 2025-03-01 |
| 2 | 备件到货延迟 | 高博 | 2025-04-15 |
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What are the main risks?", ["The only supplier of seals may stop", "Spare parts arrive late"]),
        ("主要的风险有哪些？", ["密封件唯一供应商可能停产", "备件到货延迟"]),
    ],
)
def test_the_rows_of_a_risk_register_answer_what_the_risks_are(home, source, question, says):
    bare_ingest([source({"register.md": REGISTER, "登记册.md": REGISTER_ZH})])

    with open_release() as release:
        answer = release.ask(question, mode="global")

    assert answer.is_found
    assert all(text in answer.text for text in says)
    assert len(answer.citations) == len(says)


@pytest.mark.parametrize(
    ("question", "says", "leaves_out", "least"),
    [
        ("What are the main risks?", "failed", "The prize carries", 3),
        ("主要的风险有哪些？", "直接损失为1350万元", "注册资本", 1),
    ],
)
def test_what_is_quoted_is_about_the_question(own, question, says, leaves_out, least):
    with open_release() as release:
        answer = release.ask(question, mode="global")

    assert answer.is_found
    assert says in answer.text
    assert leaves_out not in answer.text
    assert least <= len(answer.citations) <= 6
    assert len({each.document_id for each in answer.citations}) >= min(2, least)


@pytest.mark.parametrize("question", ["What are the plans for tourism?", "有哪些关于旅游的规划？"])
def test_where_nothing_answers_that_is_said_before_what_is_near(own, question):
    with open_release() as release:
        answer = release.ask(question, mode="global")

    assert not answer.is_found
    assert answer.text.startswith(tuple(UNSURE.values()))
    assert 1 <= len(answer.citations) <= 3


def test_a_quotation_that_shares_no_word_with_its_title_has_it_behind(own):
    with open_release() as release:
        answer = release.ask("What are the main risks?", mode="global")

    named = [each for each in answer.citations if f"({each.title}) [{each.marker}]" in answer.text]
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

    def said(question, language):
        return [events.contents[row] for row in stated_rows(events, question, even, language)]

    english = said("What do they say about the bridge?", "en")
    assert 1 <= len(english) <= 2
    assert all("bridge" in text for text in english)
    assert all("洪水" in text for text in said("What about 洪水?", "en"))
    assert said("What do they say about whales?", "en") == []
