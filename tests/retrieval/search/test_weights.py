import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.search.weights import (
    Links,
    chunk_weights,
    event_weights,
    key_terms,
    key_weights,
    look_up,
    min_max,
    normalise,
    rarity,
    sharpen,
    sum_at,
)

unit = st.floats(0, 1, allow_subnormal=False)
units = st.lists(unit, min_size=1, max_size=12).map(np.array)
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), unique=True)


def as_links(listed):
    return Links(*(np.array([pair[side] for pair in listed], np.intp) for side in (0, 1)))


@given(pairs)
def test_weight_passed_back_to_keys_is_conserved_per_link(listed):
    links, weight = as_links(listed), np.arange(5.0)

    back = key_weights(links, weight, key_count=5)

    assert back.sum() == pytest.approx(weight[links.event].sum())


@given(pairs, st.lists(unit, min_size=5, max_size=5), st.lists(unit, min_size=5, max_size=5))
def test_an_event_weighs_its_likeness_times_its_keys(listed, key_weight, similarity):
    found = event_weights(as_links(listed), np.array(key_weight), np.array(similarity))

    for event in range(5):
        own = sum(key_weight[key] for of, key in listed if of == event)
        assert found[event] == pytest.approx(own * similarity[event])


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_links_does_not_matter(listed, random):
    shuffled = random.sample(listed, len(listed))
    weight, similarity = np.linspace(0.1, 1, 5), np.linspace(1, 0.2, 5)

    one = event_weights(as_links(listed), weight, similarity)
    other = event_weights(as_links(shuffled), weight, similarity)

    assert one == pytest.approx(other)


def test_without_links_nothing_weighs_anything():
    none = as_links([])

    assert event_weights(none, np.ones(3), np.ones(2)).tolist() == [0, 0]
    assert key_weights(none, np.ones(2), 3).tolist() == [0, 0, 0]


@given(units, st.floats(0.5, 8))
def test_sharpening_keeps_order_and_bounds(similarity, power):
    sharp = sharpen(similarity, power)

    assert np.all((sharp >= 0) & (sharp <= 1))
    assert np.all(np.diff(sharp[np.argsort(similarity, kind="stable")]) >= 0)


def test_sharpening_drops_what_points_away():
    assert sharpen(np.array([-0.5, 0.0, 0.5]), 2).tolist() == [0, 0, 0.25]


@given(units, st.floats(0.1, 2))
def test_rarity_is_one_for_the_rarest_and_falls_with_idf(idf, power):
    highest = float(idf.max())

    found = rarity(idf, highest, power)

    assert np.all((found >= 0) & (found <= 1))
    assert found[np.argmax(idf)] == pytest.approx(1)


@pytest.mark.parametrize(("highest", "power"), [(0.0, 1.0), (2.0, 0.0)])
def test_rarity_plays_no_part_where_no_key_is_rarer_or_it_is_switched_off(highest, power):
    assert rarity(np.zeros(3), highest, power).tolist() == [1, 1, 1]


@given(st.floats(0, 5), st.integers(1, 50), st.integers(1, 4))
def test_a_key_adds_more_with_count_and_less_with_hops(weight, count, hop):
    here = key_terms(np.array([weight]), np.array([count]), np.array([hop]))[0]

    assert key_terms(np.array([weight]), np.array([count + 1]), np.array([hop]))[0] >= here
    assert key_terms(np.array([weight]), np.array([count]), np.array([hop + 1]))[0] <= here


def test_a_chunk_without_keys_weighs_its_similarity_alone():
    assert chunk_weights(np.array([0.4, 0.2]), np.zeros(2), 0.5).tolist() == [0.2, 0.1]


@given(units)
def test_normalised_weights_have_maximum_one_and_the_same_order(weight):
    found = normalise(weight)

    assert found.max() == pytest.approx(1 if weight.max() > 0 else 0)
    assert found * weight.max() == pytest.approx(weight if weight.max() > 0 else np.zeros(len(weight)))


@given(units)
def test_min_max_reaches_from_zero_to_one_or_is_flat(values):
    found = min_max(values)

    assert np.all((found >= 0) & (found <= 1))
    assert (found.max() == 1) == (values.max() > values.min())


@given(units)
def test_min_max_looks_at_allowed_rows_alone(values):
    allowed = np.arange(len(values)) % 2 == 0

    found = min_max(values, allowed)

    assert found[~allowed].tolist() == [0] * np.count_nonzero(~allowed)
    assert found[allowed] == pytest.approx(min_max(values[allowed]))


def test_nothing_to_scale_is_nothing():
    assert min_max(np.zeros(0)).tolist() == []
    assert min_max(np.ones(3), np.zeros(3, bool)).tolist() == [0, 0, 0]
    assert sum_at(np.zeros(0, np.intp), np.zeros(0), 2).tolist() == [0, 0]


def test_looking_up_gives_zero_for_rows_that_are_not_there():
    rows, values = np.array([2, 5, 9], np.int32), np.array([0.2, 0.5, 0.9])

    assert look_up(rows, values, np.array([9, 3, 2, 10, 0])).tolist() == [0.9, 0, 0.2, 0, 0]
    assert look_up(rows[:0], values[:0], np.array([1])).tolist() == [0]
