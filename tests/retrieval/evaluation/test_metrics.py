"""Metrics agree with the recorded ones of SAGE for Latin text, and count Chinese by characters."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.evaluation.metrics import (
    accuracy,
    answer_words,
    best,
    character_recall,
    context_recall,
    exact_match,
    f1,
    normalise,
    plain_words,
    recall,
    rouge_l,
)
from sag_retrieval.language.words import is_cjk
from tests.support.golden import enough, recorded

TEXTS = st.text("ab cＡ，the.'苹果公司", max_size=30)


@pytest.fixture(scope="module")
def golden():
    return recorded("sage_metrics")


def _latin(cases, *names):
    return [case for case in cases if not is_cjk(json.dumps([case[n] for n in names], ensure_ascii=False))]


def test_f1_exact_match_and_recall_agree_with_the_recorded_ones(golden):
    cases = _latin(golden["f1_em_recall"], "generated", "reference")

    for case in cases:
        pair = case["generated"], case["reference"]
        assert f1(*pair) == pytest.approx(case["f1_normalized"]), case
        assert exact_match(*pair) == case["em_normalized"], case
        assert normalise(pair[0]) == case["normalized_generated"]
        assert normalise(pair[1]) == case["normalized_reference"]
    assert enough(len(cases), 100)


def test_the_best_of_several_references_agrees_with_the_recorded_one(golden):
    cases = _latin(golden["multi_reference"], "generated", "references")

    for case in cases:
        generated, references, expected = case["generated"], case["references"], case["expected"]
        overlap = best(lambda g, r: accuracy(g, r, "overlap"), generated, references)
        assert best(f1, generated, references) == pytest.approx(expected["f1"]), case
        assert best(exact_match, generated, references) == expected["em"], case
        assert overlap == expected["accuracy"], case
        assert best(context_recall, generated, references) == pytest.approx(expected["context_recall_4dp"], abs=5e-5)
        assert best(character_recall, generated, references) == pytest.approx(expected["brs_4dp"], abs=5e-5)
    assert enough(len(cases), 80)


def test_rouge_l_is_the_one_of_token_lists(golden):
    cases = _latin(golden["rouge_l"], "generated", "reference")

    for case in cases:
        assert rouge_l(case["generated"], case["reference"]) == pytest.approx(case["rouge_score_pkg"]["f"]), case
    assert enough(len(cases), 90)


def test_chinese_is_compared_by_characters():
    assert f1("巴黎是首都", "首都是巴黎") == 1
    assert exact_match("巴黎是首都", "首都是巴黎") == 0
    assert recall("首都是巴黎。", "巴黎") == 1
    assert rouge_l("巴黎是首都", "首都是巴黎") == pytest.approx(2 / 5)
    assert plain_words("iPhone由苹果公司推出") == ["iphone", "由", "苹", "果", "公", "司", "推", "出"]


@pytest.mark.parametrize(
    ("generated", "reference", "match", "expected"),
    [
        ("It was G. Stanley Hall [1].", "G Stanley Hall", "contains", 1),
        ("由乔布斯在１９７６年创立", "乔布斯", "contains", 1),
        ("a candle", "can", "contains", 0),
        ("", "", "contains", 0),
        ("Paris", "the paris", "exact", 1),
        ("in Paris", "Paris", "exact", 0),
        ("the tower of London", "Eiffel tower Paris", "overlap", 1),
    ],
)
def test_what_counts_as_right_is_a_choice(generated, reference, match, expected):
    assert accuracy(generated, reference, match) == expected


def test_an_unknown_way_to_match_is_refused():
    with pytest.raises(ValueError, match="'contains', 'exact', 'overlap'"):
        accuracy("a", "a", "roughly")


def test_full_width_marks_part_words_and_curly_apostrophes_do_not():
    assert answer_words("Paris，London—it’s") == ["paris", "london", "its"]


@given(TEXTS, TEXTS)
def test_every_metric_is_a_share_and_one_for_the_text_itself(left, right):
    for metric in (exact_match, f1, recall, rouge_l, accuracy, context_recall, character_recall):
        assert 0 <= metric(left, right) <= 1
    assert f1(left, right) == pytest.approx(f1(right, left))
    assert rouge_l(left, right) <= 1
    assert exact_match(left, left) == f1(left, left) == 1


@given(TEXTS)
def test_normalising_twice_changes_nothing(text):
    once = normalise(text)

    assert normalise(once) == once


def test_no_reference_scores_nothing():
    assert best(f1, "Paris", []) == 0
