import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.release.text_index import Vocabulary, count_terms
from sag_retrieval.search.rank import cover


def postings(texts):
    vocabulary = Vocabulary()
    flat, sizes = vocabulary.read(texts)
    numbers = vocabulary.numbers
    return count_terms(flat, np.repeat(np.arange(len(sizes)), sizes), len(sizes), len(numbers)).weighed(), numbers


def test_a_chunk_with_the_missing_words_overtakes_a_second_one_with_the_same():
    text, numbers = postings(["red apple", "red apple", "green pear", "blue sky"])
    terms = {numbers[word]: 1 for word in ("red", "appl", "green", "pear")}

    found = cover(np.array([1.0, 0.9, 0.8, 0.1]), text, terms, weight=0.3, pool=4)

    assert np.argsort(-found).tolist() == [0, 2, 1, 3]


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), st.floats(0, 2))
def test_scores_grow_by_the_covered_share_and_never_by_more(scores, weight):
    text, numbers = postings(["red apple", "red pear", "green pear", "blue sky"])
    terms = {numbers[word]: 1 for word in ("red", "pear", "green")}
    scaled = np.array(scores) / max(scores)

    gained = cover(np.array(scores), text, terms, weight, pool=4) - scaled

    assert np.all(gained >= 0)
    assert gained.sum() == pytest.approx(weight)


def test_without_weight_or_terms_the_order_stays():
    text, numbers = postings(["red", "green"])
    scores = np.array([0.5, 0.25])

    assert cover(scores, text, {numbers["green"]: 1}, weight=0, pool=2).tolist() == [1, 0.5]
    assert cover(scores, text, {}, weight=1, pool=2).tolist() == [1, 0.5]


def test_chunks_that_are_not_allowed_cover_nothing():
    text, numbers = postings(["red", "red", "green"])
    allowed = np.array([False, True, True])

    found = cover(np.array([0.0, 0.5, 0.5]), text, {numbers["red"]: 1}, 0.5, 3, allowed)

    assert found[0] == 0
    assert found[1] == pytest.approx(1.5)
