"""The language model as judge: what counts of its answers, and that the walk survives all of them."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import AnswerError, BudgetExceeded, ModelUnavailable
from sag_retrieval.release.knowledge_graph import build_graph
from sag_retrieval.search.methods.think_on_graph.beams import Beam, Grown
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, _Search, debug_record, walk
from sag_retrieval.search.methods.think_on_graph.scoring import PathJudge, combine, scale
from tests.support.golden import enough, recorded


def a_star(width=9):
    """A hub with `width` neighbours; each edge is told by a document of its own."""
    names = ["Acme", *(f"Firm {chr(97 + n)}" for n in range(width))]
    ends = np.arange(1, width + 1, dtype=np.int32)
    zeros = np.zeros(width, np.int32)
    return build_graph(names, ["owns"], (zeros, zeros, ends), ends * 10)


def test_pruning_is_as_recorded_for_usable_replies_and_for_none(scripted):
    cases = [c for c in recorded("kg_llm_reply")["prune"] if c["clean"]]
    usable = [c for c in cases if c["reply"] is None or re.fullmatch(r"\d+(,\d+)*", c["reply"])]
    for case in usable:
        graph, grown = grown_beams(case["beams"])
        numbers = [int(n) for n in (case["reply"] or "").split(",") if n]
        chat = scripted(graph_prune=[{"paths": numbers} if numbers else ModelUnavailable("gone")])
        judge = PathJudge(chat, "q", "en")
        search = _Search(graph, GraphOptions(beam_width=case["beam_width"]), None, judge, None)

        if numbers and case["llm_called"]:  # the recorded run shows paths in another order than ours
            chosen = judge.choose([str(n) for n in range(len(case["beams"]))], case["beam_width"])
        else:
            chosen = [beam.edges[0] // 2 for beam in search._prune(grown)]

        assert chosen == case["selected"], case
        assert len(chat.requests) == case["llm_called"]
    assert enough(len(usable), 38)


def test_the_first_question_shows_stated_relations_before_names_in_one_statement(scripted):
    """Of names in one statement alone, without a relation, every entity has many."""
    names = ["Acme", *(f"Firm {chr(97 + n)}" for n in range(30))]
    ends, zeros = np.arange(1, 31, dtype=np.int32), np.zeros(30, np.int32)
    stated = np.where(ends == 20, 1, 0).astype(np.int32)
    graph = build_graph(names, ["", "owns"], (zeros, stated, ends), zeros)
    scores = np.linspace(1, 0.5, 30)
    grown = Grown((Beam((0,), 0.0),), zeros, np.arange(30) * 2, scores, scores)
    chat = scripted(graph_prune=[{"paths": [1]}, {"paths": [1]}])
    options = GraphOptions(beam_width=20, pruned="filled")
    search = _Search(graph, options, None, PathJudge(chat, "q", "en"), None)

    first, later = search._prune(grown, is_first=True)[0], search._prune(grown)[0]

    assert [graph.entities.texts[beam.last] for beam in (first, later)] == [names[20], names[1]]


def grown_beams(beams):
    """Beams of one hop from a common start, as recorded: last entity and score."""
    names = ["start", *dict.fromkeys(entity for entity, _ in beams)]
    tails = np.array([names.index(entity) for entity, _ in beams], np.int32)
    zeros = np.zeros(len(beams), np.int32)
    graph = build_graph(names, ["r"], (zeros, zeros, tails), zeros)
    scores = np.array([score for _, score in beams])
    return graph, Grown((Beam((0,), 0.0),), zeros, np.arange(len(beams)) * 2, scores, scores)


def test_document_scores_are_as_recorded_for_complete_replies_and_for_none(scripted):
    cases = [c for c in recorded("kg_llm_reply")["reason"] if c["kind"] in {"full", "doc", "err"}]
    for case in cases:
        documents = case["candidate_doc_ids"]
        lines = re.findall(r"(\d+):\s*([\d.]+)", case["reply"] or "")
        given = [{"document": documents.index(int(d)) + 1, "score": float(s)} for d, s in lines]
        chat = scripted(graph_score=[{"scores": given} if given else AnswerError("junk")])
        heuristic = {int(d): s for d, s in case["heuristic_scores"].items()}

        judged = PathJudge(chat, "q", "en").score({d: ["a path"] for d in documents})
        found = combine(documents, judged, heuristic) if judged else heuristic

        assert {str(d): s for d, s in found.items()} == pytest.approx(case["doc_scores"], abs=1e-6)
    assert enough(len(cases), 100)


@given(
    st.dictionaries(st.integers(0, 20), st.floats(-1, 100), min_size=1),
    st.dictionaries(st.integers(0, 20), st.floats(0, 1)),
)
def test_a_document_the_judge_scored_never_loses_to_a_filled_one_of_at_most_its_score(by_paths, judged):
    found = combine(sorted(by_paths), judged, by_paths)

    scored = set(judged) & set(by_paths)
    assert {d: found[d] for d in scored} == {d: judged[d] for d in scored}
    assert all(0 <= found[d] <= 0.7 for d in found if d not in scored)
    assert set(found) == (scored if 2 * len(scored) >= len(by_paths) else set(by_paths))


@given(st.dictionaries(st.integers(), st.floats(-5, 5)))
def test_scaled_scores_keep_order_lie_in_bounds_and_have_a_best_of_one(scores):
    scaled = scale(scores)

    assert set(scaled) == {d for d, s in scores.items() if s > 0}
    assert all(0 <= s <= 1 for s in scaled.values())
    assert not scaled or max(scaled.values()) == 1
    ordered = sorted(scaled, key=lambda d: scores[d])
    assert [scaled[d] for d in ordered] == sorted(scaled.values())


@pytest.mark.parametrize(
    "script",
    [
        {},
        {"graph_prune": [ModelUnavailable("gone")], "graph_score": [ModelUnavailable("gone")]},
        {"graph_prune": [BudgetExceeded("spent")], "graph_score": [AnswerError("junk")]},
        {"graph_prune": [TimeoutError()], "graph_score": [ValueError("odd")]},
        {"graph_prune": [{"paths": []}], "graph_score": [{"scores": []}]},
        {
            "graph_prune": [{"paths": [0, -1, 99]}],
            "graph_score": [{"scores": [{"document": 77, "score": 1.0}]}],
        },
        {"graph_score": [{"scores": [{"document": 1, "score": 7.0}, {"document": 2, "score": -1.0}]}]},
        {"graph_score": [{"scores": [{"document": 1, "score": float("nan")}]}]},
    ],
    ids=["silent", "gone", "spent", "other errors", "empty", "invented", "out of bounds", "not a number"],
)
def test_a_judge_without_a_usable_opinion_leaves_the_heuristic(scripted, script):
    graph, options = a_star(), GraphOptions(beam_width=3, use_multi_hop=False)

    without = walk(graph, "What does Acme own", GraphOptions(beam_width=3, use_multi_hop=False, use_llm=False))
    found = walk(graph, "What does Acme own", options, chat=scripted(**script))

    assert found.documents == without.documents
    assert found.mode == "heuristic"
    assert found.calls == 2


def test_zero_for_every_document_finds_nothing_to_boost(scripted):
    zeros = [{"document": n, "score": 0.0} for n in range(1, 21)]

    found = walk(a_star(), "What does Acme own", GraphOptions(), chat=scripted(graph_score=[{"scores": zeros}]))

    assert found.documents == ()
    assert found.mode == "llm"


def test_the_judges_choice_and_scores_decide(scripted):
    chat = scripted(
        graph_prune=[{"paths": [9, 9, 8, 40]}],
        graph_score=[{"scores": [{"document": 2, "score": 0.9}, {"document": 1, "score": 0.2}]}],
    )

    found = walk(a_star(), "What does Acme own", GraphOptions(beam_width=2, use_multi_hop=False), chat=chat)

    assert found.mode == "llm"
    assert {d.document for d in found.documents} == {80, 90}
    assert found.calls == 2


def test_no_more_than_twenty_paths_are_shown(scripted):
    chat = scripted(graph_prune=[{"paths": [1]}])

    walk(a_star(60), "What does Acme own", GraphOptions(beam_width=3, use_multi_hop=False), chat=chat)

    shown = chat.requests[0].prompt
    assert "20. " in shown
    assert "21. " not in shown


@pytest.mark.parametrize(
    ("query", "language", "chinese"),
    [
        ("Acme owns", None, False),
        ("Acme 拥有什么", None, True),
        ("Acme", "zh-TW", True),
        ("Acme 公司", "en", False),
    ],
)
def test_the_prompt_is_in_the_questions_language_or_the_given_one(scripted, query, language, chinese):
    chat = scripted(graph_prune=[{"paths": [1]}])

    walk(a_star(), query, GraphOptions(language=language, beam_width=2), chat=chat)

    assert ("问题" in chat.requests[0].prompt) is chinese


def test_the_debug_record_tells_the_whole_walk(scripted):
    graph, options = a_star(), GraphOptions(beam_width=2, use_multi_hop=False)
    found = walk(graph, "What does Acme own", options, chat=scripted(graph_prune=[ModelUnavailable("gone")]))

    record = debug_record(graph, "What does Acme own", found, options)

    assert record["seeds"] == [{"name": "Acme", "score": pytest.approx(0.43)}]
    assert record["language"] == "en"
    assert record["mode"] == "heuristic"
    assert record["calls"] == 2
    assert record["failures"][0] == "graph_prune: gone"
    assert len(record["beams"]) == len(found.beams) <= 20
    assert json.loads(json.dumps(record))["beams"] == record["beams"]
