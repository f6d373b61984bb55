"""New events move to the community that they gain most by, and communities that are there stay whole."""

import numpy as np
import pytest

from sag_retrieval.clusters.incremental import NewTies, settle
from sag_retrieval.clusters.options import ClusterOptions

OLD = [0, 0, 0, 1, 1, 1]
OPTIONS = ClusterOptions(resolution=0.05)


def placed(new: int, ties: list[tuple[int, int, float]], options: ClusterOptions = OPTIONS) -> list[int]:
    """Communities of new events, whose rows follow those of two communities of three."""
    group = np.array(OLD + [-1] * new, np.int32)
    place, other, strength = (np.array(column) for column in zip(*ties, strict=True)) if ties else ([], [], [])
    known = NewTies(np.array(place, np.int32), np.array(other, np.int32), np.array(strength, np.float64))
    nodes = [np.array([len(OLD) + number], np.int32) for number in range(new)]
    found = settle(nodes, known, group, 2, options, 0)
    assert found[: len(OLD)].tolist() == OLD
    return found[len(OLD) :].tolist()


def test_an_event_goes_where_its_ties_are_strongest():
    assert placed(1, [(0, 0, 0.3), (0, 3, 0.4), (0, 4, 0.2)]) == [1]


@pytest.mark.parametrize(("strength", "community"), [(0.16, 0), (0.14, 2)])
def test_an_event_stays_alone_where_its_ties_weigh_less_than_the_resolution_asks(strength, community):
    assert placed(1, [(0, 0, strength)]) == [community]


def test_an_event_without_ties_is_a_community():
    assert placed(2, []) == [2, 3]


def test_new_events_that_are_tied_to_one_another_become_one_community():
    chain = [(0, 7, 0.5), (1, 8, 0.5), (2, 6, 0.5), (0, 0, 0.16)]

    assert placed(3, chain) == [2, 2, 2]


def test_an_event_between_two_communities_joins_one_of_them_and_both_stay():
    options = ClusterOptions(resolution=0.001)

    assert placed(1, [(0, 0, 0.9), (0, 3, 0.8)], options) == [0]


def test_a_tie_that_both_of_two_new_events_tell_counts_once():
    once, twice = [(0, 7, 0.04)], [(0, 7, 0.04), (1, 6, 0.04)]

    assert placed(2, once) == placed(2, twice) == [2, 3]
