"""The worked example of docs/algorithm.md §search.15: six events, four keys, three chunks."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.search.expand import expand, propagate
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.options import SAG_LITERAL
from sag_retrieval.search.rank import rank, read_texts, weigh_candidates
from sag_retrieval.search.sag import search

KEYS = ("alpha", "beta", "gamma", "delta")
EVENTS = {
    "events": [0.5, 0.4, 0.5, 0.8, 0.6, 0.1],
    "keys": [0.8, 0.6, 0.2, 0.1],
    "chunks": [0.6, 0.5, 0.2],
}
OPTIONS = replace(SAG_LITERAL, key_count=2, event_count=5, final_count=3)


@pytest.fixture
def index(build, Document):
    documents = (
        Document("", [[("alpha beta", ["alpha", "beta"]), ("alpha", ["alpha"])]]),
        Document("", [[("beta gamma", ["beta", "gamma"]), ("gamma", ["gamma"])]]),
        Document("", [[("delta", ["delta"]), ("gamma delta", ["gamma", "delta"])]]),
    )
    return build(documents, keys=KEYS, cosines=EVENTS)


@pytest.fixture
def reading(index):
    return parse_query(index, Query("query"))


def test_stage_one_gives_the_worked_key_weights(index, reading):
    found = expand(index, reading, OPTIONS)

    assert found.seeds.rows.tolist() == [0, 1]
    assert found.seeds.weights == pytest.approx([0.8, 0.6])
    assert found.events.tolist() == [0, 1, 2]
    assert found.event_weights == pytest.approx([0.7, 0.32, 0.3])
    assert found.keys.rows.tolist() == [0, 1, 2]
    assert found.keys.weights == pytest.approx([1.02, 1.0, 0.3])
    assert found.keys.hops.tolist() == [1, 1, 1]


def test_a_second_hop_lets_weights_grow_and_counts_new_keys_as_hop_two(index, reading):
    options = replace(OPTIONS, hops=2, final_count=4)

    first, second = propagate(index, reading, expand(index, reading, options).keys, options)

    # e0: (1.02+1.0)·.5, e1: 1.02·.4, e2: (1.0+.3)·.5, e3: .3·.8, e5: .3·.1
    assert second.weights == pytest.approx([1.01 + 0.408, 1.01 + 0.65, 0.65 + 0.24 + 0.03, 0.03])
    assert first.hops.tolist() == [1, 1, 1]
    assert second.hops.tolist() == [1, 1, 1, 2]


def test_stage_three_gives_the_worked_initial_weights_and_ranks(index, reading):
    keys = expand(index, reading, OPTIONS).keys

    route = read_texts(index, reading, OPTIONS)
    candidates, initial = weigh_candidates(index.arrays, reading, route, keys, OPTIONS)
    scores = rank(index, reading, keys, 1.0, OPTIONS)

    assert candidates.tolist() == [0, 1, 2]
    assert initial == pytest.approx([1.33451161, 0.95444851, 0.28891987])
    assert scores.final == pytest.approx([1.0, 0.73816584, 0.28935512], abs=1e-5)


def test_the_whole_search_orders_the_chunks_as_worked(index):
    found = search(index, Query("query"), OPTIONS)

    assert found.chunks.tolist() == [0, 1, 2]
    assert np.all(np.diff(found.scores) < 0)
