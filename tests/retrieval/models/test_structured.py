"""Reading answers: repair of JSON, schemas, shapes."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from sag_retrieval.models.protocols import estimate_tokens
from sag_retrieval.models.structured import WrongShape, read_answer, repair_json, schema_instruction, strict_schema
from tests.support.chat_server import Answer, fenced, full_width, with_trailing_commas


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    count: int = 0


class Whole(BaseModel):
    """Docstring that is not sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: list[Part] = Field(description="sent")


class Tree(BaseModel):
    children: list["Tree"] = []


class Free(BaseModel):
    values: dict[str, int]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='"“”＂\\'), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3)


@given(OBJECTS)
def test_sound_json_is_read_as_it_is(value: dict[str, Any]):
    text = json.dumps(value, ensure_ascii=False)

    assert repair_json(text).value == value
    assert not repair_json(text).is_truncated


@given(OBJECTS, st.sampled_from([fenced, with_trailing_commas, full_width]))
@example({"[0": None}, fenced)
def test_faults_outside_strings_change_nothing(value: dict[str, Any], fault: Any):
    answer = Answer(json.dumps(value, ensure_ascii=False))

    assert repair_json(fault(answer).text).value == value


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=6), st.integers(0, 100))
def test_of_a_cut_list_the_first_whole_items_are_kept(items: list[str], share: int):
    text = json.dumps({"items": items}, ensure_ascii=False)
    cut = text[: max(len('{"items": ["') + 2, len(text) * share // 100)]

    found = repair_json(cut)

    assert isinstance(found.value, dict)
    kept = found.value.get("items", [])
    assert kept == items[: len(kept)]
    assert found.is_truncated or cut == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "he said "hi" twice", "b": 1}', {"a": 'he said "hi" twice', "b": 1}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('I thought [about it] first.\n{"a": 1}', {"a": 1}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"路径": "C:\\d"}', {"路径": "C:\\d"}),
        ("｛“事项”：［“甲，乙”，］｝", {"事项": ["甲，乙"]}),
        ('<think>{"a": 0}</think>```json\n{"a": 1, "b": [2]}\n```', {"a": 1, "b": [2]}),
    ],
)
def test_what_models_write_is_read_as_meant(text: str, value: dict[str, Any]):
    assert repair_json(text).value == value


@pytest.mark.parametrize("text", ["", "no", "I cannot help with that.", "{", "[]"])
def test_a_text_without_a_value_is_refused(text: str):
    with pytest.raises(ValueError, match="no JSON object"):
        repair_json(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str):
    with suppress(WrongShape):
        answer, _ = read_answer(text, Whole)

        assert isinstance(answer, Whole)


@pytest.mark.parametrize(
    "text",
    [
        '{"parts": [{"name": "a", "colour": "red"}], "thoughts": "…"}',
        '[{"name": "a"}]',
        '{"result": {"parts": [{"name": "a"}]}}',
        '<think>first {this}</think>{"parts": [{"name": "a"}]}',
        '{"parts": [{"name": "a"}, {"cou',
    ],
    ids=["unknown fields", "bare list", "wrapped", "thoughts", "cut item"],
)
def test_an_answer_is_read_over_what_models_add_or_leave_off(text: str):
    answer, _ = read_answer(text, Whole)

    assert answer == Whole(parts=[Part(name="a")])


def test_a_cut_item_that_lacks_several_fields_falls_alone():
    class Pair(BaseModel):
        left: str
        right: str

    class Pairs(BaseModel):
        pairs: list[Pair]

    answer, is_truncated = read_answer('{"pairs": [{"left": "a", "right": "b"}, {"le', Pairs)

    assert is_truncated
    assert answer == Pairs(pairs=[Pair(left="a", right="b")])


def test_a_wrong_shape_says_what_is_wrong():
    with pytest.raises(WrongShape, match=r"parts\.0\.name"):
        read_answer('{"parts": [{"count": 1}]}', Whole)


def test_the_strict_schema_requires_and_closes_everything_and_is_inlined():
    schema = strict_schema(Whole)

    assert schema is not None
    item = schema["properties"]["parts"]["items"]
    assert item["required"] == ["name", "count"]
    assert item["additionalProperties"] is False
    assert schema["properties"]["parts"]["description"] == "sent"
    assert "Docstring" not in json.dumps(schema)
    assert "$ref" not in json.dumps(schema)


def test_recursive_schemas_keep_their_definitions():
    assert "$defs" in (strict_schema(Tree) or {})


def test_a_free_mapping_has_no_strict_schema_but_an_instruction():
    assert strict_schema(Free) is None
    assert '"values"' in schema_instruction(Free)


@given(st.text(max_size=80), st.text(max_size=80))
def test_tokens_of_two_texts_are_about_the_sum(one: str, other: str):
    together = estimate_tokens(one + other)

    assert 0 <= estimate_tokens(one) + estimate_tokens(other) - together <= 1
