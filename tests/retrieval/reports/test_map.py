"""The map: nothing touches, areas are sizes, labels keep clear."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sag_retrieval.reports.sections.picture import place_circles, place_dots, place_labels


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(3, 300), min_size=2, max_size=40), st.integers(0, 1_000))
def test_circles_never_touch_and_keep_inside_the_box(sizes, seed):
    random = np.random.default_rng(seed)
    pairs = [(i - 1, i, float(random.random() + 0.1)) for i in range(1, len(sizes)) if random.random() < 0.7]

    placed = place_circles(sizes, pairs)

    gap = np.hypot(*(placed.centre[:, None] - placed.centre[None, :]).transpose(2, 0, 1))
    np.fill_diagonal(gap, np.inf)
    assert np.all(gap > placed.radius[:, None] + placed.radius[None, :])
    left, top, width, height = placed.box
    assert np.all(placed.centre - placed.radius[:, None] >= [left, top])
    assert np.all(placed.centre + placed.radius[:, None] <= [left + width, top + height])


def test_area_is_size():
    placed = place_circles([100, 400], [(0, 1, 1.0)])

    assert placed.radius[1] / placed.radius[0] == pytest.approx(2, rel=0.02)


def test_tied_communities_lie_nearer_than_others():
    pairs = [(a, b, 5.0) for group in ((0, 1, 2), (3, 4, 5)) for a in group for b in group if a < b]

    placed = place_circles([20] * 6, [*pairs, (2, 3, 0.1)])

    gap = np.hypot(*(placed.centre[:, None] - placed.centre[None, :]).transpose(2, 0, 1))
    assert gap[0, 1] < gap[0, 4]


def test_the_same_input_gives_the_same_map():
    one, two = (place_circles([9, 5, 7], [(0, 1, 1.0)]) for _ in range(2))

    assert np.array_equal(one.centre, two.centre)


def test_dots_stay_in_their_circle_around_the_number():
    points, size = place_dots(83, 100, 50, 40)

    away = np.hypot(points[:, 0] - 100, points[:, 1] - 50)
    assert away.max() + size <= 40
    assert away.min() > 8
    assert away.argmin() == 0


def test_shown_labels_overlap_no_circle():
    placed = place_circles([30] * 12, [(i, i + 1, 1.0) for i in range(11)])

    labels = place_labels(placed, ["a long enough title"] * 12)

    assert any(label.fits for label in labels)
