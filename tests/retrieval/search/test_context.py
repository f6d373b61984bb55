from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.release.topk import BinaryIndex, pack
from sag_retrieval.release.vectors import DenseVectors
from sag_retrieval.search.expand import WeightedKeys
from sag_retrieval.search.method import Query, chunk_cosines, parse_query
from sag_retrieval.search.methods.hybrid import SEARCH, hybrid_method
from sag_retrieval.search.options import SAG, Formula
from sag_retrieval.search.rank import (
    DENSE_SHARE,
    best_neighbour,
    breadth,
    bridge_strength,
    names_subject,
    read_texts,
    relative,
    restart,
    structure_share,
    text_weight,
    typical_length,
)
from sag_retrieval.search.registry import method_entry
from tests.retrieval.search.conftest import Doc


def keys_of(index, *names, weights=None):
    rows = np.array(sorted(index.rows["keys"]["name"].to_pylist().index(name) for name in names), np.int32)
    return WeightedKeys(rows, np.array(weights or [1.0] * len(rows)), np.ones(len(rows), np.int32))


def test_where_each_document_is_one_chunk_context_changes_nothing(corpus):
    route = read_texts(corpus, parse_query(corpus, Query("Where did Hank Snow die?")), SAG)

    assert route.chunks_per_document == 1
    assert route.in_context is route.similarity


def test_the_named_document_lifts_all_its_chunks(long_corpus):
    route = read_texts(long_corpus, parse_query(long_corpus, Query("What did Birch Bank do in 2021?")), SAG)

    documents = long_corpus.arrays.chunk_document
    assert route.chunks_per_document == pytest.approx(4)
    assert set(documents[np.argsort(-route.in_context)[:4]].tolist()) == {1}


def test_context_can_be_switched_off(long_corpus):
    options = replace(SAG, formula=Formula(document_context=0.0, neighbour_context=0.0))

    route = read_texts(long_corpus, parse_query(long_corpus, Query("Birch Bank")), options)

    assert route.in_context is route.similarity


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(0, 7))
def test_a_neighbour_is_a_neighbour_within_one_document_alone(similarity, cut):
    document = (np.arange(len(similarity)) >= cut).astype(int)

    found = best_neighbour(np.array(similarity), document)

    for row in range(len(similarity)):
        beside = [r for r in (row - 1, row + 1) if 0 <= r < len(similarity) and document[r] == document[row]]
        assert found[row] == max((similarity[r] for r in beside), default=0)


def test_typical_length_is_the_mean_size_of_the_best_chunks_documents(long_corpus, corpus):
    assert typical_length(long_corpus.arrays, np.linspace(0, 1, 12)) == pytest.approx(4)
    assert typical_length(corpus.arrays, np.ones(8)) == 1


def test_structure_ranks_passages_and_leaves_long_documents_to_text_unless_a_model_judged(long_corpus, corpus):
    long, short = (np.ones(index.arrays.chunk_count) for index in (long_corpus, corpus))

    assert structure_share(corpus.arrays, short, is_judged=False) == 1
    assert structure_share(long_corpus.arrays, long, is_judged=False) == pytest.approx(1 / 16)
    assert structure_share(long_corpus.arrays, long, is_judged=True) == 1


def test_breadth_is_the_geometric_mean_of_chunks_per_key(long_corpus):
    wide = keys_of(long_corpus, "birch bank")
    both = keys_of(long_corpus, "birch bank", "a vault")

    assert breadth(long_corpus.arrays, wide) == pytest.approx(4)
    assert breadth(long_corpus.arrays, both) == pytest.approx(2)
    assert breadth(long_corpus.arrays, keys_of(long_corpus, "a vault")) == pytest.approx(1)


def test_without_keys_breadth_is_one(corpus):
    none = WeightedKeys(np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int32))

    assert breadth(corpus.arrays, none) == 1


def test_text_counts_more_where_documents_are_long_and_keys_are_wide(long_corpus):
    reading = parse_query(long_corpus, Query("Birch Bank"))
    route = read_texts(long_corpus, reading, SAG)

    narrow = text_weight(long_corpus.arrays, keys_of(long_corpus, "a vault"), route, SAG)
    wide = text_weight(long_corpus.arrays, keys_of(long_corpus, "birch bank"), route, SAG)

    assert narrow == pytest.approx(0.25 * 4)
    assert wide == pytest.approx(0.25 * 4 * 4 / 2)


def test_the_share_of_the_cosine_is_that_of_the_embedders_kind_and_hybrid_fuses_the_same(long_corpus):
    query = Query("What did Birch Bank do in 2021?", explain=True)
    short = read_texts(long_corpus, parse_query(long_corpus, query), SAG)
    semantic = replace(long_corpus, embedder=_Semantic(long_corpus.embedder))
    route = read_texts(semantic, parse_query(semantic, query), SAG)
    hybrid = hybrid_method(replace(SEARCH, kg_boost=0.0))(semantic, query)

    assert short.dense_share == pytest.approx(0.5 / short.chunks_per_document)
    assert route.dense_share == DENSE_SHARE["transformer"]
    assert hybrid.parts["hybrid"] == pytest.approx(route.similarity[hybrid.chunks])
    assert method_entry("sag").make()(semantic, query).trace["embedder"] == "transformer"


class _Semantic:
    """The vectors of another embedder, under a name that says nothing."""

    fingerprint = "acme:reader"

    def __init__(self, other):
        self.dimension, self.embed = other.dimension, other.embed


@pytest.mark.parametrize(("question", "named"), [("What did Birch Bank buy?", 1), ("Who was hired?", 0)])
def test_bridges_join_long_documents_only_where_the_question_names_a_subject(long_corpus, question, named):
    reading = parse_query(long_corpus, Query(question))

    is_named = names_subject(long_corpus.arrays, reading, SAG)

    assert is_named == named
    assert bridge_strength(4.0, SAG, is_named=is_named) == pytest.approx(2 / 4 + 0.75 * named)
    assert bridge_strength(1.0, SAG, is_named=is_named) == pytest.approx(2)


def test_a_subject_of_many_documents_names_none(long_corpus):
    reading = parse_query(long_corpus, Query("What did Birch Bank buy?"))
    twice = replace(SAG, formula=Formula(named_documents=1))
    documents = np.arange(long_corpus.arrays.chunk_count, dtype=np.int32)
    arrays = replace(long_corpus.arrays, chunk_document=documents)

    assert not names_subject(arrays, reading, twice)


def test_one_long_document_among_short_ones_is_not_the_typical_one(long_corpus):
    long, short = 10, 2
    arrays = replace(
        long_corpus.arrays,
        chunk_document=np.repeat(np.arange(3, dtype=np.int32), [long, 1, 1]),
        document_chunks=np.array([0, long, long + 1, long + short]),
    )

    assert typical_length(arrays, np.ones(long + short)) == pytest.approx(long ** (1 / 3))


positive = st.lists(st.floats(0.01, 1), min_size=1, max_size=5).map(np.array)


@given(positive, positive, st.floats(0, 1))
def test_restart_shares_sum_to_one(key_weight, chunk_weight, share):
    keys, chunks = restart(key_weight, chunk_weight, share)

    assert keys.sum() == pytest.approx(share)
    assert keys.sum() + chunks.sum() == pytest.approx(1)


@given(positive, positive)
def test_without_a_fixed_share_the_restart_follows_weight(key_weight, chunk_weight):
    keys, chunks = restart(key_weight, chunk_weight, None)

    assert [*keys, *chunks] == pytest.approx([*key_weight, *chunk_weight] / (key_weight.sum() + chunk_weight.sum()))


def test_a_side_without_weight_leaves_the_restart_to_the_other():
    keys, chunks = restart(np.zeros(0), np.array([0.5, 0.5]), 0.8)

    assert chunks.tolist() == [0.5, 0.5]
    assert keys.tolist() == []


@pytest.mark.parametrize("method", ["sag", "bridge"])
def test_the_only_passage_there_is_can_be_found(build, method):
    index = build([Doc("Hello Love", [[("Hello Love is a song by Hank Snow.", ["Hank Snow"])]])])

    assert method_entry(method).make()(index, Query("Which song?")).chunks.tolist() == [0]


def test_neighbours_count_as_far_as_documents_are_long(build):
    def lifted(chunks):
        texts = ["Quarry walls are measured.", *["Nothing of note."] * (chunks - 1)]
        index = build([Doc("", [[(text, [])] for text in texts]), Doc("", [[("Otters swim.", [])]])])
        options = replace(SAG, formula=Formula(document_context=0.0, neighbour_context=0.5))
        route = read_texts(index, parse_query(index, Query("quarry walls")), options)
        return route.in_context[1], 0.5 * (1 - 1 / route.chunks_per_document)

    (short, least), (long, most) = lifted(2), lifted(8)

    assert short == pytest.approx(least)
    assert long == pytest.approx(most)
    assert 0 < short < long


def many_chunks(count=20_000, dimension=96):
    """Vectors of chunks around three hundred subjects, with signs, as if there were too many to score each."""
    random = np.random.default_rng(3)
    matrix = random.normal(size=(300, dimension))[random.integers(0, 300, count)]
    matrix = matrix + 0.8 * random.normal(size=(count, dimension))
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    return DenseVectors(matrix, BinaryIndex(pack(matrix), 1000), scored_rows=1000)


@pytest.mark.parametrize("is_restricted", [False, True])
def test_of_very_many_chunks_those_that_may_be_found_have_exact_cosines_on_the_scale_of_all(is_restricted):
    vectors, random = many_chunks(), np.random.default_rng(4)
    query = vectors.matrix[[7]] + vectors.matrix[[9]]
    words = np.where(random.random(vectors.row_count) < 0.01, random.random(vectors.row_count), 0)
    allowed = random.random(vectors.row_count) < 0.5 if is_restricted else None

    cosine, is_exact = chunk_cosines(vectors, query, words, allowed)

    exact = vectors.scores(query).astype(np.float64)
    wanted = relative(exact, allowed) + relative(words, allowed)
    best = np.argsort(-wanted, kind="stable")[:50]
    assert not is_exact
    assert cosine[best] == pytest.approx(exact[best], abs=1e-6)
    assert relative(cosine, allowed)[best] == pytest.approx(relative(exact, allowed)[best], abs=0.02)
    assert np.corrcoef(cosine, exact)[0, 1] > 0.7


def test_a_few_chunks_all_have_exact_cosines():
    vectors = DenseVectors(many_chunks().matrix[:900])
    query = vectors.matrix[[7]]

    cosine, is_exact = chunk_cosines(vectors, query, np.zeros(900), None)

    assert is_exact
    assert cosine == pytest.approx(vectors.matrix @ query[0], abs=1e-6)
