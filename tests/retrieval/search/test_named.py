from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.search.expand import WeightedKeys
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.options import SAG, Formula
from sag_retrieval.search.rank import boost_mentioned_titles, chunks_about, key_trust, named_share, walk_trust
from tests.retrieval.search.conftest import Doc


def lifted(index, question, scores, length=1.0, **changes):
    return boost_mentioned_titles(
        index.arrays, parse_query(index, Query(question)), scores, length, replace(SAG, formula=Formula(**changes))
    )


def row_of(index, title):
    return index.rows["documents"]["title"].to_pylist().index(title)


def test_each_thing_that_the_query_names_is_lifted_to_the_floor(corpus):
    scores = np.full(corpus.arrays.chunk_count, 0.1)

    found = lifted(corpus, "Is Hank Snow older than 云南农业公司?", scores)

    assert np.flatnonzero(found == SAG.formula.named_floor).tolist() == sorted(
        [row_of(corpus, "Hank Snow"), row_of(corpus, "云南农业公司")]
    )


def test_all_chunks_about_the_thing_rise_in_proportion_and_nearer_to_the_best_where_documents_are_long(long_corpus):
    scores = np.linspace(0.1, 0.2, long_corpus.arrays.chunk_count)

    found = lifted(long_corpus, "What did Birch Bank sell?", scores, length=4.0)

    about = chunks_about(long_corpus.arrays, long_corpus.arrays.mentions.exact("Birch Bank"))
    assert np.flatnonzero(found != scores).tolist() == sorted(about.tolist())
    assert found[about].max() == pytest.approx(1 - 0.5 / 4)
    assert np.allclose(found[about] / scores[about], found[about][0] / scores[about][0])


def test_a_name_that_too_many_documents_bear_lifts_nothing(build):
    index = build([Doc("Springfield", [[(f"Springfield lies in state {n}.", [])]]) for n in range(3)])
    scores = np.full(3, 0.1)

    assert lifted(index, "Where is Springfield?", scores, named_documents=2).tolist() == [0.1] * 3
    assert lifted(index, "Where is Springfield?", scores, named_documents=3).max() == SAG.formula.named_floor


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.floats(0, 1))
def test_no_score_falls_and_none_rises_over_the_floor(corpus, scores, floor):
    before = np.array(scores)

    after = lifted(corpus, "Hank Snow or Hello Love?", before, named_floor=floor)

    assert np.all(after >= before)
    assert np.all((after == before) | (after <= floor + 1e-12))


def seeds(*weights):
    return WeightedKeys(np.arange(len(weights), dtype=np.int32), np.array(weights), np.zeros(len(weights), np.int32))


@given(st.lists(st.floats(0, 1), max_size=5), st.floats(0.1, 4))
def test_trust_grows_with_the_best_seed_and_is_a_share(weights, power):
    found = key_trust(seeds(*weights), power)

    assert 0 <= found <= 1
    assert key_trust(seeds(*weights, 1.0), power) == 1
    assert found <= key_trust(seeds(*weights, 0.5), power)


def test_without_seeds_the_walk_counts_nothing_unless_it_always_counts():
    assert key_trust(seeds(), 0.75) == 0
    assert key_trust(seeds(), 0) == 1


def test_a_name_that_is_a_small_part_of_the_query_is_trusted_in_proportion(corpus):
    best = seeds(1.0)
    short, long = "Hank Snow", "song of Hank Snow about green borders"
    asked = {text: parse_query(corpus, Query(text)) for text in (short, long)}
    share = {text: named_share(corpus, reading) for text, reading in asked.items()}
    options = replace(SAG, formula=Formula(named_share=0.9))

    assert share[short] == 1 > share[long] > 0
    for text, reading in asked.items():
        assert walk_trust(corpus, reading, best, options) == pytest.approx(min(1, share[text] / 0.9))
        assert walk_trust(corpus, reading, best, replace(SAG, formula=Formula(named_share=0.0))) == 1


def test_given_keys_are_trusted_whatever_share_of_the_query_they_are(corpus):
    reading = parse_query(corpus, Query("who sold vegetables beside Hank Snow", keys=["Hank Snow"]))

    assert named_share(corpus, reading) == 1
