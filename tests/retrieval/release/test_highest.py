import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_retrieval.release.topk import kth_largest, top_k


@settings(max_examples=60)
@given(st.lists(st.sampled_from([-0.5, 0.0, 0.2, 0.4, 0.9]), max_size=30), st.integers(0, 12))
def test_the_best_are_those_of_a_full_sort_with_ties_by_row(scores, k):
    found, values = top_k(np.array(scores, np.float32), k)

    expected = sorted((row for row, score in enumerate(scores) if score > 0), key=lambda r: (-scores[r], r))[:k]
    assert found.tolist() == expected
    assert values.tolist() == pytest.approx([scores[row] for row in expected])


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 20), st.integers(1, 3000), st.booleans())
def test_the_kth_highest_is_that_of_a_full_sort_however_many_scores_there_are(seed, k, count, tied):
    scores = np.random.default_rng(seed).normal(size=count)
    scores = scores.round(1) if tied else scores

    assert kth_largest(scores, k) == (np.sort(scores)[-k] if k < count else -np.inf)
