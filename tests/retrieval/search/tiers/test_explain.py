"""With `explain`, tiered retrieval says which categories, events and documents led to each hit."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sag_retrieval.models.protocols import Reply
from sag_retrieval.search.method import Query
from sag_retrieval.search.methods.tiers.method import tiers_method
from sag_retrieval.search.methods.tiers.workflow import Chosen, TierOptions, TiersOptions
from tests.support.small_release import build_index

CATEGORIES = {"Bolt": ["d0.0.e", "d2.0.e"], "安塞港": ["d3.0.e", "d4.0.e"]}
ONE_EVENT = TiersOptions(item=TierOptions(top_k=1), resource=TierOptions(top_k=1))
QUESTION = "Who owns Bolt Labs?"


class Enough:
    """Finds that the categories suffice."""

    model_id = "scripted"

    def ask(self, request):
        assert request.answer is not Chosen
        return Reply(request.answer.model_validate({"decision": "NO_RETRIEVE", "rewritten_query": ""}))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return build_index(tmp_path_factory.mktemp("arrays"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    rows = [
        {"community_id": name, "title": name, "summary": name, "level": 0, "size": len(events)}
        for name, events in CATEGORIES.items()
    ]
    pairs = [{"community_id": name, "event_id": event} for name, events in CATEGORIES.items() for event in events]
    pq.write_table(pa.Table.from_pylist(rows), folder / "communities.parquet")
    pq.write_table(pa.Table.from_pylist(pairs), folder / "community_events.parquet")
    return folder


def trace_of(index, home, text=QUESTION, options=ONE_EVENT, chat=None, gold=()):
    method = tiers_method(options, home=home, chat=chat)
    return method(index, Query(text, top_k=20, explain=True, gold_documents=gold)).trace


def ways_of(trace):
    return {way["chunk_id"]: way for way in trace["hits"]}


def test_a_hit_names_its_event_and_its_category(index, home):
    way = ways_of(trace_of(index, home))["d0.0"]

    assert way["path"] == [("category", "Bolt"), ("event", "Acme owns Bolt Labs.")]
    assert way["event"]["event_id"] == "d0.0.e"
    assert way["event"]["score"] > 0
    assert way["why"] == (
        "found because it states “Acme owns Bolt Labs.”, which is like the question, in the category “Bolt”"
    )


def test_a_hit_by_a_shared_category_names_the_event_that_led_to_it(index, home):
    way = ways_of(trace_of(index, home))["d2.0"]

    assert way["path"] == [("event", "Acme owns Bolt Labs."), ("category", "Bolt")]
    assert way["why"].startswith("found because it is in the category “Bolt” with “Acme owns Bolt Labs.”")


def test_a_hit_by_its_document_and_one_by_its_text_say_so(index, home):
    ways = ways_of(
        trace_of(index, home, options=TiersOptions(item=TierOptions(top_k=1), resource=TierOptions(top_k=2)))
    )

    assert ways["d0.1"]["path"] == [("document", "Acme")]
    assert ways["d1.0"]["document"]["document_id"] == "d1"
    others = [way for name, way in ways.items() if name not in {"d0.0", "d0.1", "d1.0", "d2.0"}]
    assert all(way["path"] == [("text", "")] for way in others)


def test_a_question_in_chinese_is_explained_in_chinese(index, home):
    way = ways_of(trace_of(index, home, "光澜公司由谁创建？"))["d3.0"]

    assert way["why"] == "找到它，因为它说的“光澜公司由陈雨创建。”与问题相近，属于类别“安塞港”。"


def test_a_category_that_its_tier_did_not_find_is_no_step_of_the_way(index, home):
    none = TiersOptions(category=TierOptions(enabled=False), item=TierOptions(top_k=1))

    way = ways_of(trace_of(index, home, options=none))["d0.0"]

    assert way["path"] == [("event", "Acme owns Bolt Labs.")]
    assert not way["category"]["is_found"]


def test_where_the_categories_were_enough_they_are_the_way(index, home):
    trace = trace_of(index, home, options=TiersOptions(route_intention=False), chat=Enough())

    assert trace["stopped_at"] == "sufficiency_after_category"
    assert ways_of(trace)["d0.0"]["path"] == [("category", "Bolt")]


def test_the_chunks_below_each_tier_are_counted_and_the_gold_documents_among_them(index, home):
    trace = trace_of(index, home, gold=("d0", "d2"))

    assert trace["stages"][:3] == [
        {"stage": "category", "chunks": 4, "gold_documents": 2},
        {"stage": "item", "chunks": 1, "gold_documents": 1},
        {"stage": "resource", "chunks": 2, "gold_documents": 1},
    ]
    assert trace["titles"]["d0.0.e"] == "Acme owns Bolt Labs."


def test_without_explain_nothing_of_it_is_made(index, home):
    trace = tiers_method(ONE_EVENT, home=home)(index, Query(QUESTION)).trace

    assert set(trace) == {"tiers", "stopped_at"}
