import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.keys import LONGEST_VALUE, main_keys, make_key, title_key
from sag_retrieval.core.records import Chunk, Document
from sag_retrieval.release.key_weights import idf

VALUES = st.text(max_size=130) | st.floats() | st.integers() | st.booleans()


@given(st.text(max_size=12), VALUES)
def test_a_key_has_exactly_one_value_or_is_none(key_type, value):
    key = make_key(key_type, value)

    if key is not None:
        values = (key.value_string, key.value_number, key.value_bool)
        assert sum(v is not None for v in values) == 1
        assert type(key.value) is (str if isinstance(value, str) else bool if isinstance(value, bool) else float)


@given(st.text(alphabet="aB中 .-（）AIai302", min_size=1, max_size=20))
def test_a_key_made_of_a_keys_value_is_the_same_key(value):
    key = make_key("entity", value)

    assert key is None or make_key("entity", key.value) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("苹果 公司", "苹果公司"),
        ("ＡＣＭＥ Ltd", "acme ltd"),
        ("Péter", "PÉTER"),
        ("“观澜”", "观澜"),
        ("O'Neil", "O’Neil"),
    ],
)
def test_two_spellings_of_a_name_are_one_key(one, other):
    assert make_key("entity", one).key_id == make_key("entity", other).key_id


def test_type_kind_and_unit_tell_keys_apart():
    keys = [
        make_key("person", "1"), make_key("place", "1"), make_key("person", 1), make_key("person", value=True),
        make_key("money", 1, "CNY"), make_key("money", 1, "USD"),
    ]  # fmt: skip

    assert len({key.key_id for key in keys}) == len(keys)


@pytest.mark.parametrize("value", ["", "  ", "。", "…", "x" * (LONGEST_VALUE + 1), math.inf, math.nan, 10**400])
def test_what_is_no_value_gives_no_key(value):
    assert make_key("entity", value) is None


def test_equal_numbers_are_one_key():
    assert make_key("n", 0.0).key_id == make_key("n", -0.0).key_id == make_key("n", 0).key_id


def test_a_chunk_is_about_the_title_else_its_heading():
    chunk = Chunk("c1", "d", "s", 0, 0, 1, "x", "", heading="损失")
    titled, bare = Document("d", "s", "报告", "x", "zh"), Document("d", "s", "", "x", "zh")

    assert [link.key for link in main_keys(titled, [chunk])] == [title_key(titled)]
    assert [link.key.value for link in main_keys(bare, [chunk])] == ["损失"]
    assert [(link.event_id, link.key) for link in main_keys(titled, [chunk])] == [("c1", title_key(titled))]
    assert main_keys(bare, [Chunk("c2", "d", "s", 0, 0, 1, "x", "")]) == []


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_idf_is_never_negative_and_falls_with_frequency(one, other):
    few, many = sorted((one, other))

    assert idf(few, many) >= 0
    assert idf(few, 10_000) >= idf(many, 10_000)
    assert idf(few, 10_000, smoothing="add-one") <= idf(few, 10_000)
    assert idf(many, many) == 0


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_idf_is_the_logarithm_of_the_share(one, other):
    few, many = sorted((one, other))

    assert math.exp(idf(few, many)) == pytest.approx(many / few)


@pytest.mark.parametrize(("count", "total"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(count, total):
    with pytest.raises(ValueError, match=f"event_count={count}"):
        idf(count, total)


def test_a_key_that_no_event_carries_tells_nothing():
    assert idf(0, 5) == idf(0, 0) == 0
