"""How a release's own walk uses its judge: places filled, titles and own triples shown, opinions mixed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.release.knowledge_graph import build_graph
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.think_on_graph.beams import Beam
from sag_retrieval.search.methods.think_on_graph.method import SEARCH, think_on_graph_method
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, Hints, walk
from sag_retrieval.search.methods.think_on_graph.scoring import mix, paths_through, triples_said
from sag_retrieval.search.registry import METHODS
from tests.support.small_release import build_index

scores = st.dictionaries(st.integers(0, 20), st.floats(0, 1), max_size=8)


def a_star(width):
    """A hub and as many neighbours, each edge told by a document of its own."""
    names = ["Acme", *(f"Firm {n}" for n in range(width))]
    ends = np.arange(1, width + 1, dtype=np.int32)
    zeros = np.zeros(width, np.int32)
    return build_graph(names, ["owns"], (zeros, zeros, ends), ends)


def reached(graph, scripted, **options):
    """Entities at the ends of the paths of one hop, the first of which the judge chose."""
    scores = [{"scores": [{"document": 1, "score": 1.0}]}]
    chat = scripted(graph_prune=[{"paths": [2, 1]}], graph_score=scores)
    found = walk(graph, "What does Acme own?", GraphOptions(use_multi_hop=False, **options), chat=chat)
    return [beam.last for beam in found.beams if beam.edges]


def test_places_that_the_judge_leaves_go_to_paths_it_was_not_shown(scripted):
    alone = reached(a_star(30), scripted, beam_width=5, pruned="alone")
    filled = reached(a_star(30), scripted, beam_width=5, pruned="filled")

    assert alone == [2, 1]
    assert filled == [2, 1, 21, 22, 23]


def test_what_the_judge_was_shown_and_passed_over_is_out(scripted):
    assert reached(a_star(15), scripted, beam_width=5, pruned="filled") == [2, 1]


def test_a_document_is_shown_by_what_it_says_itself_not_by_the_path_to_it():
    names = ["Acme", "Bolt", "Coil"]
    graph = build_graph(
        names, ["owns"], tuple(np.array(c, np.int32) for c in ([0, 1], [0, 0], [1, 2])), np.array([7, 8])
    )
    beam = Beam((0, 1, 2), 1.0, (0, 2), (0.5, 0.5))

    assert paths_through([beam], graph)[8] == ["Acme -[owns]-> Bolt -[owns]-> Coil"]
    assert triples_said([beam], graph) == {7: ["Acme -[owns]-> Bolt"], 8: ["Bolt -[owns]-> Coil"]}


def test_the_judge_reads_titles_where_they_are_known(scripted):
    chat = scripted(graph_score=[{"scores": [{"document": 1, "score": 1.0}]}])

    walk(a_star(2), "What does Acme own?", GraphOptions(), chat=chat, hints=Hints(title=lambda d: f"Title {d}"))

    assert "1. Title 1: Acme -[owns]-> Firm 0" in chat.requests[-1].prompt


@given(scores, scores)
def test_a_mixed_score_is_the_mean_of_both_opinions_for_every_document_with_a_path(judged, scaled):
    mixed = mix(judged, scaled)

    assert mixed.keys() == scaled.keys()
    assert all(abs(2 * mixed[d] - scaled[d] - judged.get(d, 0.0)) < 1e-12 for d in scaled)


def test_a_judge_moves_documents_up_and_drops_none_that_the_paths_reached(scripted, tmp_path):
    index = build_index(tmp_path)
    question = Query("Who founded what Acme owns?", top_k=20)
    chat = scripted(graph_score=[{"scores": [{"document": 2, "score": 1.0}, {"document": 1, "score": 0.0}]}])

    alone = think_on_graph_method()(index, question)
    judged = think_on_graph_method(SEARCH, chat=chat)(index, question)

    raw = [list(ranking.trace["graph"]["raw"]) for ranking in (alone, judged)]
    assert sorted(raw[0]) == sorted(raw[1])
    assert judged.trace["graph"]["mode"] == "llm"
    assert alone.chunks[0] != judged.chunks[0]


def test_the_judge_is_shown_clearly_more_paths_than_it_may_choose(scripted):
    for width in (6, 30, 100):
        chat = scripted(
            graph_prune=[{"paths": list(range(1, 21))}], graph_score=[{"scores": [{"document": 1, "score": 1.0}]}]
        )
        walk(a_star(60), "What does Acme own?", GraphOptions(use_multi_hop=False, beam_width=width), chat=chat)

        (prompt,) = (request.prompt for request in chat.requests if request.step == "graph_prune")
        assert "20. Acme -[owns]-> " in prompt
        assert "Choose at most 6." in prompt


def test_the_same_question_is_asked_of_the_model_once(scripted):
    chat = scripted(graph_prune=[{"paths": [2, 1]}], graph_score=[{"scores": [{"document": 1, "score": 1.0}]}])
    options = GraphOptions(use_multi_hop=False)
    first, second = (walk(a_star(60), "What does Acme own?", options, chat=chat) for _ in range(2))

    assert (first.calls, second.calls, len(chat.requests)) == (2, 0, 2)
    assert [beam.last for beam in first.beams] == [beam.last for beam in second.beams]
    assert (first.mode, first.raw) == (second.mode, second.raw)


def test_an_unusable_answer_is_not_remembered(scripted):
    chat = scripted(graph_score=[{"scores": []}, {"scores": [{"document": 1, "score": 1.0}]}])
    broken = walk(a_star(2), "What does Acme own?", GraphOptions(), chat=scripted())
    found = walk(a_star(2), "What does Acme own?", GraphOptions(), chat=chat)

    assert broken.failures
    assert found.calls == 1


def test_the_literal_method_has_the_first_descriptions_settings():
    assert METHODS["think-on-graph-literal"].defaults == GraphOptions(
        max_hops=2, beam_width=6, top_docs=50, max_seeds=6, links="triples", seeds="words", relevance="words"
    )
