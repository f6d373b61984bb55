"""What holds for every walk: seeds, relevance, beams, hops."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.language.words import words
from sag_retrieval.release.knowledge_graph import build_graph, read_names
from sag_retrieval.search.methods.think_on_graph.beams import asks_many_hops, path_text
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, Hints, walk

NAMES = ["Acme", "Bolt Labs", "Coil", "苹果公司", "乔布斯", "Delta Air", "Echo", "Air"]
RELATIONS = ["founded", "owns", "创建", "located in"]


def a_graph(triples, names=NAMES):
    columns = tuple(np.array([t[i] for t in triples], np.int32) for i in range(3))
    return build_graph(names, RELATIONS, columns, np.array([t[3] for t in triples], np.int32))


triple = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 7), st.integers(0, 5))
graphs = st.lists(triple, max_size=25).map(a_graph)
queries = st.lists(st.sampled_from([*NAMES, *RELATIONS, "who", "的", "timeline"]), min_size=1, max_size=5).map(" ".join)
settings = st.builds(
    GraphOptions,
    max_hops=st.integers(0, 3),
    beam_width=st.integers(1, 4),
    max_seeds=st.integers(1, 4),
    top_docs=st.integers(1, 5),
    use_multi_hop=st.sampled_from([True, False, None]),
)


@pytest.mark.slow
@given(graphs, queries, settings)
def test_a_walk_keeps_to_its_bounds(graph, query, options):
    found = walk(graph, query, options)

    hops = [len(beam.edges) for beam in found.beams]
    most = options.max_hops if options.use_multi_hop else min(options.max_hops, 1 if not asks_many_hops(query) else 9)
    assert max(hops, default=0) <= (options.max_hops if options.use_multi_hop is None else most)
    assert all(hops.count(hop) <= options.beam_width for hop in set(hops))
    assert all(len(set(beam.entities)) == len(beam.entities) == len(beam.edges) + 1 for beam in found.beams)
    assert all(r > 0 for beam in found.beams for r in beam.relevance)
    scores = [d.score for d in found.documents]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert not scores or scores[0] == 1.0
    assert len(scores) <= options.top_docs
    assert bool(scores) == any(hops)
    assert walk(graph, query, options).documents == found.documents


@given(graphs, queries)
def test_a_path_of_relevant_edges_continues_its_own_edges(graph, query):
    for beam in walk(graph, query, GraphOptions(max_hops=3, use_multi_hop=True)).beams:
        edges = np.array(beam.edges, np.int64)
        assert graph.source(edges).tolist() == list(beam.entities[:-1])
        assert graph.target(edges).tolist() == list(beam.entities[1:])


@given(graphs, queries, st.data())
def test_triples_that_are_not_allowed_are_not_walked(graph, query, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(graph.head), max_size=len(graph.head))), np.bool_)

    found = walk(graph, query, GraphOptions(use_multi_hop=True), allowed=allowed)

    assert all(allowed[edge // 2] for beam in found.beams for edge in beam.edges)


@given(st.lists(st.sampled_from(NAMES + RELATIONS), min_size=1), queries)
def test_inverted_lists_give_the_jaccard_of_the_words(names, query):
    asked = frozenset(words(query))

    found = read_names(names).jaccard(asked).of(np.arange(len(names)))

    sets = [set(words(name)) for name in names]
    assert found == pytest.approx([len(s & asked) / len(s | asked) for s in sets])


@pytest.mark.parametrize(
    ("query", "seeds"),
    [
        ("Who founded Acme?", ["Acme"]),
        ("Is ACME's rival Bolt  Labs?", ["Bolt Labs", "Acme"]),
        ("Acmeville", []),
        ("苹果公司由谁创建", ["苹果公司"]),
        ("乔布斯和苹果公司", ["苹果公司", "乔布斯"]),
        ("Delta Air lines", ["Delta Air", "Air"]),
        ("Nothing known", []),
    ],
)
def test_named_entities_are_seeds_at_word_boundaries_in_latin_and_anywhere_in_chinese(query, seeds):
    graph = a_graph([])

    assert [NAMES[row] for row in graph.mentioned(query)] == seeds


def test_a_two_hop_question_reaches_a_document_that_one_hop_does_not():
    graph = a_graph([(0, 1, 1, 10), (1, 0, 4, 20)])
    query = "Who founded what Acme owns?"

    found = walk(graph, query, GraphOptions(max_hops=2, use_multi_hop=True))
    one = walk(graph, query, GraphOptions(max_hops=1, use_multi_hop=True)).documents

    assert {d.document for d in found.documents} == {10, 20}
    assert {d.document for d in one} == {10}
    reached = next(d for d in found.documents if d.document == 20)
    assert reached.evidence_triples == (1,)
    assert path_text(graph, found.beams[-1]) == "Acme -[owns]-> Bolt Labs -[founded]-> 乔布斯"


def test_no_hops_find_nothing_and_one_hop_no_longer_path():
    graph = a_graph([(0, 1, 1, 10), (1, 0, 2, 20), (2, 0, 5, 30)])

    assert walk(graph, "Acme founded", GraphOptions(max_hops=0)).documents == ()
    one = walk(graph, "timeline of what Acme owns founded", GraphOptions(max_hops=1))
    assert {len(beam.edges) for beam in one.beams} <= {0, 1}


def test_an_arrow_points_as_its_triple_does():
    graph = a_graph([(4, 2, 3, 1)])

    found = walk(graph, "苹果公司是谁创建的", GraphOptions(max_seeds=1))

    assert path_text(graph, found.beams[-1]) == "苹果公司 <-[创建]- 乔布斯"


def test_an_edge_without_shared_words_is_walked_where_its_event_is_like_the_question():
    graph = a_graph([(0, 1, 1, 10), (0, 1, 2, 20)])
    hints = Hints(refine=lambda _path, edges, by_words: np.maximum(by_words, np.where(edges // 2 == 1, 0.5, 0.0)))

    assert [d.document for d in walk(graph, "Acme?", GraphOptions(), hints=hints).documents] == [20, 10]


@pytest.mark.parametrize(
    ("query", "many"),
    [
        ("What is the timeline of events for Acme?", True),
        ("What happened before and after the merger?", True),
        ("list the sequence of events", True),
        ("evolution of the board", True),
        ("公司从成立到现在的历程", True),
        ("他多次被调查", True),
        ("事件的時間線", True),
        ("Who is the CEO?", False),
        ("authentic reviews", False),
        ("strengthen internal control", False),
        ("revenue in the first quarter", False),
        ("比较两家公司的净利润", False),
        ("", False),
    ],
)
def test_a_chain_of_facts_is_asked_for_in_whole_phrases(query, many):
    assert asks_many_hops(query) is many


@pytest.mark.parametrize("wrong", [{"max_hops": -1}, {"beam_width": 0}, {"top_docs": 0}, {"max_seeds": 0}])
def test_options_out_of_bounds_are_refused(wrong):
    with pytest.raises(SettingsError, match="must be"):
        GraphOptions(**wrong)


@pytest.mark.slow
def test_processes_with_other_hash_seeds_agree():
    script = (
        "import numpy as np\n"
        "from sag_retrieval.release.knowledge_graph import build_graph\n"
        "from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions, walk\n"
        "i = np.arange(60, dtype=np.int32)\n"
        "names, ends = [f'firm n{n % 7} x{n}' for n in i], (i * 7 + 3) % 60\n"
        "g = build_graph(names, ['r n3', 's n2'], (i, i % 2, ends), i % 9)\n"
        "print(walk(g, 'firm n3 n2 and x5', GraphOptions(use_multi_hop=True)).documents)"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1
    assert b"GraphDocument" in next(iter(outputs))
