"""Tiered retrieval over a release: rules of the way, filters, failures, rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sag_retrieval.core.errors import ModelUnavailable, QueryError, SettingsError
from sag_retrieval.models.protocols import Reply
from sag_retrieval.release.arrays import Allowed
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.tiers.method import tiers_method
from sag_retrieval.search.methods.tiers.source import ReleaseTiers, load_categories
from sag_retrieval.search.methods.tiers.workflow import Chosen, TierOptions, TiersOptions, retrieve
from tests.support.small_release import build_index

GO_ON = {"decision": "RETRIEVE", "rewritten_query": ""}
STOP = {"decision": "NO_RETRIEVE", "rewritten_query": ""}
COMMUNITIES = [
    ("c-firms", "Firms", "Acme owns Bolt Labs, founded by Mara Voss", ["d0.0.e", "d1.0.e"]),
    ("c-zh", "光澜公司", "光澜公司由陈雨创建", ["d3.0.e", "d4.0.e"]),
    ("c-rain", "Weather", "rain on the harbour", ["d5.0.e", "d4.0.e"]),
]


class Chat:
    """Gives its answers in order, then the last again; an exception among them is raised."""

    model_id = "scripted"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def ask(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        value = {"entries": [1, 1, 99, 2]} if request.answer is Chosen else answer
        return Reply(request.answer.model_validate(value))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    names = ("community_id", "title", "summary")
    rows = [{**dict(zip(names, row[:3], strict=True)), "level": 0, "size": len(row[3])} for row in COMMUNITIES]
    members = [{"community_id": row[0], "event_id": e, "centrality": 1.0} for row in COMMUNITIES for e in row[3]]
    pq.write_table(pa.Table.from_pylist(rows), folder / "communities.parquet")
    pq.write_table(pa.Table.from_pylist(members), folder / "community_events.parquet")
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


@pytest.fixture
def source(index, home):
    return ReleaseTiers(index, load_categories(index, home))


def ids(rows):
    return [next(value for name, value in row.items() if name.endswith("_id")) for row in rows]


def only(index, *document_ids):
    """A restriction to some documents."""
    listed = index.rows["chunks"]["document_id"].to_pylist()
    chunks = np.array([document in document_ids for document in listed])
    return Allowed(chunks, chunks[index.arrays.event_chunk], np.ones(index.arrays.key_count, np.bool_))


def test_without_a_model_all_tiers_are_filled_by_vectors(source):
    found = retrieve(["Who owns Bolt Labs?"], source)

    assert ids(found.rows("category"))[0] == "c-firms"
    assert ids(found.rows("item"))[0] == "d0.0.e"
    assert {"d0", "d1"} <= set(ids(found.rows("resource")))
    assert found.stopped_at == ""
    assert [step.step for step in found.trace] == ["recall_category", "recall_item", "recall_resource"]


def test_scores_fall_and_rows_are_whole_without_vectors(source):
    found = retrieve(["Who owns Bolt Labs?"], source)

    for rows in (found.rows("category"), found.rows("item"), found.rows("resource")):
        scores = [row["score"] for row in rows]
        assert scores == sorted(scores, reverse=True)
        assert not any("vector" in name or "embedding" in name for row in rows for name in row)
    assert found.rows("item")[0]["content"] == "Acme owns Bolt Labs."
    assert {key["value"] for key in found.rows("item")[0]["keys"]} == {"Acme", "Bolt Labs"}
    assert found.rows("category")[0]["size"] == 2
    assert {"title", "summary", "document_id"} <= set(found.rows("resource")[0])


def test_enough_after_categories_means_two_calls_and_no_search_of_events(source, monkeypatch):
    searched = []
    nearest = ReleaseTiers.nearest
    monkeypatch.setattr(
        ReleaseTiers, "nearest", lambda self, tier, *a: searched.append(tier) or nearest(self, tier, *a)
    )
    chat = Chat(GO_ON, STOP)

    found = retrieve(["Who owns Bolt Labs?"], source, chat=chat)

    assert len(chat.requests) == 2
    assert searched == ["category"]
    assert (found.rows("item"), found.rows("resource"), found.stopped_at) == ([], [], "sufficiency_after_category")


def test_with_both_questions_off_no_model_is_asked_and_all_tiers_are_filled(source):
    chat = Chat(ModelUnavailable("never asked"))

    found = retrieve(["Acme"], source, TiersOptions(route_intention=False, sufficiency_check=False), chat=chat)

    assert chat.requests == []
    assert found.rows("category")
    assert found.rows("item")
    assert found.rows("resource")


def test_nothing_to_look_up_means_one_call_and_empty_tiers(source):
    chat = Chat(STOP)

    found = retrieve(["Hello!"], source, chat=chat)

    assert len(chat.requests) == 1
    assert not found.needs_retrieval
    assert (found.rows("category"), found.rows("item"), found.rows("resource")) == ([], [], [])


@pytest.mark.parametrize("method", ["rag", "llm"])
@pytest.mark.parametrize("failing", range(6))
def test_a_model_that_fails_at_any_step_leaves_a_whole_answer(source, method, failing):
    answers = [GO_ON] * failing + [ModelUnavailable("gone")] + [GO_ON] * 6

    found = retrieve(["Who owns Bolt Labs?"], source, TiersOptions(method=method), chat=Chat(*answers))

    assert found.needs_retrieval
    assert found.rows("category")
    assert found.rows("item")
    assert found.rows("resource")
    noted = [step.note for step in found.trace if step.note]
    assert noted == ["ModelUnavailable: gone"] or failing >= sum(step.calls for step in found.trace)


def test_a_model_chooses_rows_without_scores_each_once_and_at_most_as_many_as_asked(source):
    options = TiersOptions(method="llm", item=TierOptions(top_k=1))

    found = retrieve(["Who owns Bolt Labs?"], source, options, chat=Chat(GO_ON))

    assert len(ids(found.rows("category"))) == len(set(ids(found.rows("category")))) == 2
    assert len(found.rows("item")) == 1
    assert not any("score" in row for row in [*found.rows("category"), *found.rows("item"), *found.rows("resource")])
    chosen = {event for row in COMMUNITIES if row[0] in ids(found.rows("category")) for event in row[3]}
    assert set(ids(found.rows("item"))) <= chosen


def test_a_follow_up_is_embedded_as_it_was_rewritten(source):
    chat = Chat({"decision": "RETRIEVE", "rewritten_query": "Where was Mara Voss raised?"}, GO_ON)

    found = retrieve(["Who is Mara Voss?", "Where was she raised?"], source, chat=chat)

    assert list(source.vectors) == ["Where was Mara Voss raised?"]
    assert found.rewritten_query == "Where was Mara Voss raised?"
    assert ids(found.rows("item"))[0] == "d2.0.e"
    assert "Who is Mara Voss?" in chat.requests[0].prompt


def test_a_rewritten_query_after_categories_searches_the_events(source):
    chat = Chat(GO_ON, {"decision": "RETRIEVE", "rewritten_query": "rain on the harbour"}, GO_ON)

    found = retrieve(["Who owns Bolt Labs?"], source, chat=chat)

    assert ids(found.rows("item"))[0] == "d5.0.e"
    assert found.next_step_query == "rain on the harbour"
    assert found.rewritten_query == "Who owns Bolt Labs?"


def test_a_restriction_is_applied_before_ranking_and_hides_categories_without_allowed_events(index, home):
    source = ReleaseTiers(index, load_categories(index, home), only(index, "d4", "d5"))

    found = retrieve(["Who owns Bolt Labs?"], source, TiersOptions(resource=TierOptions(top_k=2)))

    assert set(ids(found.rows("category"))) == {"c-zh", "c-rain"}
    assert set(ids(found.rows("item"))) <= {"d4.0.e", "d5.0.e"}
    assert set(ids(found.rows("resource"))) == {"d4", "d5"}


def test_before_the_first_clustering_the_way_begins_with_events(index, tmp_path):
    found = retrieve(["Who owns Bolt Labs?"], ReleaseTiers(index, load_categories(index, tmp_path)))

    assert found.rows("category") == []
    assert ids(found.rows("item"))[0] == "d0.0.e"


def test_without_categories_a_model_chooses_among_all_events(index, tmp_path):
    source = ReleaseTiers(index, load_categories(index, tmp_path))

    found = retrieve(["Who owns Bolt Labs?"], source, TiersOptions(method="llm", candidates=3), chat=Chat(GO_ON))

    assert found.rows("item")
    assert found.rows("resource")


def test_keys_of_a_type_can_be_the_categories(index):
    categories = load_categories(index, None, "key:name")

    found = retrieve(["Bolt Labs"], ReleaseTiers(index, categories))

    assert found.rows("category")[0]["title"] == "Bolt Labs"
    assert all(row["size"] >= 2 for row in found.rows("category"))


def test_an_unknown_source_of_categories_is_refused(index):
    with pytest.raises(SettingsError, match="key:"):
        load_categories(index, None, "keys")


def test_chinese_questions_get_chinese_prompts_and_events(source):
    chat = Chat(GO_ON)

    found = retrieve(["光澜公司由谁创建？"], source, chat=chat)

    assert ids(found.rows("item"))[0] == "d3.0.e"
    assert all("问题" in request.prompt for request in chat.requests)


@pytest.mark.parametrize("queries", [[], [""], ["  "], [{"content": ""}]])
def test_no_question_is_an_error(source, queries):
    with pytest.raises(QueryError):
        retrieve(queries, source)


@pytest.mark.parametrize("queries", [[3], [None], [{"role": "user"}], [{"content": {"text": 3}}], ["a", 4]])
def test_a_question_of_another_form_is_an_error(source, queries):
    with pytest.raises(TypeError, match="a query is a text"):
        retrieve(queries, source)


def test_as_a_way_to_search_it_ranks_the_chunks_of_the_hits(index, home):
    ranking = tiers_method(home=home)(index, Query("Who owns Bolt Labs?", top_k=3))

    assert index.rows["chunks"]["chunk_id"][int(ranking.chunks[0])].as_py() == "d0.0"
    assert ranking.scores.tolist() == sorted(ranking.scores.tolist(), reverse=True)
    assert len(ranking.chunks) == 3
    assert ranking.scores == pytest.approx(sum(ranking.parts.values()))
    assert [step["step"] for step in ranking.trace["tiers"]][-1] == "recall_resource"


def test_as_a_way_to_search_it_keeps_to_the_restriction_and_to_no_retrieval(index, home):
    method = tiers_method(home=home)
    restricted = method(index, Query("Who owns Bolt Labs?", allowed=only(index, "d4", "d5")))
    nothing = tiers_method(home=home, chat=Chat(STOP))(index, Query("Hello"))

    found = {index.rows["chunks"]["document_id"][int(row)].as_py() for row in restricted.chunks}
    assert found == {"d4", "d5"}
    assert len(nothing.chunks) == 0
