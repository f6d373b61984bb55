"""One key for one thing, and never one key for two."""

from hashlib import blake2b

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_pipeline.extract.entity_resolution import ALIGNMENT_VERSION, KeyColumns, align_keys
from sag_pipeline.extract.name_matching import bare_name, bare_names, compact_names
from sag_retrieval.language.words import normal_name
from tests.support.aliases import precision_and_recall, read_planted


def keys_of(*rows: tuple[str, str, int]) -> KeyColumns:
    """Keys k0, k1, … from (type, value, event count)."""
    types, values, counts = zip(*rows, strict=True)
    return KeyColumns([f"k{n}" for n in range(len(rows))], types, values, [normal_name(v) for v in values], counts)


def test_most_planted_aliases_are_found_and_nothing_else_is():
    planted = read_planted()

    by_name = precision_and_recall(planted, align_keys(planted.keys))
    with_said = precision_and_recall(planted, align_keys(planted.keys, said=planted.said))

    assert planted.alias_count == 60
    assert by_name[0] == with_said[0] == 1.0
    assert by_name[1] > 0.6
    assert with_said[1] > 0.9


def test_names_that_differ_in_width_case_and_spaces_are_one_and_the_reason_is_kept():
    keys = keys_of(("organisation", "302.AI", 5), ("organisation", "３０２ａｉ", 2))

    (row,) = align_keys(keys).rows

    assert (row.alias_key_id, row.alias, row.key_id, row.reason) == ("k1", "３０２ａｉ", "k0", "compact name")


def test_a_generic_type_gives_way_to_the_specific_one_of_its_name():
    keys = keys_of(("topic", "Apple", 50), ("organisation", "Apple", 2), ("title", "apple", 9))

    assert align_keys(keys).canonical == {"k0": "k1", "k2": "k1"}


def test_two_specific_types_stay_apart_and_the_generic_one_joins_the_most_frequent():
    keys = keys_of(("product", "Apple", 3), ("organisation", "Apple", 7), ("topic", "apple", 1))

    assert align_keys(keys).canonical == {"k2": "k1"}


def test_of_equals_the_first_by_name_stands():
    keys = keys_of(("topic", "b c", 1), ("topic", "bc", 1), ("tag", "b  c", 1))

    assert set(align_keys(keys).canonical.values()) == {"k2"}


def test_dates_are_only_one_if_equal():
    keys = keys_of(("date", "2019-1", 1), ("date", "20191", 1), ("topic", "2019-1", 1))

    assert align_keys(keys).canonical == {"k2": "k0"}


def test_what_a_text_says_is_the_same_is_one_key_across_chains():
    keys = keys_of(("person", "Steve Jobs", 9), ("person", "乔布斯", 5), ("person", "乔帮主", 1))

    found = align_keys(keys, said=[("k2", "k1"), ("k1", "k0")]).canonical

    assert found == {"k1": "k0", "k2": "k0"}


def test_an_alias_said_of_many_keys_stays_itself():
    keys = keys_of(("organisation", "Alpha", 9), ("organisation", "Beta", 9), ("organisation", "the firm", 1))

    assert align_keys(keys, said=[("k2", "k0"), ("k2", "k1")]).canonical == {}
    assert align_keys(keys, said=[("k2", "k0"), ("k2", "k0"), ("k2", "k1")]).canonical == {"k2": "k0"}


def test_what_is_said_of_two_specific_types_is_not_believed_in_one_script():
    keys = keys_of(("person", "Ford", 9), ("organisation", "Ford Motor", 9))

    assert align_keys(keys, said=[("k1", "k0")]).canonical == {}


def test_a_name_said_in_two_scripts_is_one_key_though_one_shows_another_type():
    keys = keys_of(("organisation", "敦茂食品公司", 9), ("person", "Dunmore Foods", 5), ("entity", "Dunmore Foods", 1))

    assert align_keys(keys, said=[("k2", "k0")]).canonical == {"k1": "k0", "k2": "k0"}


@pytest.mark.parametrize(
    ("one", "other", "key_type"),
    [
        ("the organisation", "organization", "topic"),
        ("acme inc", "acme corporation", "organisation"),
        ("苹果有限公司", "苹果", "organisation"),
        ("杭州市", "杭州", "place"),
    ],
)
def test_bare_names_leave_out_what_varies_in_writing(one: str, other: str, key_type: str):
    first, second = bare_names(pa.array([one, other]), [key_type] * 2).to_pylist()

    assert first == second


@pytest.mark.parametrize(
    ("name", "key_type"), [("公司", "organisation"), ("the", "topic"), ("co", "organisation"), ("市", "place")]
)
def test_no_name_is_left_empty(name: str, key_type: str):
    assert bare_name(name, key_type)


def test_a_title_with_an_addition_is_the_name_before_it():
    keys = keys_of(("title", "Ann Lee (chemist)", 5), ("person", "Ann Lee", 1), ("title", "Basin (film)", 2))

    (aligned,) = align_keys(keys).rows

    assert (aligned.alias, aligned.reason) == ("Ann Lee (chemist)", "title without its addition")


@pytest.mark.parametrize(
    "rows",
    [
        [("title", "Ann Lee (chemist)", 5), ("title", "Ann Lee (poet)", 5), ("person", "Ann Lee", 1)],
        [("title", "Ann Lee (chemist)", 5), ("title", "Ann Lee", 5)],
        [("title", "Mercury (planet)", 5), ("entity", "Mercury", 1)],
        [("title", "海澜（公司）", 5), ("organisation", "海澜", 1)],
    ],
)
def test_a_title_that_could_mean_several_things_stays_itself(rows: list[tuple[str, str, int]]):
    assert align_keys(keys_of(*rows)).rows == ()


def test_digits_keep_their_groups():
    first, second = compact_names(pa.array(["1 23", "12 3"])).to_pylist()

    assert first != second


NAMES = st.sampled_from(["a b", "ab", "A.B", "a", "b", "甲 乙", "甲乙", "甲", "", "1 2", "12"])
TYPES = st.sampled_from(["person", "organisation", "topic", "tag", "date"])


@given(st.lists(st.tuples(TYPES, NAMES, st.integers(0, 3)), min_size=1, max_size=12), st.randoms())
def test_the_order_of_the_rows_does_not_matter_and_no_key_is_its_own_alias(rows, random):
    keys = keys_of(*rows)
    order = list(range(len(rows)))
    random.shuffle(order)
    columns = (keys.key_ids, keys.key_types, keys.values, keys.names, keys.event_counts)
    shuffled = KeyColumns(*([column[i] for i in order] for column in columns))

    one, other = align_keys(keys), align_keys(shuffled)

    assert one == other
    assert not one.canonical.keys() & set(one.canonical.values())
    type_of = dict(zip(keys.key_ids, keys.key_types, strict=True))
    for alias, key in one.canonical.items():
        assert type_of[alias] == type_of[key] or type_of[alias] in {"topic", "tag"}


def test_no_keys_align_to_nothing():
    assert align_keys(KeyColumns([], [], [], [], [])).rows == ()


def test_an_alignment_that_finds_other_keys_has_another_version():
    planted = read_planted()
    names = [normal_name(value) for value in planted.keys.values]
    rows = align_keys(planted.keys, said=planted.said).rows
    found = blake2b(repr((names, rows)).encode(), digest_size=8).hexdigest()

    assert (ALIGNMENT_VERSION, found) == ("1", "cc59306daeb0319e"), (
        "keys align otherwise: raise the version, then the hash here"
    )
