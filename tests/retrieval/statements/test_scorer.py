"""The scorer of statements: what it says of plain and of broken sentences, and how well it does on judged ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.statements.form import is_prose, is_speech, refers_back
from sag_retrieval.statements.scorer import FEATURES, QUOTABLE, SCORERS, WORTH, Judged, by_features, features

PLAIN = ["Falk Mills sold 40 looms to the guild of Varn in 2019.", "冯氏磨坊2019年把40台织机卖给了澜河行会。"]
BROKEN = {
    "refers back": ["This rise of 2019 was paid by the guild.", "此举在2019年增加了行会的收入。"],
    "stop": ["Looms and carts", "织机与货车"],
    "capitals": ["ANNUAL REPORT OF THE GUILD OF VARN", "NOTE 12 LEASES"],
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_statement_with_a_figure_is_quoted_and_worth_a_line(text):
    (found,) = by_features([text])

    assert found.quotable > 0.5
    assert found.worth > 0.25
    assert found.reason == ""


@pytest.mark.parametrize(("reason", "text"), [(reason, text) for reason, texts in BROKEN.items() for text in texts])
def test_what_cannot_be_quoted_has_its_reason(reason, text):
    (found,) = by_features([text])

    assert found.quotable < 0.5
    assert found.reason in FEATURES
    assert features(text)[FEATURES.index(reason)] != features(PLAIN[0])[FEATURES.index(reason)]


@pytest.mark.parametrize(("text", "reason"), [("and sold 40 looms in 2019.", "start"), (PLAIN[0] * 12, "length")])
def test_a_torn_or_very_long_statement_is_not_quoted(text, reason):
    assert by_features([text]) == [Judged(0.0, 0.0, reason)]


@given(st.text(max_size=200))
def test_any_text_has_probabilities_that_depend_on_it_alone(text):
    alone, *others = by_features([text, *PLAIN])

    assert 0 <= alone.quotable <= 1
    assert 0 <= alone.worth <= 1
    assert (alone.reason == "") == (alone.quotable >= 0.5)
    assert by_features([*PLAIN, text]) == [*others, alone]
    assert len(features(text)) == len(FEATURES) == len(QUOTABLE.of) == len(WORTH.of)


def test_an_unknown_scorer_is_refused_with_those_that_there_are():
    with pytest.raises(SettingsError, match="statement_scorer 'featurs' is none of features; did you mean"):
        SCORERS.function("featurs")


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        (PLAIN[0], True),
        (PLAIN[1], True),
        ("Loom | 40 | 2019", False),
        ("see https://example.org/looms", False),
        ("Looms: 40 were sold.", True),
        ("Looms of the guild", True),
    ],
)
def test_prose_is_told_from_rows_and_addresses(text, prose):
    assert is_prose(text) == prose


def test_speech_and_words_that_refer_back_are_seen_in_both_languages():
    assert all(map(is_speech, ["We sold it.", "Who sold it?", "我们卖了织机。"]))
    assert not any(map(is_speech, PLAIN))
    assert all(
        map(
            refers_back,
            ["It was sold.", "In return, he sold 40 looms.", "“They were sold in 2019.", "该磨坊卖了织机。"],
        )
    )
    assert not any(map(refers_back, [*PLAIN, "As of 27 May 2023 the mill has 40 looms."]))
