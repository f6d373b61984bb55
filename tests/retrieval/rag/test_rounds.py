"""Chains of stages keep the invariants of the record, whatever their order and however often a stage runs."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sag_retrieval.core.errors import RecordError
from sag_retrieval.rag import (
    CrossEncoderReranker,
    ExtractiveRefiner,
    Generator,
    ModelReranker,
    PageRankReranker,
    Pipeline,
    QAPromptor,
    Retriever,
    docs_of,
)
from sag_retrieval.rag.retrieve import shared_keys
from sag_retrieval.rag.stages import STEPS
from tests.support.overlap_search import OverlapSearch
from tests.support.recorded_chat import RecordedChat

CHUNKS = [
    ("a.md", "Tower", "The tower stands in Paris. It was finished in 1889."),
    ("b.md", "Paris", "Paris lies on the Seine. It has a tower."),
    ("c.md", "苹果", "苹果公司由乔布斯在1976年创建。公司总部在加州。"),
    ("d.md", "Seine", "The Seine is a river. Boats go to the sea."),
]
SEARCH = OverlapSearch(CHUNKS)
SHORTEST_FIRST = CrossEncoderReranker(model=lambda pairs: [-len(text) for _, text in pairs])
LONGEST_FIRST = CrossEncoderReranker(model=lambda pairs: [len(text) for _, text in pairs])
STAGES = [
    Retriever(search=SEARCH),
    Retriever(search=SEARCH, keys=("Seine", "苹果"), top_k=2),
    PageRankReranker(),
    PageRankReranker(top_k=1),
    ModelReranker(chat=None),
    SHORTEST_FIRST,
    LONGEST_FIRST,
    ExtractiveRefiner(budget=40),
    ExtractiveRefiner(budget=15),
    QAPromptor(),
    Generator(promptor=QAPromptor()),
]
QUERY = "Which tower stands in Paris on the Seine?"


def values_of(record):
    """Every value that a record holds or held, by field."""
    held = [step["replaced"] for step in record.get(STEPS, ()) if "replaced" in step]
    return [(name, value) for each in (record, *held) for name, value in each.items() if name != STEPS]


@given(st.lists(st.sampled_from(STAGES), max_size=8), st.booleans())
@settings(max_examples=150)
def test_any_chain_of_stages_keeps_every_value_and_its_lists_in_step(chain, through_json):
    record = {"query": QUERY, "references": ["1889"], "custom_note": [1]}

    for stage in chain:
        before = dict(record)
        record = Pipeline([stage]).run(record)
        now = values_of(record)
        assert all(any(name == n and value is v for n, v in now) for name, value in before.items() if name != STEPS)
        for name in ("retrieval", "reranking", "refining"):
            assert record.get(f"{name}_docs", []) == [item["text"] for item in record.get(f"{name}_results", [])]
            seconds = record.get(f"{name}_time", 0.0)
            assert math.isfinite(seconds)
            assert seconds >= 0
        if through_json:
            record = json.loads(json.dumps(record, ensure_ascii=False))


@given(st.lists(st.sampled_from(STAGES[:9]), min_size=1, max_size=6))
@settings(max_examples=100)
def test_a_chain_reads_what_the_stage_ahead_wrote_once_a_stage_ran_again(chain):
    record = Pipeline(chain).run({"query": QUERY})

    written = [name for name in (stage.stage for stage in reversed(chain)) if record[f"{name}_docs"]]

    if STEPS in record and written:
        assert docs_of(record) == record[f"{written[0]}_docs"]


def test_stages_that_ran_once_leave_no_log():
    record = Pipeline([STAGES[0], STAGES[2], STAGES[7], STAGES[9], STAGES[10]]).run({"query": QUERY})

    assert STEPS not in record


def test_the_second_reranker_orders_what_the_first_chose():
    chosen = CrossEncoderReranker(model=lambda pairs: [len(text) for _, text in pairs], top_k=2)

    record = Pipeline([Retriever(search=SEARCH), chosen, SHORTEST_FIRST]).run({"query": QUERY})

    (first, second) = record[STEPS][-1]["replaced"]["reranking_docs"]
    assert record["reranking_docs"] == [second, first]
    assert [step["stage"] for step in record[STEPS]] == ["retrieval", "reranking", "reranking"]


def test_a_reranker_after_refining_reads_the_refined_texts_also_the_second_time():
    chain = [Retriever(search=SEARCH), ExtractiveRefiner(budget=60), LONGEST_FIRST, SHORTEST_FIRST]

    record = Pipeline(chain).run({"query": QUERY})

    assert sorted(record["reranking_docs"]) == sorted(record["refining_docs"])
    assert docs_of(record) == record["reranking_docs"]


def test_a_second_round_of_retrieval_adds_what_is_new_and_outdates_the_ranking_before():
    second = Retriever(search=OverlapSearch(CHUNKS), keys=("苹果",), top_k=4)

    record = Pipeline([Retriever(search=SEARCH, top_k=1), PageRankReranker(), second]).run({"query": QUERY})

    (first,) = record[STEPS][-1]["replaced"]["retrieval_docs"]
    assert record["retrieval_docs"][0] == first
    assert CHUNKS[2][2] in record["retrieval_docs"]
    assert len(set(record["retrieval_docs"])) == len(record["retrieval_docs"])
    assert docs_of(record) == record["retrieval_docs"]


def test_the_seconds_of_rounds_are_added():
    ticks = iter([0.0, 1.0, 10.0, 13.0])
    chain = [Retriever(search=SEARCH, clock=lambda: next(ticks)) for _ in range(2)]

    record = Pipeline(chain).run({"query": QUERY})

    assert record["retrieval_time"] == 4.0
    assert record[STEPS][-1]["replaced"]["retrieval_time"] == 1.0


def test_an_answer_after_a_further_round_is_asked_with_the_documents_found_then():
    chat = RecordedChat('{"answer": "one"}', '{"answer": "two"}')
    answer = Generator(chat=chat, promptor=QAPromptor())
    chain = [Retriever(search=SEARCH, top_k=1), answer, Retriever(search=SEARCH, keys=("苹果",), top_k=4), answer]

    record = Pipeline(chain).run({"query": QUERY})

    assert record["generated"] == "two"
    assert CHUNKS[2][2] not in chat.requests[0].prompt
    assert CHUNKS[2][2] in chat.requests[1].prompt


def test_a_prompt_for_the_documents_as_they_are_is_not_written_again():
    chat = RecordedChat('{"answer": "one"}')
    record = Pipeline([Retriever(search=SEARCH)]).run({"query": QUERY}) | {"prompt": "mine"}

    Generator(chat=chat, promptor=QAPromptor())(record)

    assert chat.requests[0].prompt == "mine"


def overwrite(data):
    return data | {"query": "another"}


def out_of_step(data):
    return data | {"retrieval_docs": ["a"], "retrieval_results": []}


def backwards(data):
    return data | {"refining_time": -1.0}


def listed(data):
    return [data]


@pytest.mark.parametrize(
    ("stage", "fault"),
    [
        (overwrite, "overwrite broke the record: 'query' was overwritten"),
        (out_of_step, "out_of_step broke the record: `retrieval_docs` must be the texts of `retrieval_results`"),
        (backwards, "backwards broke the record: `refining_time` must be seconds, 0 or more, got -1.0"),
        (listed, "a RAGData record is a dict, got list"),
    ],
)
def test_a_function_that_breaks_the_record_is_named_with_the_fault(stage, fault):
    with pytest.raises(RecordError) as error:
        Pipeline([stage]).run({"query": QUERY})

    assert fault in str(error.value)


@pytest.mark.parametrize("steps", [3, "x", [1], [{"replaced": {}}]])
def test_a_log_that_no_stage_wrote_is_refused(steps):
    with pytest.raises(RecordError, match="must be a list of objects with `stage`"):
        QAPromptor()({"query": QUERY, STEPS: steps})


def test_keys_that_most_passages_share_come_first():
    items = [{"metadata": {"keys": keys}} for keys in (["x", {"value": "y"}], [{"value": "y"}], [])]

    assert shared_keys([*items, {"text": "bare"}], 2) == ["y", "x"]
    assert shared_keys(items, 0) == []
