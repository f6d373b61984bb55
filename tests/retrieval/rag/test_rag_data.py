"""The record keeps everything, reads by priority, and old field names find their new ones."""

import copy
import json
from pathlib import Path

import pytest
from mypy import api

from sag_retrieval.rag import Pipeline, RAGData, check_record, docs_of, migrate, references_of, stages
from sag_retrieval.rag.stages import TO_REFINE, TO_RERANK, items_of


@pytest.mark.parametrize("broken", [("query", ["doc"]), ["query"], "query", None])
def test_anything_but_a_dict_is_refused_and_the_tuple_by_name(broken):
    with pytest.raises(TypeError, match="tuple form" if isinstance(broken, tuple) else "dict"):
        check_record(broken)


@pytest.mark.parametrize(
    ("filled", "order", "expected"),
    [
        ({"refining": ["f"], "reranking": ["r"], "retrieval": ["t"]}, None, ["f"]),
        ({"reranking": ["r"], "retrieval": ["t"]}, None, ["r"]),
        ({"retrieval": ["t"]}, None, ["t"]),
        ({"refining": [], "retrieval": ["t"]}, None, ["t"]),
        ({}, None, []),
        ({"refining": ["f"], "reranking": ["r"], "retrieval": ["t"]}, TO_RERANK, ["f"]),
        ({"refining": ["f"], "reranking": ["r"], "retrieval": ["t"]}, TO_REFINE, ["r"]),
    ],
)
def test_documents_are_read_from_the_latest_stage_that_has_any(filled, order, expected):
    record = {f"{stage}_docs": docs for stage, docs in filled.items()}

    found = docs_of(record) if order is None else docs_of(record, order)

    assert found == expected


def test_texts_without_items_become_items():
    assert items_of({"retrieval_docs": ["a"]}, TO_REFINE) == [{"text": "a", "score": 0.0}]
    assert items_of({"retrieval_docs": ["a"], "retrieval_results": [{"text": "a", "x": 1}]}, TO_REFINE) == [
        {"text": "a", "x": 1}
    ]
    assert items_of({}, TO_REFINE) == []


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"references": ["a"], "question": {"references": ["b"]}}, ["a"]),
        ({"question": {"references": ["b"]}}, ["b"]),
        ({"question": "plain"}, []),
        ({}, []),
    ],
)
def test_references_are_those_of_the_record_or_of_its_question(record, expected):
    assert references_of(record) == expected


@pytest.mark.parametrize(
    ("old", "stage", "new"),
    [
        ({"retrieved_docs": ["a"]}, None, {"retrieval_docs": ["a"]}),
        ({"refined_docs": ["a"], "results": [1]}, None, {"refining_docs": ["a"], "refining_results": [1]}),
        ({"results": [1]}, None, {"retrieval_results": [1]}),
        ({"results": [1]}, "reranking", {"reranking_results": [1]}),
        ({"refine_time": 1.0, "generate_time": 2.0}, None, {"refining_time": 1.0, "generation_time": 2.0}),
        ({"retrieve_time": 3.0}, None, {"retrieval_time": 3.0}),
        ({"pred": "a", "golds": ["b"]}, None, {"generated": "a", "references": ["b"]}),
        ({"refine_metrics": {"refine_time": 1.5}}, None, {"refining_time": 1.5}),
        (
            {"refine_metrics": {"refine_time": 1.5, "ratio": 2}},
            None,
            {"refining_time": 1.5, "refine_metrics": {"ratio": 2}},
        ),
        ({"pred": "old", "generated": "new"}, None, {"generated": "new"}),
        ({"query": "q", "custom_field": 1}, None, {"query": "q", "custom_field": 1}),
    ],
)
def test_old_names_become_new_ones_once_and_for_all(old, stage, new):
    before = copy.deepcopy(old)

    once = migrate(old, stage)

    assert once == new
    assert migrate(once, stage) == new
    assert old == before


def test_a_tuple_cannot_be_migrated():
    with pytest.raises(TypeError, match="tuple form"):
        migrate(("q", ["d"]))


def test_a_pipeline_without_stages_changes_nothing():
    assert Pipeline([]).run({"query": "q"}) == {"query": "q"}


@pytest.mark.slow
def test_a_type_checker_accepts_the_record_in_user_code(tmp_path):
    code = tmp_path / "user_code.py"
    code.write_text(
        "from sag_retrieval.rag.stages import RAGData, docs_of\n"
        "def my_operator(data: RAGData) -> RAGData:\n"
        '    docs: list[str] = data.get("retrieval_docs", [])\n'
        '    data.update({"generated": docs[0], "generation_time": 0.1})\n'
        "    return data\n"
        'record: RAGData = {"query": "q", "references": ["a"]}\n'
        "print(docs_of(my_operator(record)))\n",
        encoding="utf-8",
    )
    sources = [str(code), str(Path(stages.__file__))]
    flags = ["--strict", "--follow-imports=skip", "--config-file=", f"--cache-dir={tmp_path}"]

    out, _, code_of_checker = api.run([*flags, *sources])

    assert code_of_checker == 0, out


def test_a_record_survives_json():
    record: RAGData = {
        "query": "问题",
        "retrieval_results": [{"text": "a", "score": 0.5}],
        "retrieval_time": 0.1,
    }

    assert json.loads(json.dumps(record, ensure_ascii=False)) == record
