import igraph
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_retrieval.release.mapped_arrays import group
from sag_retrieval.search.weights import power, push


def random_graph(seed, chunks=40, keys=25, links=120, share=0.2):
    """Chunk–key links in which every node has at least one, and a restart vector for each side."""
    random = np.random.default_rng(seed)
    pairs = {(c, int(random.integers(keys))) for c in range(chunks)}
    pairs |= {(int(random.integers(chunks)), k) for k in range(keys)}
    pairs |= {(int(random.integers(chunks)), int(random.integers(keys))) for _ in range(links)}
    chunk, key = np.array(sorted(pairs)).T
    restart = random.random(chunks + keys) ** 4 * (random.random(chunks + keys) < share)
    restart[0] += 0.1
    restart /= restart.sum()
    return chunk, key, restart[:chunks], restart[chunks:]


def ranked(by, graph, sizes, damping):
    """The graph ranked by a function, its restart as rows and shares."""
    chunk, key, on_chunks, on_keys = graph
    seeds = [(np.flatnonzero(side).astype(np.int32), side[side > 0]) for side in (on_keys, on_chunks)]
    return by(group(key, chunk, sizes[1])[0], group(chunk, key, sizes[0])[0], *seeds, damping)


@pytest.mark.parametrize("damping", [0.3, 0.5, 0.7, 0.85])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_power_iteration_equals_igraph(seed, damping):
    chunk, key, on_chunks, on_keys = random_graph(seed)
    graph = igraph.Graph(n=65, edges=list(zip(chunk.tolist(), (key + 40).tolist(), strict=True)))

    oracle = np.array(graph.personalized_pagerank(damping=damping, reset=[*on_chunks, *on_keys], directed=False))
    of_keys, of_chunks = ranked(power, (chunk, key, on_chunks, on_keys), (40, 25), damping)

    assert of_chunks == pytest.approx(oracle[:40], abs=1e-5)
    assert of_keys == pytest.approx(oracle[40:], abs=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_push_ranks_the_first_ten_as_power_iteration_does(seed):
    graph = random_graph(seed, chunks=2000, keys=900, links=6000, share=0.02)

    exact = ranked(power, graph, (2000, 900), 0.7)[1]
    near = ranked(push, graph, (2000, 900), 0.7)

    assert np.argsort(-near)[:10].tolist() == np.argsort(-exact)[:10].tolist()
    assert near == pytest.approx(exact, abs=5e-5)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0, 0.95))
def test_rank_sums_to_one_and_is_never_negative(seed, damping):
    chunk, key, on_chunks, on_keys = random_graph(seed, chunks=12, keys=7, links=10)

    of_keys, of_chunks = ranked(power, (chunk, key, on_chunks, on_keys), (12, 7), damping)

    assert of_keys.sum() + of_chunks.sum() == pytest.approx(1)
    assert min(of_keys.min(), of_chunks.min()) >= 0


def test_without_damping_the_restart_is_the_rank():
    chunk, key, on_chunks, on_keys = random_graph(5)

    of_keys, of_chunks = ranked(power, (chunk, key, on_chunks, on_keys), (40, 25), 0.0)

    assert of_chunks == pytest.approx(on_chunks)
    assert of_keys == pytest.approx(on_keys)


def test_without_a_restart_there_is_no_rank():
    chunk, key, *_ = random_graph(5)
    nothing = np.zeros(0, np.int32), np.zeros(0)

    lists = group(key, chunk, 25)[0], group(chunk, key, 40)[0]
    near = push(*lists, nothing, nothing, 0.7)

    assert not near.any()
    assert not power(*lists, nothing, nothing, 0.7)[1].any()


def test_a_node_without_edges_keeps_its_own_share():
    lists = group(np.array([0]), np.array([0]), 2)[0]
    near = push(
        lists, lists, (np.array([0], np.int32), np.array([0.5])), (np.array([1], np.int32), np.array([0.5])), 0.5
    )

    assert near[1] == pytest.approx(0.25)
    assert near[0] > 0
