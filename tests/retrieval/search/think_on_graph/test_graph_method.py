"""Think-on-Graph and hybrid fusion as ways to search a release."""

import gc

import numpy as np
import pytest

from sag_retrieval.core.errors import ModelUnavailable
from sag_retrieval.release.arrays import Allowed
from sag_retrieval.release.knowledge_graph import _built, graph_of, open_graph, write_graph
from sag_retrieval.search.hits import build_result
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.hybrid import HybridOptions, hybrid_method
from sag_retrieval.search.methods.think_on_graph.method import think_on_graph_method
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, walk
from sag_retrieval.search.sag import bm25
from tests.support.small_release import DOCUMENTS, build_index


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


def documents(index, ranking):
    return [index.rows["chunks"]["document_id"][int(row)].as_py() for row in ranking.chunks]


def chunks_of(index, *document_ids):
    ids = index.rows["chunks"]["document_id"].to_pylist()
    return np.array([row for row, document in enumerate(ids) if document in document_ids])


def test_a_document_that_shares_no_word_with_the_question_is_reached_in_two_hops(index):
    question = Query("Who founded what Acme owns?")
    two = think_on_graph_method(GraphOptions(max_hops=2, use_multi_hop=True))(index, question)
    one = think_on_graph_method(GraphOptions(max_hops=1, use_multi_hop=True))(index, question)

    assert [sorted(ranking.trace["graph"]["raw"]) for ranking in (two, one)] == [["d0", "d1"], ["d0"]]
    assert list(dict.fromkeys(documents(index, two)))[:2] == ["d0", "d1"]


def test_a_chinese_question_walks_the_same_way(index):
    ranking = think_on_graph_method()(index, Query("光澜公司的创建者出生于哪里？"))

    assert set(documents(index, ranking)[:2]) == {"d3", "d4"}


def test_the_chunk_that_says_the_evidence_comes_before_its_neighbours(index):
    ranking = think_on_graph_method()(index, Query("What does Acme own?"))

    inside = [int(row) for row in ranking.chunks if index.rows["chunks"]["document_id"][int(row)].as_py() == "d0"]
    assert inside[0] == chunks_of(index, "d0")[0]
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)


def test_without_any_path_the_text_decides(index):
    ranking = think_on_graph_method()(index, Query("rain on the harbour"))

    assert documents(index, ranking)[0] == "d5"
    assert ranking.trace["graph"]["seeds"] == [] or ranking.parts["text"][0] > 0


def test_only_allowed_rows_are_walked_and_found(index):
    chunks = np.zeros(index.arrays.chunk_count, np.bool_)
    chunks[chunks_of(index, "d1", "d5")] = True
    allowed = Allowed(chunks, chunks[index.arrays.event_chunk], np.ones(index.arrays.key_count, np.bool_))

    for method in (think_on_graph_method(), hybrid_method()):
        ranking = method(index, Query("Who founded what Acme owns?", allowed=allowed))

        assert set(documents(index, ranking)) == {"d1", "d5"}


def test_the_same_twice_and_in_a_rebuilt_release(index, tmp_path):
    for method in (think_on_graph_method(), hybrid_method()):
        one, other = (method(ix, Query("Who founded what Acme owns?")) for ix in (index, build_index(tmp_path)))

        assert one.chunks.tolist() == other.chunks.tolist()
        assert one.scores.tolist() == other.scores.tolist()


@pytest.mark.slow
def test_the_graph_is_built_once_and_let_go_with_its_rows(tmp_path):
    index = build_index(tmp_path)
    number = id(index.rows["triples"])

    assert graph_of(index) is graph_of(index)
    del index
    gc.collect()
    assert number not in _built


def test_the_graphs_boost_lifts_the_document_of_the_second_hop(index):
    question = Query("Who founded what Acme owns?", top_k=20)
    graph = GraphOptions(use_multi_hop=True)
    with_graph = hybrid_method(HybridOptions(keyword_boost=0.0, graph=graph))(index, question)
    without = hybrid_method(HybridOptions(keyword_boost=0.0, kg_boost=0.0))(index, question)

    row = chunks_of(index, "d1")[0]
    gained = dict(zip(with_graph.chunks.tolist(), with_graph.parts["kg"], strict=True))[row]
    assert 0.02 <= gained <= 0.234 + 1e-9
    assert np.flatnonzero(with_graph.chunks == row) <= np.flatnonzero(without.chunks == row)
    final = with_graph.parts["hybrid"] + with_graph.parts["kg"] + with_graph.parts["keyword"]
    assert with_graph.scores == pytest.approx(final)


def test_without_boost_neither_graph_nor_model_is_asked(index, scripted):
    chat = scripted()

    ranking = hybrid_method(HybridOptions(kg_boost=0.0), chat=chat)(index, Query("What does Acme own?"))

    assert chat.requests == []
    assert ranking.parts["kg"].tolist() == [0.0] * len(ranking.chunks)


def test_a_model_that_is_down_changes_nothing(index, scripted):
    down = scripted(graph_prune=[ModelUnavailable("gone")], graph_score=[ModelUnavailable("gone")])

    for make in (think_on_graph_method, hybrid_method):
        with_model, without = (make(chat=chat)(index, Query("What does Acme own?")) for chat in (down, None))

        assert with_model.chunks.tolist() == without.chunks.tolist()
        assert with_model.scores.tolist() == without.scores.tolist()
        assert with_model.trace["graph"]["mode"] == "heuristic"


def test_a_release_without_triples_is_searched_by_text(tmp_path):
    plain = [(d, title, [(text, []) for text, _ in chunks]) for d, title, chunks in DOCUMENTS]

    for method in (think_on_graph_method(), hybrid_method()):
        ranking = method(build_index(tmp_path / "plain", plain), Query("Who owns Bolt Labs?"))

        assert len(ranking.chunks) > 0


def test_a_written_graph_is_mapped_and_gives_the_same(index, tmp_path):
    write_graph(tmp_path / "arrays" / "graph", index.rows, index.arrays)
    known, opened = graph_of(index), open_graph(tmp_path / "arrays" / "graph")

    for question in ("Who founded what Acme owns?", "光澜公司的创建者出生于哪里？"):
        found = [walk(graph.graph, question, GraphOptions(use_multi_hop=True)) for graph in (known, opened)]
        assert found[0].documents == found[1].documents
    assert list(opened.graph.entities.texts) == list(known.graph.entities.texts)
    assert opened.chunk.tolist() == known.chunk.tolist()


def test_a_search_maps_the_graph_of_its_release(tmp_path):
    index = build_index(tmp_path / "arrays")
    write_graph(tmp_path / "arrays" / "graph", index.rows, index.arrays)

    think_on_graph_method(home=tmp_path)(index, Query("What does Acme own?"))

    assert type(graph_of(index).graph.entities.texts).__name__ == "MappedTexts"


def test_the_only_chunk_of_a_release_is_found(tmp_path):
    one = build_index(tmp_path / "one", [("d0", "Heron", [("Lumen Optics sold 120 buoys.", [])])])

    for method in (think_on_graph_method(), hybrid_method()):
        assert method(one, Query("buoys sold")).chunks.tolist() == [0]
        assert method(one, Query("nothing of the kind")).chunks.tolist() == []


def test_a_hit_tells_the_path_to_its_document_and_the_triples_it_states(index):
    question = Query("Who founded what Acme owns?")
    for method in (think_on_graph_method(), hybrid_method()):
        result = build_result(index, question, method(index, question), release="r", method="m")
        hit = next(hit for hit in result.hits if hit.document_id == "d1" and hit.triples)

        assert "d1" in {step.document_id for step in hit.paths[0].steps}
        assert hit.paths[0].text.startswith("Acme")
        assert {triple.document_id for triple in hit.triples} == {"d1"}
        assert {triple.triple_id for triple in hit.triples} <= set(index.rows["triples"]["triple_id"].to_pylist())
        assert hit.to_dict()["paths"][0]["steps"][0]["head"]
        assert result.to_arrow()["paths"][0].as_py()


def test_a_hit_of_another_method_has_no_paths(index):
    result = build_result(index, Query("Acme"), bm25(index, Query("Acme")), release="r", method="bm25")

    assert result.hits[0].paths == ()
    assert "paths" not in result.to_dict()["hits"][0]


def test_the_trace_names_documents_by_their_ids(index):
    ranking = think_on_graph_method()(index, Query("What does Acme own?"))

    assert set(ranking.trace["graph"]["raw"]) <= set(index.rows["documents"]["document_id"].to_pylist())


def test_the_seeds_own_walk_uses_no_mentions(index):
    literal = think_on_graph_method(GraphOptions(use_multi_hop=True))(index, Query("What does Acme own?"))
    wide = think_on_graph_method(GraphOptions(use_multi_hop=True, links="mentions"))(
        index, Query("What does Acme own?")
    )

    assert not any(" -- " in beam["path"] for beam in literal.trace["graph"]["beams"])
    assert graph_of(index).triple_count < len(graph_of(index).event)
    assert len(wide.trace["graph"]["beams"]) >= len(literal.trace["graph"]["beams"])
