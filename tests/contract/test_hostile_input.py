"""Whatever a query, a filter, a reply or a file holds: one kind of error that says what is wrong, never a traceback."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from sag_pipeline.importers.command import given_documents
from sag_retrieval import SagError
from sag_retrieval.ask.modes import ask
from sag_retrieval.core.errors import FilterError, QueryError, RecordError, SourceError, shown
from sag_retrieval.evaluation.questions import read_questions
from sag_retrieval.models.structured import WrongShape, read_answer
from sag_retrieval.rag.stages import check_record, docs_of, items_of
from sag_retrieval.release.sandbox import check_sql
from sag_retrieval.release.where import MOST_FIELDS, compile_where
from sag_retrieval.search.method import LONGEST_QUERY, Query
from sag_retrieval.search.registry import method_entry

pytestmark = pytest.mark.slow

DEEP: list[object] = []
for _ in range(5_000):
    DEEP = [DEEP]
NO_TEXTS = [None, 3, 10**5_000, math.nan, b"x", ["a"], DEEP, {}, {1}, Ellipsis, 1j, True]
BROKEN = ["a\ud800", "\udfff"]
JSON_LINES = [
    "[" * 100_000,
    '{"a":' * 20_000,
    "9" * 5_000,
    '{"question": ' + "9" * 5_000 + "}",
    '{"question": "a", "keys": ' + "[" * 5_000 + "]" * 5_000 + "}",
    '{"question": ["a"]}',
    '{"text": ["a"], "id": {"a": [1]}, "title": ["x"]}',
    '{"text": "a", "events": [1, null, "x", {"content": {"a": 1}}], "entity_relations": [1, ["a", ["b"], "c"]]}',
    '{"text": "a\\ud800", "triples": [["a\\ud800", "b", "c"]], "entities": ["\\ud800", null, 3, {"a": 1}]}',
    '{"text": "a", "triples": "' + "[" * 100_000 + '"}',
    "[1]",
    "null",
    '"x"',
    "NaN",
    "\x00",
]


class Written(BaseModel):
    text: str
    numbers: list[int] = []


@pytest.mark.parametrize("value", [*NO_TEXTS, *BROKEN, "a" * (LONGEST_QUERY + 1)], ids=shown)
def test_what_is_no_query_is_refused(value):
    with pytest.raises(QueryError):
        Query(value)
    with pytest.raises(QueryError):
        Query("who", (value,))
    with pytest.raises(QueryError):
        ask(lambda *_, **__: pytest.fail("nothing is searched"), value)


def test_a_query_that_is_too_long_is_told_both_lengths():
    with pytest.raises(QueryError, match="has 64,000 characters, allowed are 20,000"):
        Query("ab " * 21_333 + "c")


@pytest.mark.parametrize("value", ["Heron", 3, None], ids=shown)
def test_keys_that_are_no_list_are_refused(value):
    with pytest.raises(QueryError, match="list of texts"):
        Query("who", value)


@pytest.mark.parametrize("value", NO_TEXTS, ids=shown)
def test_what_names_no_method_or_mode_is_refused(value):
    with pytest.raises(QueryError):
        method_entry(value).make()
    with pytest.raises(QueryError):
        ask(lambda *_, **__: pytest.fail("nothing is searched"), "who", mode=value)


@pytest.mark.parametrize(
    "value", [*(v for v in NO_TEXTS if v is not None and v != 3 and v is not True), *BROKEN], ids=shown
)
def test_what_no_field_holds_is_refused(value):
    with pytest.raises(FilterError):
        compile_where({"title": value})
    with pytest.raises(FilterError):
        compile_where({"title__in": [value]})
    with pytest.raises(FilterError):
        compile_where({"title__startswith": value})


@pytest.mark.parametrize("value", [v for v in NO_TEXTS if not isinstance(v, dict)], ids=shown)
def test_what_is_no_filter_is_refused(value):
    with pytest.raises(FilterError):
        compile_where(value)
    with pytest.raises(FilterError):
        check_sql(value)


def test_too_many_conditions_are_refused_with_the_bound():
    compile_where({f"metadata.a{n}": n for n in range(MOST_FIELDS)})

    with pytest.raises(FilterError, match="1,500 conditions, allowed are 100"):
        compile_where({f"metadata.a{n}": n for n in range(1_500)})
    with pytest.raises(FilterError, match="more than 50,000 values"):
        compile_where({f"metadata.a{n}__in": ["x"] * 10_000 for n in range(6)})


@pytest.mark.parametrize(
    "sql",
    [
        "(" * 3_900,
        "(" * 200 + "1" + ")" * 200,
        "case when " * 300,
        "[" * 3_000,
        "not " * 900,
        "- " * 1_900 + "1",
        "1" + "=1" * 1_900,
        *BROKEN,
    ],
    ids=lambda sql: ascii(sql[:9]),
)
def test_sql_that_is_too_deep_is_refused(sql):
    with pytest.raises(FilterError):
        check_sql(sql)


def test_brackets_inside_a_text_are_not_depth():
    check_sql("content = '" + "(" * 300 + "'")


@pytest.mark.parametrize(
    "text", [*JSON_LINES, *BROKEN, '{"text": "a", "numbers": [' + "9" * 5_000 + "]}"], ids=lambda t: ascii(t[:30])
)
def test_a_reply_is_read_or_is_of_a_wrong_shape(text):
    try:
        assert isinstance(read_answer(text, Written)[0], Written)
    except WrongShape as error:
        assert str(error)  # noqa: PT017  either way is right


@given(st.text(alphabet='{}[]":,，｛“”\\ a1\n<think>/', max_size=60))
def test_any_reply_is_read_or_is_of_a_wrong_shape(text):
    try:
        assert isinstance(read_answer(text, Written)[0], Written)
    except WrongShape as error:
        assert str(error)  # noqa: PT017  either way is right


@pytest.mark.parametrize("line", JSON_LINES, ids=lambda t: ascii(t[:30]))
def test_a_line_that_is_no_question_is_named_and_the_rest_is_read(tmp_path, line):
    file = tmp_path / "questions.jsonl"
    file.write_text(f'{line}\n{{"question": "Who?"}}\n', encoding="utf-8")
    faults: list[str] = []

    found = read_questions(file, faults.append)

    assert [question.question for question in found] == ["Who?"]
    assert [fault.partition(":")[0] for fault in faults] == ["line 1"]


@pytest.mark.parametrize("form", ["openie", "events"])
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".parquet", ".txt"])
@pytest.mark.parametrize("content", JSON_LINES, ids=lambda t: ascii(t[:30]))
def test_a_foreign_file_is_read_or_its_fault_is_told(tmp_path, form, suffix, content):
    file = tmp_path / f"records{suffix}"
    file.write_text(content, encoding="utf-8")

    try:
        for document in given_documents(form, file):
            assert json.loads(document.line().encode("utf-8"))["text"]
    except SourceError as error:
        assert "records" in str(error)  # noqa: PT017  either way is right


@pytest.mark.parametrize("value", NO_TEXTS, ids=shown)
def test_a_record_of_another_form_is_refused(value):
    with pytest.raises(RecordError):
        items_of({"retrieval_docs": [value]}, ("retrieval",))
    with pytest.raises(RecordError):
        docs_of({"retrieval_docs": [value]})
    if not isinstance(value, dict):
        with pytest.raises(RecordError):
            check_record(value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_of_a_field_is_compiled_or_refused(value):
    for operator in ("", "__in", "__gte", "__contains", "__isnull"):
        try:
            assert compile_where({f"metadata.a{operator}": value}).sql
        except SagError as error:
            assert isinstance(error, FilterError)  # noqa: PT017  either way is right
