"""Values that a model writes: read as the kind of their type, or refused, whatever they are."""

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.typed_values import ValueRefused, typed_keys
from sag_retrieval.core.key_schema import KeyType
from sag_retrieval.core.schema_file import default_schema, read_schema

DEFAULT = default_schema().default
OWN = read_schema(
    {
        "types": [
            {"name": "revenue", "kind": "number", "unit": "CNY"},
            {"name": "sales", "kind": "number", "unit": "亿元"},
            {"name": "distance", "kind": "number", "unit": "km"},
            {"name": "grade", "values": ["A", "B+"]},
            {"name": "audited", "kind": "boolean", "aliases": ["是否审计"]},
            {"name": "signed on", "kind": "date"},
        ]
    }
).default
ISO = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


def named(name: str) -> KeyType:
    found = DEFAULT.named(name) or OWN.named(name)
    assert found is not None
    return found


def values(name: str, value: Any, language: str = "en") -> list[tuple[str, object, str | None]]:
    return [(key.key_type, key.value, key.unit) for key in typed_keys(named(name), value, language)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("money", "-3.2 million EUR", [("money", -3.2e6, "EUR")]),
        ("money", "3 亿 5 千万", [("money", 3.5e8, None)]),
        ("money", "3.5 %", [("percentage", 3.5, "%")]),
        ("quantity", "10-12 MW", [("quantity", 10.0, "MW"), ("quantity", 12.0, "MW")]),
        ("quantity", "1,5 Mio", [("quantity", 1.5e6, None)]),
        ("quantity", "approximately 340", [("quantity", 340.0, None)]),
        ("quantity", "over 340", [("quantity", "over 340", None)]),
        ("quantity", 42, [("quantity", 42.0, None)]),
        ("percentage", "12 percent", [("percentage", 12.0, "%")]),
        ("date", "March 5, 2019", [("date", "2019-03-05", None), ("date", "2019-03", None), ("date", "2019", None)]),
        ("date", "2019年3月", [("date", "2019-03", None), ("date", "2019", None)]),
        ("date", "2019-2021", [("date", "2019", None), ("date", "2021", None)]),
        ("date", "5 March", [("day", "03-05", None)]),
        ("date", 2019.0, [("date", "2019", None)]),
        ("flag", "is listed = yes", [("is_listed", True, None)]),
        ("flag", "是否上市：否", [("是否上市", False, None)]),
        ("person", 42, [("person", "42", None)]),
        ("person", "  ", []),
        ("revenue", "10 亿元", [("revenue", 1e9, "CNY")]),
        ("revenue", "3 million USD", [("revenue", 3e6, "USD")]),
        ("sales", "35 亿", [("sales", 35.0, "亿元")]),
        ("sales", "3.5 billion yuan", [("sales", 35.0, "亿元")]),
        ("distance", "5-8 miles", [("distance", 8.04672, "km"), ("distance", 12.874752, "km")]),
        ("grade", "b+", [("grade", "B+", None)]),
        ("audited", "是", [("audited", True, None)]),
        ("audited", "是否审计：否", [("audited", False, None)]),
        ("signed on", "2024-03", [("signed on", "2024-03", None), ("signed on", "2024", None)]),
    ],
)
def test_a_value_is_read_as_the_kind_of_its_type(name: str, value: str | float, expected: list[object]):
    assert values(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("date", "last summer", "'last summer' is no value of 'date', which takes a date"),
        ("date", "去年夏天", "which takes a date"),
        ("date", "2019-13-45", "which takes a date"),
        ("date", "2019-02-30", "which takes a date"),
        ("date", "0000", "which takes a date"),
        ("quantity", True, "True is no value of 'quantity', which takes a number"),
        ("flag", "true", "does not say what is true; is_listed=true would"),
        ("flag", "maybe", "which takes true or false"),
        ("audited", "listed=yes", "says nothing of 'audited'"),
        ("revenue", "12 %", "which takes a number in CNY"),
        ("distance", "5 kg", "which takes a number in km"),
        ("grade", "C", "which takes A, B"),
        ("person", "x" * 200, "over 120 characters"),
        ("topic", "—", "no word"),
    ],
)
def test_what_is_no_value_of_its_type_is_refused_with_the_reason(name: str, value: Any, reason: str):
    with pytest.raises(ValueRefused, match=re.escape(reason)):
        typed_keys(named(name), value)


DATES = st.dates(min_value=date(1500, 1, 1), max_value=date(2099, 12, 31))


@given(DATES, st.sampled_from(["en", "zh"]))
def test_a_day_comes_back_from_each_form_of_both_languages(day: date, language: str):
    forms = {
        "en": [day.isoformat(), f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b} {day.year}"],
        "zh": [day.isoformat(), f"{day.year}年{day.month}月{day.day}日", f"{day.year}/{day.month}/{day.day}"],
    }[language]
    for form in forms:
        assert [value for _, value, _ in values("date", form, language)] == [
            day.isoformat(),
            day.isoformat()[:7],
            day.isoformat()[:4],
        ]


@given(
    st.sampled_from([each.name for each in (*DEFAULT, *OWN)]),
    st.text(max_size=60)
    | st.from_regex(r"[\d.,年月日/ :T-]{1,24}", fullmatch=True)
    | st.from_regex(r"(yes|no|是|否|[a-z ]{0,9}[=：](true|否))", fullmatch=True)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans(),
    st.sampled_from(["en", "zh", "de"]),
)
def test_any_value_is_of_its_kind_or_text_or_refused(name: str, value: Any, language: str):
    key_type = named(name)
    try:
        keys = typed_keys(key_type, value, language)
    except ValueRefused:
        return
    for key in keys:
        if key_type.kind == "date":
            assert key.key_type == "day" or ISO.fullmatch(str(key.value))
            assert key.key_type == "day" or date.fromisoformat(str(key.value) + "-01-01"[len(str(key.value)) - 4 :])
        if key_type.kind == "boolean":
            assert isinstance(key.value, bool)
        if key_type.kind == "text":
            assert isinstance(key.value, str)
        if key_type.kind == "number":
            assert isinstance(key.value, float | str)
            assert not isinstance(key.value, bool)
