"""What a release knows beside its triples: linked seeds, rarity, news on a path; scores by place."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.release.knowledge_graph import graph_of
from sag_retrieval.search.method import Query, parse_query
from sag_retrieval.search.methods.hybrid import HybridOptions, hybrid_method
from sag_retrieval.search.methods.think_on_graph.beams import Beam
from sag_retrieval.search.methods.think_on_graph.method import Novelty, linked_seeds, rarity, think_on_graph_method
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions
from sag_retrieval.search.methods.think_on_graph.scoring import scale_by_rank
from tests.support.small_release import build_index

LINKED = GraphOptions(seeds="linked")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


@pytest.fixture(scope="module")
def known(index):
    return graph_of(index)


def row_of(known, name):
    return list(known.graph.entities.texts).index(name)


def edges_of(known, name):
    return known.graph.edges_of.row(row_of(known, name)).astype(np.int64)


def seeds_for(index, known, question, text=None):
    text = np.zeros(index.arrays.chunk_count) if text is None else text
    found = linked_seeds(index, known, parse_query(index, Query(question)), text, LINKED)
    return {known.graph.entities.texts[row]: score for row, score in found}


def test_named_entities_are_seeds_by_length_and_rarity_and_shared_words_are_not(index, known):
    found = seeds_for(index, known, "Was Acme ever in Port Moresby?")

    assert set(found) == {"Acme"}
    assert found["Acme"] == pytest.approx(0.35 + 0.02 * len("Acme"))
    assert rarity(known, index, row_of(known, "Acme")) == 1.0


def test_a_name_of_many_documents_is_a_weaker_seed_than_one_of_few(index, known):
    found = seeds_for(index, known, "Did Bolt Labs own a Port Ansel?")

    assert rarity(known, index, row_of(known, "Bolt Labs")) == pytest.approx(1 - np.log(2) / np.log(6))
    assert found["Bolt Labs"] < found["Port Ansel"]


def test_a_question_that_names_nothing_starts_from_what_its_best_passage_is_about(index, known):
    main = np.full(index.arrays.chunk_count, -1)
    main[3] = index.rows["keys"]["value_string"].to_pylist().index("Mara Voss")
    about = replace(index, arrays=replace(index.arrays, chunk_main_key=main))
    text = np.zeros(index.arrays.chunk_count)
    text[3] = 0.5

    assert seeds_for(about, known, "Where was she as a child?", text) == {"Mara Voss": pytest.approx(0.4)}


def test_without_a_linked_entity_shared_words_give_the_seeds(index):
    options = GraphOptions(seeds="linked", use_multi_hop=True)

    ranking = think_on_graph_method(options)(index, Query("Which labs?"))

    assert [seed["name"] for seed in ranking.trace["graph"]["seeds"]] == ["Bolt Labs"]


def test_news_is_what_the_passage_says_and_the_path_has_not(index, known):
    reading = parse_query(index, Query("Acme: who established Bolt Labs?"))
    news = Novelty(index, known, reading, lambda edges: np.zeros(len(edges)))
    onward = edges_of(known, "Bolt Labs")
    first = Beam((row_of(known, "Bolt Labs"),), 1.0)
    second = Beam((row_of(known, "Acme"), row_of(known, "Bolt Labs")), 1.0, tuple(edges_of(known, "Acme")), (1.0,))

    assert news(first, onward, np.zeros(len(onward))).tolist() == [0.0] * len(onward)
    said = dict(
        zip(known.graph.document[onward >> 1].tolist(), news(second, onward, np.zeros(len(onward))), strict=True)
    )
    assert said[0] == 0.0
    assert said[1] > 0


def test_likeness_counts_where_words_do_not_and_passing_a_common_name_costs(index, known):
    reading = parse_query(index, Query("Acme"))
    news = Novelty(index, known, reading, lambda edges: np.full(len(edges), 0.5))
    weight = {name: news(Beam((row_of(known, name),), 1.0), edges_of(known, name), np.zeros(len(edges_of(known, name))))
              for name in ("Acme", "Bolt Labs")}  # fmt: skip

    assert set(weight["Acme"].tolist()) == {0.5}
    assert weight["Bolt Labs"] == pytest.approx(0.5 * (1 - np.log(2) / np.log(6)))


@given(st.dictionaries(st.integers(0, 30), st.floats(-5, 50), max_size=12))
def test_scores_by_place_keep_the_order_in_equal_steps_from_one_to_above_a_half(scores):
    scaled = scale_by_rank(scores)

    assert set(scaled) == {document for document, score in scores.items() if score > 0}
    assert list(scaled.values()) == pytest.approx([1 - place / (2 * len(scaled)) for place in range(len(scaled))])
    assert [scores[d] for d in scaled] == sorted((s for s in scores.values() if s > 0), reverse=True)


def test_by_place_the_boost_of_the_second_document_is_close_to_the_firsts(index):
    question, graph = Query("Who founded what Acme owns?", top_k=20), GraphOptions(use_multi_hop=True)
    by_scale = {
        scale: hybrid_method(HybridOptions(keyword_boost=0.0, graph=replace(graph, scale=scale)))(index, question)
        for scale in ("range", "rank")
    }

    boost = {scale: sorted(set(ranking.parts["kg"]), reverse=True) for scale, ranking in by_scale.items()}
    assert boost["range"][:2] == pytest.approx([0.234, 0.02])
    assert boost["rank"][:2] == pytest.approx([0.234, 0.02 + 0.75**1.8 * 0.214])


@pytest.mark.parametrize("wrong", [{"seeds": "all"}, {"relevance": "vectors"}, {"scale": "log"}])
def test_unknown_choices_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong.values()))):
        GraphOptions(**wrong)
