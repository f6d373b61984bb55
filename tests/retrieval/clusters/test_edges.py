"""Edges of event pairs, compared with the plain loop over all pairs."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sag_retrieval.clusters.events import EventLinks, EventTable
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.clusters.similarity import Sharing, key_idf, nearest, pair_statistics, weigh_edges
from sag_retrieval.core.errors import SettingsError
from tests.support.planted import planted, table


def random_events(seed: int) -> EventTable:
    random = np.random.default_rng(seed)
    size, key_count = int(random.integers(1, 30)), int(random.integers(1, 12))
    carried = random.random((size, key_count)) < random.choice([0.05, 0.2, 0.6])
    event, key = (each.astype(np.int32) for each in np.nonzero(carried))
    vectors = random.standard_normal((size, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return table(size, EventLinks(event=event, key=key), key_count, vectors.astype(np.float32))


def weights_of_every_pair(events: EventTable, alpha: float, *, use_idf: bool = True) -> dict[tuple[int, int], float]:
    """The loop over all pairs as the formulas are written down, without a thought for speed."""
    keys: list[set[int]] = [set() for _ in range(len(events))]
    for event, key in zip(events.links.event.tolist(), events.links.key.tolist(), strict=True):
        keys[event].add(key)
    carriers = {key: sum(key in each for each in keys) for each in keys for key in each}
    keys = [{key for key in each if carriers[key] <= max(10, len(events) / 2)} for each in keys]
    idf = {key: math.log(len(events) / count) if use_idf else 1.0 for key, count in carriers.items()}
    pairs = list(combinations(range(len(events)), 2))
    shared = np.array([sum(idf[key] for key in sorted(keys[i] & keys[j])) for i, j in pairs])
    if not pairs:
        return {}
    deviation = shared.std() if not np.allclose(shared, shared[0], rtol=1e-9, atol=1e-12) else 0.0
    found = {}
    for (i, j), weight in zip(pairs, shared, strict=True):
        z = (weight - shared.mean()) / deviation if deviation else 0.0
        cosine = float(events.vectors[i] @ events.vectors[j])
        found[i, j] = alpha / (1 + math.exp(-z)) + (1 - alpha) * cosine
    return found


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_weights_of_all_pairs_equal_the_pair_loop(start):
    for seed in range(start, start + 50):
        events = random_events(seed)
        options = ClusterOptions(pairs="all", alpha=(seed % 5) / 4, use_idf=seed % 3 > 0)

        edges = weigh_edges(events, options)

        expected = weights_of_every_pair(events, options.alpha, use_idf=options.use_idf)
        kept = {pair: weight for pair, weight in expected.items() if weight > options.threshold}
        found = dict(zip(zip(edges.left.tolist(), edges.right.tolist(), strict=True), edges.weight, strict=True))
        assert found.keys() == kept.keys()
        assert found == pytest.approx(kept, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 300, 100))
def test_a_candidate_weighs_what_the_pair_loop_says_and_every_sharing_pair_is_a_candidate(start):
    for seed in range(start, start + 100):
        events = random_events(seed)
        limit = 3 if seed % 2 else 100

        edges = weigh_edges(events, ClusterOptions(common_key_limit=limit, strongest=1_000, threshold=-1.0))

        expected = weights_of_every_pair(events, 0.7)
        found = dict(zip(zip(edges.left.tolist(), edges.right.tolist(), strict=True), edges.weight, strict=True))
        assert found == pytest.approx({pair: expected[pair] for pair in found}, abs=1e-6)
        if limit == 100:
            matrix = events.incidence()
            weight = key_idf(matrix) * (matrix.sum(axis=0) <= max(10, len(events) / 2))
            sharing = set(zip(*(side.tolist() for side in ((matrix * weight) @ matrix.T).nonzero()), strict=True))
            assert {(i, j) for i, j in sharing if i < j} <= found.keys()


@pytest.mark.parametrize("seed", range(5))
def test_the_shared_weight_of_pairs_is_exact_with_more_keys_than_an_event_has_marks(seed):
    random = np.random.default_rng(seed)
    carried = random.random((60, 300)) < 0.03
    weight = np.where(random.random(300) < 0.2, 0, random.random(300))
    left, right = (side.astype(np.int32) for side in np.nonzero(np.ones((60, 60))))

    found = Sharing.of(csr_array(carried.astype(np.float64)), weight)(left, right)

    assert found == pytest.approx(((carried * weight) @ carried.T)[left, right])


def test_the_nearest_events_are_the_first_of_all_in_order_of_likeness():
    events, _ = planted(300, seed=5)

    left, right = nearest(events.vectors, 4)

    likeness = events.vectors @ events.vectors.T
    np.fill_diagonal(likeness, -np.inf)
    assert np.array_equal(left, np.repeat(np.arange(300), 4))
    assert np.array_equal(right.reshape(300, 4), np.argsort(-likeness, axis=1, kind="stable")[:, :4])


def test_statistics_of_all_pairs_are_exact_also_when_counted_in_small_blocks(monkeypatch):
    events, _ = planted(300, seed=4)
    incidence = events.incidence()
    idf = key_idf(incidence)
    monkeypatch.setattr("sag_retrieval.clusters.similarity.PAIRS_AT_ONCE", 50)

    found = pair_statistics(incidence, idf)

    shared = ((incidence * idf) @ incidence.T).toarray()[np.triu_indices(300, 1)]
    assert found.mean == pytest.approx(shared.mean(), rel=1e-12)
    assert found.deviation == pytest.approx(shared.std(), rel=1e-9)


def test_each_event_keeps_its_strongest_pairs():
    events, _ = planted(500, seed=1)
    everything = weigh_edges(events, ClusterOptions(strongest=1_000))

    kept = weigh_edges(events, ClusterOptions(strongest=3))

    weight = np.full((500, 500), -1.0)
    weight[everything.left, everything.right] = weight[everything.right, everything.left] = everything.weight
    third = np.sort(weight, axis=1)[:, -3]
    assert np.all(kept.weight >= np.minimum(third[kept.left], third[kept.right]) - 1e-9)
    assert 500 * 3 / 2 <= len(kept.left) <= 500 * 3


@pytest.mark.parametrize(("carrying", "common", "strength"), [(160, 1, True), (240, 0, False)])
def test_a_common_key_proposes_no_pairs_and_one_of_most_events_ties_nothing(carrying, common, strength):
    size = 400
    own = np.arange(size, dtype=np.int32)
    event = np.concatenate([own, own[:carrying]])
    key = np.concatenate([1 + own // 2, np.zeros(carrying, np.int32)])
    events = table(size, EventLinks(event=event, key=key), 1 + size // 2, np.eye(size, dtype=np.float32))

    edges = weigh_edges(events, ClusterOptions(common_key_limit=100))

    assert edges.common_keys == common
    assert len(edges.left) == size // 2
    assert (edges.weight[0] > edges.weight[-1]) == strength  # the first pair shares the common key as well


def test_years_and_months_tie_nothing_unless_types_of_keys_are_chosen():
    carried = [(0, 0), (1, 0), *((event, key) for event in range(5) for key in (1, 2))]
    event, key = (np.array(side, np.int32) for side in zip(*carried, strict=True))
    events = table(5, EventLinks(event=event, key=key), 3, np.eye(5, dtype=np.float32))
    dated = replace(events, keys=replace(events.keys, types=["date"] * 3, values=["2026-03-05", "2026-03", "2026"]))
    options = ClusterOptions(alpha=1, threshold=0.5, use_idf=False)

    edges, asked = (weigh_edges(dated, each) for each in (options, replace(options, key_types=("date",))))

    assert list(zip(edges.left, edges.right, strict=True)) == [(0, 1)]
    assert asked.normal.mean == pytest.approx(2.1)  # shared keys of a pair: two of all, a third of one


def test_only_keys_of_the_chosen_types_tie_events():
    events = random_events(12)

    edges = weigh_edges(events, ClusterOptions(key_types=("place",), alpha=1.0))

    assert len(edges.left) == 0


def test_weighing_every_pair_of_too_many_events_says_the_bound():
    events, _ = planted(5_050)

    with pytest.raises(SettingsError, match="5050 events, at most 5000"):
        weigh_edges(events, ClusterOptions(pairs="all"))


def test_neighbours_by_cells_are_mostly_the_true_ones_for_dense_and_sparse_vectors(monkeypatch):
    events, _ = planted(1_500, seed=3)
    exact = set(zip(*(side.tolist() for side in nearest(events.vectors, 5)), strict=True))
    monkeypatch.setattr("sag_retrieval.clusters.similarity.EXACT_LIMIT", 100)

    dense = set(zip(*(side.tolist() for side in nearest(events.vectors, 5)), strict=True))
    sparse = set(zip(*(side.tolist() for side in nearest(csr_array(events.vectors), 5)), strict=True))

    assert len(dense & exact) / len(exact) > 0.6
    assert len(sparse & exact) / len(exact) > 0.6
    assert all(left != right for left, right in dense | sparse)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_tiny_sets_have_no_or_one_pair(size):
    links = EventLinks(event=np.arange(size, dtype=np.int32), key=np.zeros(size, np.int32))
    events = table(size, links, 1, np.ones((size, 1), np.float32))

    for pairs in ("all", "candidates"):
        assert len(weigh_edges(events, ClusterOptions(pairs=pairs)).left) == size // 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha", 1.5), ("levels", 0), ("strongest", 0), ("resolution", -1.0), ("method", "kmeans")],
)
def test_an_option_out_of_bounds_is_refused_with_its_bound(name, value):
    with pytest.raises(SettingsError, match=f"{name}=.*{value}.* must be"):
        ClusterOptions(**{name: value})
