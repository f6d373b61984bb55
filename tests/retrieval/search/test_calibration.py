import numpy as np
import pytest

from sag_retrieval.core.errors import QueryError
from sag_retrieval.search.calibration import LEAST_FIT, count_likely, features, likelihoods
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query
from sag_retrieval.search.registry import method_entry

QUESTION = "Where did the singer of Hello Love die?"


def found_by(index, text, method="sag", top_k=10):
    query = Query(text, top_k=top_k)
    return build_result(index, query, method_entry(method).make()(index, query), release="", method=method)


@pytest.mark.parametrize("method", ["sag", "sag-literal", "bm25", "dense", "bridge"])
def test_scores_lie_between_zero_and_one_and_fall(corpus, method):
    scores = [hit.score for hit in found_by(corpus, QUESTION, method)]

    assert scores
    assert all(0 < score < 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("text", ["asdfgh qwerty", "龘靐齉爩"])
def test_nothing_fits_words_that_no_document_holds(corpus, text):
    found = found_by(corpus, text)

    assert not found.fits
    assert all(hit.score < LEAST_FIT for hit in found)


@pytest.mark.parametrize("text", [QUESTION, "云南农业公司收购的公司由谁创立？"])
def test_something_fits_what_a_passage_covers(corpus, text):
    assert found_by(corpus, text).fits


def test_a_score_does_not_depend_on_how_many_hits_are_returned(corpus):
    few, many = (found_by(corpus, QUESTION, top_k=count) for count in (2, 8))

    assert [hit.score for hit in few] == [hit.score for hit in many[:2]]


def test_unknown_words_lower_the_share_that_is_covered(corpus):
    rows = np.arange(corpus.arrays.chunk_count, dtype=np.int32)

    known, _ = features(corpus, Query("Hank Snow"), rows)
    mixed, _ = features(corpus, Query("Hank Snow asdfgh"), rows)

    assert known.max() == pytest.approx(1)
    assert 0 < mixed.max() < 1


def test_keys_stand_for_a_query_without_text(corpus):
    rows = np.arange(corpus.arrays.chunk_count, dtype=np.int32)

    by_key, by_text = (
        likelihoods(corpus, query, rows) for query in (Query("", keys=["Hank Snow"]), Query("Hank Snow"))
    )

    assert by_key.tolist() == by_text.tolist()


def test_the_raw_score_is_the_method_s_own(corpus):
    query = Query("Hank Snow")
    ranking = method_entry("bm25").make()(corpus, query)

    found = build_result(corpus, query, ranking, release="", method="bm25")

    assert [hit.raw_score for hit in found] == pytest.approx(ranking.scores.tolist())


@pytest.mark.parametrize("least", [-0.1, 1.1, "0.5", True, None, float("nan")])
def test_a_bound_outside_zero_to_one_is_refused(corpus, least):
    with pytest.raises(QueryError, match="min_score"):
        count_likely(corpus, Query(QUESTION), np.zeros(1, np.int32), least)


def test_a_bound_keeps_the_hits_that_reach_it(corpus):
    query = Query(QUESTION)
    ranking = method_entry("sag").make()(corpus, query)
    scores = likelihoods(corpus, query, ranking.chunks)

    assert (
        count_likely(corpus, query, ranking.chunks, float(scores[1])) == int((scores >= scores[1]).sum()) < len(scores)
    )
