import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sag_retrieval.release import topk
from sag_retrieval.release.topk import BinaryIndex, describe_binary_index, exact_nearest, nearest, pack, reaches
from sag_retrieval.release.vectors import DenseVectors, open_vectors, write_vectors

ROWS, LARGE, DIMENSION = 3000, 12_000, 70


def sample(rows, seed=0):
    """Unit vectors around fifty directions, as texts are around their subjects."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(50, DIMENSION))
    matrix = centres[random.integers(0, 50, rows)] + 0.7 * random.normal(size=(rows, DIMENSION))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A table with signs, and its folder."""
    folder = tmp_path_factory.mktemp("large")
    write_vectors(folder, "events", [(np.arange(LARGE), sample(LARGE))], (LARGE, DIMENSION))
    return open_vectors(folder)["events"], folder


@given(
    arrays.arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 130)), elements=st.floats(-1, 1, width=32)),
    arrays.arrays(np.float32, 130, elements=st.floats(-1, 1, width=32)),
)
def test_the_distance_is_the_number_of_columns_with_another_sign(matrix, query):
    query = query[: matrix.shape[1]]

    near = [BinaryIndex(pack(matrix), reach).near(query, reach) for reach in range(len(matrix) + 1)]

    distance = ((matrix > 0) != (query > 0)).sum(axis=1)
    assert near[-1].tolist() == list(range(len(matrix)))
    for reach, rows in enumerate(near[:-1]):
        assert rows.tolist() == np.flatnonzero(distance <= np.sort(distance)[reach]).tolist()


def test_the_reach_is_the_smallest_that_finds_enough_and_is_written_down(large):
    vectors, folder = large

    found = describe_binary_index(folder, "events")

    assert found["recall_at_50"] >= topk.RECALL_GOAL
    assert vectors.signs.reach == found["reach"]
    assert json.loads((folder / "events.signs.json").read_text()) == found


@pytest.mark.parametrize("row_count", [1, 5_001, 97_000, 16_000_000, 16_000_001, 100_000_000, 2_000_000_000])
def test_a_reach_is_tried_for_any_number_of_rows(row_count):
    tried = [*reaches(row_count)]

    assert tried
    assert tried[0] >= row_count / 250
    assert all(later == 2 * earlier for earlier, later in pairwise(tried))


def test_of_rows_at_like_distance_those_that_the_query_weighs_higher_are_kept(large):
    vectors, _ = large
    index = BinaryIndex(vectors.signs.words, 2000, least_kept=100)
    kept, found = [], []
    for query in sample(40, seed=7):
        best = np.argsort(-(vectors.matrix[:] @ query), kind="stable")[:10]
        kept.append(len(np.intersect1d(index.candidates(query, 2000), best)) / 10)
        found.append(len(np.intersect1d(index.near(query, 500), best)) / 10)

    assert len(index.candidates(sample(1, seed=7)[0], 2000)) == pytest.approx(500, abs=5)
    assert np.mean(kept) >= np.mean(found)
    assert np.mean(kept) > 0.95


def test_likeness_is_the_share_of_equal_signs_less_that_of_others():
    matrix, query = sample(50), sample(1, seed=5)[0]

    found = BinaryIndex(pack(matrix), 50).likeness(query)

    agree = ((matrix > 0) == (query > 0)).mean(axis=1)
    assert found == pytest.approx(2 * agree - 1, abs=1e-6)


def test_what_signs_propose_is_what_an_exact_scan_finds(large):
    vectors, _ = large
    exact = DenseVectors(vectors.matrix)

    shares = [
        len(np.intersect1d(vectors.top(query, 10)[0], exact.top(query, 10)[0])) / 10
        for query in sample(40, seed=7)[:, None, :]
    ]

    assert np.mean(shares) > 0.95


def test_cosines_are_exact_and_descend(large):
    vectors, _ = large
    query = sample(1, seed=5)

    rows, cosines = vectors.top(query, 10)

    assert cosines == pytest.approx(vectors.matrix[rows] @ query[0], abs=1e-6)
    assert np.all(np.diff(cosines) <= 0)


@settings(max_examples=20)
@given(st.floats(0.0, 1.0), st.integers(1, 20), st.integers(0, 100))
def test_under_any_restriction_as_many_rows_are_found_as_there_are(share, k, seed):
    matrix = np.abs(sample(ROWS))
    vectors = DenseVectors(matrix, BinaryIndex(pack(matrix), 50, least_kept=20))
    allowed = np.random.default_rng(seed).random(ROWS) < share

    rows, _ = vectors.top(np.abs(sample(1, seed=seed)), k, allowed)

    assert len(rows) == min(k, np.count_nonzero(allowed))
    assert allowed[rows].all()


def test_rows_far_from_the_query_are_found_where_nothing_else_is_allowed():
    matrix = sample(ROWS)
    query = sample(1, seed=5)
    cosines = matrix @ query[0]
    allowed = (cosines > 0) & (cosines < np.quantile(cosines[cosines > 0], 0.7))

    rows, _ = DenseVectors(matrix, BinaryIndex(pack(matrix), 50, least_kept=20)).top(query, 10, allowed)

    assert len(rows) == 10
    assert allowed[rows].all()


def test_vectors_whose_signs_say_too_little_are_scanned_exactly(tmp_path):
    matrix = sample(LARGE) + np.where(np.arange(DIMENSION) < DIMENSION - 6, 9, 0)
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)

    write_vectors(tmp_path, "events", [(np.arange(LARGE), matrix)], (LARGE, DIMENSION))

    assert [path.name for path in tmp_path.iterdir()] == ["events.dense.npy"]
    assert open_vectors(tmp_path)["events"].signs is None


def test_few_rows_have_no_signs(tmp_path):
    write_vectors(tmp_path, "keys", [(np.arange(5), sample(5))], (5, DIMENSION))

    assert open_vectors(tmp_path)["keys"].signs is None
    assert describe_binary_index(tmp_path, "keys") == {}


def test_the_exact_neighbours_of_many_blocks_are_those_of_one(monkeypatch):
    matrix, questions = sample(500), sample(4, seed=3)
    whole = exact_nearest(matrix, questions, 7)
    monkeypatch.setattr(topk, "_BLOCK", 64)

    assert [rows.tolist() for rows in exact_nearest(matrix, questions, 7)] == [rows.tolist() for rows in whole]
    assert whole[0].tolist() == np.argsort(-(matrix @ questions[0]), kind="stable")[:7].tolist()


@given(
    arrays.arrays(np.uint16, st.integers(1, 400), elements=st.integers(0, 40)), st.integers(0, 420), st.integers(1, 50)
)
def test_the_nearest_rows_and_their_ties_are_found_with_any_sample(distance, count, sampled):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topk, "_SAMPLED", sampled)
        found = nearest(distance, count)

    furthest = np.sort(distance)[min(count, len(distance) - 1)]
    assert found.tolist() == np.flatnonzero(distance <= furthest).tolist()
