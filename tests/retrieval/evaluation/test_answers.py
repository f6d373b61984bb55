"""A mode over questions is scored by its answers, its documents and its cost."""

import json

import pytest

from sag_retrieval.ask.modes import ask
from sag_retrieval.core.errors import QueryError
from sag_retrieval.evaluation.answers import evaluate_answers
from sag_retrieval.evaluation.questions import Question
from tests.support.overlap_search import OverlapSearch

SEARCH = OverlapSearch(
    [
        ("paris.md", "Paris", "The Eiffel Tower stands in Paris."),
        ("苹果.md", "苹果公司", "乔布斯在1976年创建苹果公司。"),
    ]
)
QUESTIONS = [
    Question(
        id="1",
        question="Where does the Eiffel Tower stand?",
        answers=("Paris",),
        gold_documents=("paris.md",),
    ),
    Question(id="2", question="谁创建了苹果公司？", answers=("乔布斯", "史蒂夫·乔布斯")),
    Question(id="3", question="When did the Titanic sink?"),
]


def test_the_table_of_a_mode_holds_scores_cost_and_every_question():
    evaluation = evaluate_answers(lambda question: ask(SEARCH, question), QUESTIONS, ks=(1,))

    told = json.loads(json.dumps(evaluation.to_dict(), ensure_ascii=False))

    assert told["mode"] == "fast"
    assert told["accuracy"] == 1
    assert told["recall@1"] == told["all_gold@1"] == told["refused"] == 1
    assert 0 < told["f1"] < 1
    assert told["found"] == pytest.approx(2 / 3)
    assert (told["calls_per_question"], told["tokens_per_question"]) == (0, 0)
    assert [line["id"] for line in told["per_question"]] == ["1", "2", "3"]
    assert told["per_question"][1]["answer"].endswith("[1]")


def test_an_answer_that_is_not_there_scores_nothing():
    lost = Question(id="1", question="When did the Titanic sink?", answers=("not in the documents",))

    (outcome,) = evaluate_answers(lambda question: ask(SEARCH, question), [lost]).outcomes

    assert outcome.scores["accuracy"] == 0


def test_no_question_is_refused():
    with pytest.raises(QueryError):
        evaluate_answers(lambda question: ask(SEARCH, question), [])


def test_refusing_is_scored_apart_from_answering():
    outcomes = evaluate_answers(lambda question: ask(SEARCH, question), QUESTIONS).outcomes

    assert [outcome.scores.get("answered") for outcome in outcomes] == [1, 1, None]
    assert [outcome.scores.get("refused") for outcome in outcomes] == [None, None, 1]
