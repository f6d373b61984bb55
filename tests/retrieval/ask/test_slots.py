"""What a question asks for has to be in the sentence: its year, what is counted; corrections come first."""

from collections.abc import Iterator

import pytest

from sag_retrieval import Release
from tests.support.opened_release import opened_release

FILES = {
    "report.md": "# Annual report 2025\n\nPublished on 9 January 2026.\n\n"
    "In 2025 the library lent 43,100 books, more than ever.\n",
    "correction.md": "# Correction\n\n26 January 2026\n\n"
    "In 2025 the library lent 41,300 books, not 43,100 as the annual report says.\n",
    "house.md": "# The house\n\nThe library stands in the former mill. The two branches exchange staff every summer.\n",
    "简介.md": "# 简介\n\n2025年的书展从9月8日开始，10月6日结束。来客比2024年多一成。两馆每年夏天互派馆员。旧磨坊里还有一间画室。\n",
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """A report, what corrects it, and what else is said of the same things."""
    yield from opened_release(tmp_path_factory, FILES)


@pytest.mark.parametrize(
    "question",
    [
        "How many books did the library lend in 2024?",
        "How many staff do the two branches have?",
        "2024年的书展是哪天开始的？",
        "图书馆有多少名馆员？",
    ],
)
def test_a_sentence_without_what_is_asked_for_is_no_answer(release, question):
    answer = release.ask(question)

    assert not answer.is_found, answer.text


@pytest.mark.parametrize(
    ("question", "said"),
    [("How many books did the library lend in 2025?", "41,300"), ("2025年的书展是哪天开始的？", "9月8日")],
)
def test_the_sentence_with_it_is(release, question, said):
    assert said in release.ask(question).text


def test_a_wrong_value_stands_behind_the_right_one(release):
    text = release.ask("How many books did the library lend in 2025?").text

    assert text.index("41,300") < text.index("[1]")
    assert "said 43,100" in text
