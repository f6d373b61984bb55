"""Close pairs: other spellings come first, what cannot be one thing is no pair, and the number of keys does no harm."""

import random

import pytest

from sag_pipeline.llm.same_names import close_pairs
from tests.pipeline.test_entity_resolution import keys_of

OTHERS = [
    ("topic", f"{word} matter", 1) for word in "amber birch cedar delta ember flint grove heath inlet jade".split()
]


def pairs_of(*rows: tuple[str, str, int]) -> list[set[str]]:
    keys = keys_of(*rows, *OTHERS)
    return [{keys.values[pair.one], keys.values[pair.other]} for pair in close_pairs(keys, range(len(keys)))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Robert Saget", "Robert Lane Saget"),
        ("National Hockey League", "NHL"),
        ("Goshen Township", "Goshen Township, Hardin County"),
        ("Franjo Krežma", "Franjo Krezmar"),
        ("绿源环保", "绿源环保有限公司"),
        ("翼尖小翼", "翼梢小翼"),
    ],
)
def test_other_spellings_of_a_name_are_close(one: str, other: str):
    assert {one, other} in pairs_of(("person", one, 3), ("person", other, 1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("person", "Mercury"), ("place", "Mercury Hill")),
        (("work", "Siege of Cassel 1761"), ("work", "Siege of Cassel 1762")),
        (("person", "Louis IV of France"), ("person", "Louis V of France")),
        (("date", "2024-01"), ("date", "2024-01-02")),
        (("topic", "amber bridge"), ("topic", "copper field")),
    ],
)
def test_what_cannot_be_one_thing_is_no_pair(one: tuple[str, str], other: tuple[str, str]):
    assert {one[1], other[1]} not in pairs_of((*one, 1), (*other, 1))


def test_a_title_is_compared_without_its_addition():
    assert pairs_of(("title", "Hazell (British television series)", 4), ("work", "Hazell", 2))[0] == {
        "Hazell (British television series)",
        "Hazell",
    }


def test_the_order_of_keys_does_not_matter():
    rows = [("person", f"{first} {last}", 1) for first in ("Ann", "Anne", "Anna") for last in ("Lee", "Leigh", "Ray")]
    expected = pairs_of(*rows)
    random.Random(0).shuffle(rows)

    assert sorted(map(sorted, pairs_of(*rows))) == sorted(map(sorted, expected))


@pytest.mark.slow
def test_the_number_of_pairs_grows_with_the_names_and_not_with_their_square():
    def count(names: int) -> int:
        draw = random.Random(names)
        rows = [("topic", f"common {draw.randrange(names)} {draw.choice('abcdefgh') * 3}{n}", 1) for n in range(names)]
        return len(close_pairs(keys_of(*rows), range(names)))

    assert count(4_000) < 4 * max(1_000, count(2_000))
