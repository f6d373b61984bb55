"""The worked example of docs/algorithm.md §search.15: six events, four keys, three chunks."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.search.expand import expand, propagate
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.options import SAG_EVENTS, SAG_LITERAL
from sag_retrieval.search.rank import rank, read_texts, weigh_candidates
from sag_retrieval.search.registry import method_entry
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
    assert initial == pytest.approx([1.28451161, 0.89194851, 0.18891987])
    assert scores.final == pytest.approx([1.0, 0.72151825, 0.26705389], abs=1e-5)


def test_the_query_finds_chunks_by_cosine_and_bm25_beside_those_of_its_keys(index):
    options = replace(OPTIONS, final_count=1, text_count=1)
    by_words = parse_query(index, Query("delta"))

    route = read_texts(index, by_words, options)
    keys = expand(index, by_words, options).keys
    candidates, _ = weigh_candidates(index.arrays, by_words, route, keys, options)

    # c2 alone holds the word; c0, which alone has the final key alpha, has the highest cosine
    assert route.similarity == pytest.approx([0.5, 0.375, 0.5])
    assert np.argmax(route.bm25) == 2
    assert keys.rows.tolist() == [0]
    assert candidates.tolist() == [0]
    assert weigh_candidates(index.arrays, by_words, route, keys, replace(options, text_count=2))[0].tolist() == [0, 2]


def test_events_lead_to_keys_and_initial_weights_rank_the_chunks_in_the_simplified_form(index, reading):
    formula = replace(SAG_EVENTS.formula, sharpness=1.0, back_idf=0.0, normalise=False)
    options = replace(SAG_EVENTS, event_count=2, final_count=2, formula=formula)

    found = expand(index, reading, options)
    ranked = search(index, Query("query"), options)

    # the events most like the query: e3 {gamma} .8, e4 {delta} .6
    assert found.seeds.rows.tolist() == []
    assert found.events.tolist() == [3, 4]
    assert found.keys.rows.tolist() == [2, 3]
    assert found.keys.weights == pytest.approx([0.8, 0.6])
    # s: .5, .375, 0; gamma stands once in c1's text, twice in none; c2 has both keys
    c1 = 0.375 + np.log1p(0.8 * np.log(3))
    c2 = np.log1p(0.8 * np.log(2) + 0.6 * np.log(3))
    assert ranked.scores == pytest.approx(np.sort([0.5, c1, c2])[::-1] / max(c1, c2))
    assert [key.hop for key in ranked.keys] == [1, 1]
    assert {key.reason for key in ranked.keys} == {"in an event like the query"}


def test_the_whole_search_orders_the_chunks_as_worked(index):
    found = search(index, Query("query"), OPTIONS)

    assert found.chunks.tolist() == [0, 1, 2]
    assert np.all(np.diff(found.scores) < 0)


@pytest.mark.parametrize("method", ["sag", "sag-literal", "sag-events"])
def test_each_hop_tells_its_keys_their_weights_and_why(index, method):
    query, results = Query("query", explain=True), []
    for hops in (1, 2, 3, 4):
        rank_by_hops = method_entry(method).make({"hops": hops, "event_count": 1, "key_count": 1})
        results.append(build_result(index, query, rank_by_hops(index, query), release="", method=method))

    # e3 {gamma}; then e2 {beta gamma} and e5 {gamma delta}; then e0 {alpha beta}; the seed is alpha, where there is one
    has_seed = method != "sag-events"
    reached = [{key.value: key.hop for key in result.keys} for result in results]
    first = {"gamma": 1} | ({"alpha": 0} if has_seed else {})
    second = first | {"beta": 2, "delta": 2}
    assert reached == [first, second, *[second | {"alpha": 0 if has_seed else 3}] * 2]
    for result in results:
        gained = {
            key["value"]: (hop["hop"], key["weight"]) for hop in result.trace["hops"] for key in hop["keys_gained"]
        }
        further = [key for key in result.keys if key.hop > 1]
        assert all(gained[key.value][0] == key.hop for key in further)
        assert all(min(key.weight, gained[key.value][1]) > 0 for key in further)
        assert all(key.reason == f"in an event with a key of hop {key.hop - 1}" for key in further)
