"""A question that refers to earlier turns is searched with the names it refers to."""

import pytest

from sag_retrieval.search.methods.tiers.workflow import Turn, names_in, stand_alone
from tests.support.small_release import build_index

OWNER = [Turn("Who owns Bolt Labs?"), Turn("Acme owns it, and Mara Voss founded it.", is_user=False)]
ZH = [Turn("光澜公司由谁创建？"), Turn("由陈雨创建。", is_user=False)]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


@pytest.mark.parametrize(
    ("question", "earlier", "alone"),
    [
        ("Where was she raised?", OWNER, "Where was she raised? (Acme, Mara Voss, Bolt Labs)"),
        ("And in Port Ansel?", OWNER, "And in Port Ansel? (Acme, Mara Voss, Bolt Labs)"),
        ("What about Acme?", OWNER, "What about Acme? (Mara Voss, Bolt Labs)"),
        ("How many people work there?", OWNER, "How many people work there? (Acme, Mara Voss, Bolt Labs)"),
        ("她出生于哪里？", ZH, "她出生于哪里？（陈雨、光澜公司）"),
        ("安塞港呢？", ZH, "安塞港呢？（陈雨、光澜公司）"),
    ],
)
def test_a_follow_up_gets_the_names_of_the_latest_turns(index, question, earlier, alone):
    assert stand_alone(index, question, earlier) == alone


@pytest.mark.parametrize(
    ("question", "earlier"),
    [
        ("Who founded Acme?", OWNER),
        ("Is there anybody at Acme that left?", OWNER),
        ("光澜公司应该做什么？", [Turn("Who owns Bolt Labs?")]),
        ("陈雨和其他人去了哪里？", [Turn("Who owns Bolt Labs?")]),
        ("Where was she raised?", []),
    ],
)
def test_a_question_that_names_its_own_subject_stays_as_it_is(index, question, earlier):
    assert stand_alone(index, question, earlier) == question


def test_names_come_from_the_latest_turn_of_the_user_that_has_any_and_not_from_before(index):
    earlier = [Turn("Who was Mara Voss?"), Turn("Who owns Bolt Labs?"), Turn("I see.", is_user=False), Turn("Thanks.")]

    assert stand_alone(index, "Where is it?", earlier) == "Where is it? (Bolt Labs)"


def test_where_no_key_was_named_the_latest_turn_of_the_user_goes_before(index):
    earlier = [Turn("Who looks after this?"), Turn("Nobody does.", is_user=False)]

    assert stand_alone(index, "Why is that?", earlier) == "Who looks after this? Why is that?"


def test_dates_and_numbers_are_no_names(index):
    assert names_in(index, "Acme sold 120 in 2021.") == ["Acme"]
