"""What a question asks: its parts, the kind of answer of each, and the weight of its terms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.ask.question import pool_weights, question_parts
from sag_retrieval.ask.values import dates_in, full_dates, holds_date, names_in, numbers_in, states

WORDS = st.lists(
    st.sampled_from(
        [
            "who",
            "Acme",
            "founded",
            "and",
            "when",
            "，",
            "谁",
            "创建",
            "哪家公司",
            "多少",
            "?",
            "？",
            ",",
            " ",
            "2021",
            "it",
        ]
    ),
    min_size=1,
    max_size=14,
).map(" ".join)


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who founded Acme?", ["name"]),
        ("谁创建了晨星公司？", ["name"]),
        ("In which year did the plant open?", ["date"]),
        ("工厂哪一年投产？", ["date"]),
        ("How many ships does Acme own?", ["number"]),
        ("晨星有多少艘船？", ["number"]),
        ("What was the net profit of Acme?", ["number"]),
        ("How many days ahead must it be cancelled?", ["duration"]),
        ("合同要提前几天解除？", ["duration"]),
        ("Where does the pump stand?", ["place"]),
        ("水泵放在哪里？", ["place"]),
        ("他以前在哪家公司工作？", ["name"]),
        ("Why did the pump fail?", ["reason"]),
        ("水泵为什么坏了？", ["reason"]),
        ("Which firm had the higher income, Acme or Bolt?", ["comparison"]),
        ("晨星和远帆，哪家公司的收入更高？", ["comparison"]),
        ("Does Acme hold shares of Bolt?", ["statement"]),
        ("晨星是否持有远帆的股份？", ["statement"]),
        ("Who made the pump, and when did it fail?", ["name", "date"]),
        ("谁制造了水泵？它哪一年坏了？", ["name", "date"]),
        ("Who made the seal, and from whom does the plant buy now?", ["name", "name"]),
        ("According to the court, what was the judgment date?", ["date"]),
        ("What were the opening dates of both plants?", ["date"]),
        ("两家工厂的投产日期分别是什么？", ["date"]),
        ("风暴之后，是哪家银行出资重建的？", ["name"]),
    ],
)
def test_each_part_of_a_question_expects_a_kind_of_answer(question, kinds):
    assert [part.kind for part in question_parts(question)] == kinds


@given(WORDS)
def test_parts_are_stretches_of_the_question_in_its_order(question):
    parts = question_parts(question)

    assert parts
    place = 0
    for part in parts:
        place = question.find(part.text, place)
        assert place >= 0
        place += len(part.text)
    assert parts == question_parts(question)


def test_a_part_that_points_back_says_so():
    first, second = question_parts("Who made the pump, and when did it fail?")

    assert (first.points_back, second.points_back) == (False, True)


def test_a_clause_that_asks_nothing_weighs_half_and_what_is_counted_three_times():
    (storm,) = question_parts("After the storm, who rebuilt the pier?")
    (ships,) = question_parts("How many ships does the firm own?")

    of_storm = storm.weights(dict.fromkeys(storm.terms, 1.0))
    of_ships = ships.weights(dict.fromkeys(ships.terms, 1.0))
    assert (of_storm["storm"], of_storm["pier"]) == (0.5, 1.0)
    assert (of_ships["ship"], of_ships["firm"]) == (3.0, 1.0)


def test_a_rarer_term_weighs_more_and_an_unknown_one_most():
    weights = pool_weights(["red pump", "blue pump", "green pump"])(["pump", "red", "seal"])

    assert weights["pump"] < weights["red"] < weights["seal"]


@pytest.mark.parametrize(
    ("kind", "text", "question", "is_stated"),
    [
        ("date", "The plant opened in March 2021.", "When did the plant open?", True),
        ("date", "工厂于2021年3月投产。", "工厂哪一年投产？", True),
        ("date", "In 2021 the plant opened.", "When in 2021 did the plant open?", False),
        ("number", "The firm FA-2021-108 owns ships.", "How many ships?", False),
        ("number", "The firm owns twelve ships.", "How many ships?", True),
        ("number", "公司有三艘船。", "公司有多少艘船？", True),
        ("number", "In 2021 the firm sold ships.", "How many ships?", False),
        ("duration", "Either side may end it with 30 days' notice.", "How long is the notice?", True),
        ("duration", "须提前30天通知。", "要提前几天？", True),
        ("duration", "2021年3月签署。", "要提前几天？", False),
        ("number", "One of the ships left, no one stayed.", "How many ships?", False),
        ("number", "The firm has one ship.", "How many ships?", True),
        ("number", "这一项目减少了排放。", "排放量是多少？", False),
        ("number", "公司只有一艘船。", "公司有多少艘船？", True),
        ("number", "Version 4.0 came, see section 3.", "How many ships?", False),
        ("number", "版本 4.0见第3章。", "有多少艘船？", False),
        ("reason", "It failed because of rust.", "Why did it fail?", True),
        ("reason", "根本原因是生锈。", "为什么坏了？", True),
    ],
)
def test_a_sentence_states_a_value_that_the_question_lacks(kind, text, question, is_stated):
    assert states(kind, text, question) is is_stated


@given(st.text(alphabet="ab 12345年月日.,%三十 天", max_size=30))
def test_what_the_question_says_itself_is_no_value(text):
    assert not states("number", text, text)
    assert not states("duration", text, text)
    assert not states("date", text, text)


def test_a_name_counts_where_names_of_the_passage_are_known():
    keys = [("person", "林月"), ("organisation", "晨星公司")]

    assert states("name", "晨星公司的创始人是林月。", "晨星公司的创始人是谁？", keys)
    assert not states("name", "晨星公司在杭州。", "晨星公司的创始人是谁？", keys)
    assert states("name", "晨星公司在杭州。", "晨星公司的创始人是谁？")


def test_dates_have_one_form_whatever_they_are_written_as():
    assert full_dates("5 June 2024") == full_dates("June 5, 2024") == full_dates("2024-06-05") == {"2024-06-05"}
    assert full_dates("2024年6月5日") == {"2024-06-05"}
    assert full_dates("2024") == set()
    assert dates_in("2024年6月5日") == {"2024年6月5日"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("It opened in January 2021.", True),
        ("It opened on 5 January 2021.", True),
        ("It opened in March.", False),
        ("2021年1月5日投产。", True),
        ("2021年3月投产。", False),
        ("工厂投产。", False),
    ],
)
def test_a_text_holds_a_date_or_its_month(text, holds):
    assert holds_date("2021-01", text) is holds


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many people work at Acme?", {"peopl"}),
        ("How many grain ships are in port?", {"grain", "ship"}),
        ("How many ships does Acme own?", {"ship"}),
        ("多少人在晨星工作？", {"人"}),
        ("晨星有多少艘船？", {"船"}),
        ("这要花多少钱？", set()),
    ],
)
def test_what_a_question_counts_is_its_noun(question, counted):
    assert question_parts(question)[0].counted == counted


def test_figures_of_dates_and_identifiers_count_nothing():
    assert numbers_in("On 5 June 2024 the K7-2204 cost 1,200.") == {"1200"}


def test_one_capitalised_word_at_the_start_is_no_name():
    assert names_in("Pumps failed when Ann Lee of Acme came.", ()) == {"ann lee of acme"}


@pytest.mark.parametrize(
    ("question", "kind", "without"),
    [
        ("Where were the files kept originally?", "place", "origin"),
        ("How many members did the club have at the outset?", "number", "outset"),
        ("药柜以前在哪里？", "place", "以前"),
        ("顺延之前，开放日是几月几日？", "date", "之前"),
    ],
)
def test_words_that_only_say_which_time_is_meant_are_no_words_to_find(question, kind, without):
    (part,) = question_parts(question)

    assert part.kind == kind
    assert without not in part.terms
