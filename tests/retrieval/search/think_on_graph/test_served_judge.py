"""Think-on-Graph and the tiers judged over HTTP by the simulated model of the benchmarks."""

import pytest

from sag_retrieval.models.openai import OpenAIChat
from sag_retrieval.models.rate_limits import ChatOptions
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.think_on_graph.method import think_on_graph_method
from sag_retrieval.search.methods.think_on_graph.retriever import GraphOptions
from sag_retrieval.search.methods.tiers.method import tiers_method
from sag_retrieval.search.methods.tiers.workflow import TiersOptions
from tests.support.chat_server import ChatServer
from tests.support.simulated_judge import Landmark, Shown, SimulatedJudge, unusable
from tests.support.small_release import build_index

QUESTION = "Where did the founder of what Acme owns grow up, in which port?"
MARKS = {
    QUESTION: [
        Landmark("Bolt Labs", "What does Acme own?"),
        Landmark("Mara Voss", "Who founded Bolt Labs?"),
        Landmark("Port Ansel", "Where did Mara Voss grow up?"),
    ]
}
QUICK = ChatOptions(first_pause_seconds=0.001, longest_pause_seconds=0.002, tries=2, failures_until_down=1_000)
WAYS = {
    "graph": lambda chat: think_on_graph_method(
        GraphOptions(use_multi_hop=True, max_hops=3, beam_width=1, relevance="news"), chat=chat
    ),
    "tiers": lambda chat: tiers_method(chat=chat),
    "tiers by llm": lambda chat: tiers_method(TiersOptions(method="llm"), chat=chat),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


def asked(index, make, script):
    """What a way found, and the shapes that its requests asked for."""
    with ChatServer(script) as server:
        ranking = make(OpenAIChat("simulated", base_url=server.base_url, api_key="none", options=QUICK))(
            index, Query(QUESTION, top_k=20)
        )
    shapes = [call.request["response_format"]["json_schema"]["name"] for call in server.calls]
    return ranking, shapes


@pytest.mark.parametrize(
    ("way", "shapes"),
    [
        ("graph", {"ChosenPaths", "DocumentScores"}),
        ("tiers", {"Decision"}),
        ("tiers by llm", {"Decision", "Chosen"}),
    ],
)
def test_every_question_to_the_model_is_asked_and_its_choice_brings_the_last_hop_to_the_front(index, way, shapes):
    ranking, seen = asked(index, WAYS[way], SimulatedJudge(MARKS))

    assert shapes <= set(seen)
    first = [index.rows["chunks"]["document_id"][int(row)].as_py() for row in ranking.chunks[:3]]
    assert "d2" in first


@pytest.mark.parametrize("way", WAYS)
def test_a_model_of_which_no_reply_is_usable_changes_nothing(index, way):
    alone = WAYS[way](None)(index, Query(QUESTION, top_k=20))

    ranking, seen = asked(index, WAYS[way], unusable)

    assert seen
    assert ranking.chunks.tolist() == alone.chunks.tolist()
    assert ranking.scores.tolist() == alone.scores.tolist()


def test_the_simulated_model_reads_nothing_but_its_prompt():
    prompt = "What came before:\n-\n\nQuestion: Who owns Bolt?\n\nEntries:\n1. Acme: owns Bolt\n2. Rain:\nfell\n\nChoose at most 3."

    shown = Shown.of(prompt)

    assert (shown.question, shown.entries, shown.count) == (
        "Who owns Bolt?",
        {1: "Acme: owns Bolt", 2: "Rain: fell"},
        3,
    )
    assert shown.shares()[1] > shown.shares()[2] == 0
