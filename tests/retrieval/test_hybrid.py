"""Fusion of BM25, vectors, keywords and the graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.search.methods.hybrid import HybridOptions, RawScores, boosts, fuse, keyword_overlap, keywords
from tests.support.golden import recorded

scores = st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=12).map(np.array)


def cases(name):
    return recorded(name)["cases"]


def scaled_cases():
    """The recorded fusions whose scores differ: equal scores are left unscaled there, and add nothing here."""
    return [c for c in cases("kg_fusion") if min(np.ptp(c["bm25_scores"]), np.ptp(c["dense_scores"])) > 0]


def fused(case):
    """The fusion of a recorded case by the seed's formula."""
    words = keywords(case["query"], case["min_keyword_characters"], set(case["stop_words"]))
    texts, documents = zip(*case["chunks"], strict=True)
    added = boosts({int(d): s for d, s in case["kg_doc_scores"].items()}, case["kg_boost"])
    raw = RawScores(
        np.array(case["bm25_scores"]),
        np.array(case["dense_scores"]),
        keyword_overlap(words, texts),
        np.array([added.get(d, 0.0) for d in documents]),
    )
    return raw, fuse(raw, HybridOptions(keyword_boost=case["keyword_boost"]), share=case["dense_weight"])


def test_boosts_are_those_recorded():
    for case in cases("kg_boost"):
        assert boosts(case["scores"], case["kg_boost"]) == pytest.approx(case["boosts"], abs=1e-6), case


def test_every_part_follows_the_seeds_formula():
    for case in scaled_cases():
        raw, fusion = fused(case)
        wanted, query = case["seed_formula"], case["query"]
        assert fusion.hybrid == pytest.approx(wanted["hybrid"], abs=1e-6), query
        assert raw.keyword.tolist() == wanted["keyword_overlap"], query
        assert fusion.kg == pytest.approx(wanted["kg_boost_add"], abs=1e-6), query
        assert fusion.final == pytest.approx(wanted["final"], abs=1e-6), query


@given(scores, st.floats(0, 1))
def test_the_sum_is_the_sum_of_its_parts_and_hybrid_lies_in_bounds(bm25, share):
    count = len(bm25)
    raw = RawScores(bm25, bm25[::-1], np.arange(count, dtype=float), np.full(count, 0.1))

    fusion = fuse(raw, HybridOptions(), share=share)

    assert fusion.final == pytest.approx(fusion.hybrid + fusion.keyword + fusion.kg)
    assert ((fusion.hybrid >= 0) & (fusion.hybrid <= 1)).all()
    assert fusion.hybrid == pytest.approx((1 - share) * fusion.bm25 + share * fusion.dense)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 5))
def test_a_boost_grows_with_its_score_between_its_bounds(one, other, strength):
    added = boosts({"a": min(one, other), "b": max(one, other)}, strength)

    assert 0.02 <= added["a"] <= added["b"] <= min(0.25, 0.15 + 0.07 * strength) + 1e-12


def test_the_seeds_own_figures_for_the_boost():
    found = boosts({1: 0.25, 2: 0.5, 3: 0.75, 4: 1.0}, 1.2)

    assert list(found.values()) == pytest.approx([0.03765, 0.08146, 0.1475, 0.234], abs=1e-4)
    assert boosts({1: 1.0}, 0) == {}


def test_equal_scores_add_nothing():
    flat = np.full(3, 7.0)

    fusion = fuse(RawScores(flat, flat, np.zeros(3), np.zeros(3)), HybridOptions(), share=0.5)

    assert fusion.final.tolist() == [0, 0, 0]


def test_chunks_that_are_not_allowed_do_not_move_the_scale():
    raw = RawScores(np.array([1.0, 2.0, 99.0]), np.zeros(3), np.zeros(3), np.zeros(3), np.array([True, True, False]))

    fusion = fuse(raw, HybridOptions(), share=0.0)

    assert fusion.hybrid.tolist() == [0, 1, 0]


def test_keywords_leave_out_stop_words_and_short_words_but_no_chinese_characters():
    assert keywords("What is the IPO of Acme Acme 公司?") == ("ipo", "acme", "公", "司")


def test_a_keyword_counts_once_a_chunk_inside_words_too():
    found = keyword_overlap(("acme", "own", "公"), ["Acme ACME owner", "公司 owns", "nothing"])

    assert found.tolist() == [2, 2, 0]


def test_the_weight_of_vectors_may_depend_on_the_language():
    options = HybridOptions(dense_weight={"en": 0.7, "zh": 0.4})

    assert [options.dense_share(text) for text in ("Who?", "是谁？")] == [0.7, 0.4]


@pytest.mark.parametrize(
    "wrong",
    [{"dense_weight": 1.1}, {"dense_weight": {"en": -1}}, {"kg_boost": -1}, {"keyword_boost": float("nan")}],
)
def test_weights_out_of_bounds_are_refused(wrong):
    with pytest.raises(SettingsError, match="must be"):
        HybridOptions(**wrong)
