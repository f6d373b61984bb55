"""Evaluators read a record, change nothing in it, and keep means of their own."""

import copy
import json

import numpy as np
import pytest

from sag_retrieval.evaluation.answers import (
    RECORD_SCORES,
    Evaluator,
    accuracy_score,
    compression_score,
    embedding_similarity_score,
    evaluators,
    latency_score,
    token_count_score,
)
from sag_retrieval.language.words import is_cjk, words
from tests.support.golden import enough, recorded

RECORD = {
    "query": "谁创建了苹果公司？",
    "references": ["乔布斯"],
    "retrieval_docs": ["乔布斯创建苹果公司", "苹果是水果"],
    "retrieval_time": 0.25,
    "refining_docs": ["乔布斯创建"],
    "refining_time": 0.5,
    "generated": "乔布斯",
    "generation_time": 1.0,
}


@pytest.fixture(scope="module")
def golden():
    return recorded("sage_metrics")


def test_compression_and_token_counts_agree_with_the_recorded_ones(golden):
    checked = 0
    for case in golden["compression_and_tokens"]:
        if is_cjk(json.dumps(case, ensure_ascii=False)):
            continue
        scores = compression_score(case)
        if case["refined_tokens"]:
            assert scores["compression_factor"] == pytest.approx(case["sage_rate_original_over_refined"]), case
        assert token_count_score(case)["token_count"] == case["token_count_refined_or_retrieved"], case
        checked += 1
    assert enough(checked, 80)


def test_latency_agrees_with_the_recorded_sums(golden):
    for case in golden["latency"]:
        scores = latency_score(
            {
                "retrieval_time": case["retrieve_time"],
                "refining_time": case["refine_time"],
                "generation_time": case["generate_time"],
            }
        )
        assert scores["total"] == pytest.approx(case["sage_total"])
        assert scores["refining_plus_generation"] == pytest.approx(case["seed_formula_total"])


def test_two_documents_of_ten_words_cut_to_three_have_rate_0_3():
    record = {"retrieval_docs": ["a b c d e", "f g h i j"], "refining_docs": ["a b", "c"]}

    scores = compression_score(record)

    assert scores == {"compression_rate": 0.3, "compression_factor": pytest.approx(10 / 3), "doc_ratio": 1}


def test_nothing_retrieved_compresses_to_nothing():
    assert set(compression_score({}).values()) == {0.0}


def test_evaluators_leave_the_record_as_it_was():
    before = copy.deepcopy(RECORD)

    for evaluator in evaluators():
        assert evaluator.execute(RECORD) is RECORD

    assert before == RECORD


def test_a_summary_is_the_mean_of_what_this_evaluator_saw():
    mine, other = Evaluator(accuracy_score()), Evaluator(accuracy_score("exact"))

    for generated in ("是乔布斯。", "库克"):
        mine(RECORD | {"generated": generated})
    other(RECORD)

    assert mine.summary() == {"accuracy": 0.5}
    assert other.summary() == {"accuracy": 1.0}
    assert Evaluator(accuracy_score()).summary() == {}


def test_every_measure_stands_for_a_chinese_record():
    scores = {name: value for score in RECORD_SCORES.values() for name, value in score(RECORD).items()}

    assert scores["exact_match"] == scores["f1"] == scores["accuracy"] == scores["retrieval_recall"] == 1
    assert scores["token_count"] == 5
    assert scores["compression_rate"] == pytest.approx(5 / 14)
    assert scores["total"] == 1.75


def test_an_empty_record_scores_nothing_and_breaks_nothing():
    for evaluator in evaluators():
        evaluator({})
        assert set(evaluator.summary().values()) == {0.0}


def test_references_are_found_in_the_question_too():
    record = {"generated": "Paris", "question": {"references": ["London", "Paris"]}}

    assert RECORD_SCORES["exact_match"](record) == {"exact_match": 1}


class CountedWords:
    """A small real embedder: each known word is a dimension."""

    fingerprint, dimension = "counted", 64

    def embed(self, texts):
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                rows[row, sum(word.encode()) % self.dimension] += 1
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(length == 0, 1, length)


def test_embedding_similarity_is_the_cosine_to_the_nearest_reference():
    score = embedding_similarity_score(CountedWords())

    same = score({"generated": "Steve Jobs", "references": ["Tim Cook", "steve jobs"]})

    assert same["embedding_similarity"] == pytest.approx(1)
    assert score({"generated": "Steve Jobs"}) == {"embedding_similarity": 0}


def test_an_unknown_measure_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="'f1'"):
        evaluators(["beauty"])
