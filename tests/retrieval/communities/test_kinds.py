"""Kinds of statements: what several documents say of other names and figures, however they word it."""

import pytest

from sag_retrieval.communities import kinds
from sag_retrieval.communities.common_phrases import common_phrase
from sag_retrieval.communities.kinds import recurring_kinds
from tests.support.said_events import amount, named, said_events

WEAVERS = ("Tolland Looms", "Brackley Yarn", "Ostrava Felt", "Penrith Wool")
LEASES = [
    (f"{who} signed a lease of the mill in {year} and pays {rent} euros a month.", [named(who), amount(rent, "EUR")])
    for who, year, rent in zip(WEAVERS, (2019, 2020, 2021, 2022), (900, 4_000, 1_200, 2_500), strict=True)
]
FIRES = [
    (f"{who} lost {bales} bales of wool when the store burned down.", [named(who), amount(bales, "bale", "quantity")])
    for who, bales in zip(WEAVERS, (40, 7, 300, 12), strict=True)
]
LEASES_ZH = [
    (f"{who}与纺织厂签订租赁合同，每月租金{rent}元。", [named(who), amount(rent, "CNY")])
    for who, rent in zip(("青河织造", "北岭毛纺", "南湾印染"), (800, 1_500, 2_000), strict=True)
]


@pytest.mark.parametrize(
    ("language", "said", "kinds"),
    [
        ("en", LEASES + FIRES, [([0, 1, 2, 3], "signed a lease of the mill"), ([4, 5, 6, 7], "bales of wool")]),
        ("zh", LEASES_ZH, [([0, 1, 2], "租赁合同")]),
    ],
)
def test_statements_that_differ_in_names_and_figures_are_of_a_kind(towns, language, said, kinds):
    events = said_events(towns(languages=(language,), months=8), said)

    found = recurring_kinds(events, 9)

    assert [sorted(each.rows.tolist()) for each in found] == [rows for rows, _ in kinds]
    assert [each.documents for each in found] == [len(rows) for rows, _ in kinds]
    assert all(words in each.phrase for each, (_, words) in zip(found, kinds, strict=True))
    assert all(sorted(each.exact.tolist()) == rows for each, (rows, _) in zip(found, kinds, strict=True))


def test_another_wording_of_the_same_is_of_the_kind(towns):
    other = ("Penrith Wool took over a lease of the mill; it pays 2,500 euros a month.", LEASES[3][1])

    found = recurring_kinds(said_events(towns(months=8), [*LEASES[:3], other]), 9)

    assert [sorted(each.rows.tolist()) for each in found] == [[0, 1, 2, 3]]


def test_of_a_large_pile_statements_outside_the_sample_join_their_kind(towns, monkeypatch):
    events = said_events(towns(months=8), LEASES + FIRES)
    expected = [sorted(each.rows.tolist()) for each in recurring_kinds(events, 9)]

    monkeypatch.setattr(kinds, "_LONGEST_POOL", 6)

    assert [len(each) for each in expected] == [4, 4]
    found = recurring_kinds(said_events(towns(months=12), [*LEASES, *LEASES, *FIRES]), 9)
    assert [sorted(each.rows.tolist()) for each in found] == [list(range(8))]


def test_what_two_documents_say_and_what_holds_no_figure_is_no_kind(towns):
    bare = [(f"{who} signed a lease of the mill for the next season.", [named(who)]) for who in WEAVERS]

    assert recurring_kinds(said_events(towns(months=8), LEASES[:2]), 9) == []
    assert recurring_kinds(said_events(towns(months=8), bare), 9) == []
    assert recurring_kinds(said_events(towns(months=8), []), 9) == []


def test_statements_that_share_one_common_word_are_no_kind(towns):
    said = [
        ("Tolland Looms opened a new shed for 40 looms beside the canal.", [named("Tolland Looms")]),
        ("Brackley Yarn ended its new contract with 3 dyers last winter.", [named("Brackley Yarn")]),
        ("Ostrava Felt hired a new master with 25 years of practice.", [named("Ostrava Felt")]),
    ]

    assert recurring_kinds(said_events(towns(months=8), said), 9) == []


def test_a_phrase_has_no_names_units_or_lone_words_at_its_end():
    texts = [
        "In May | finished the large dye works for 3 million euros, pleased.",
        "| finished the large dye works in June for 8 million euros, pleased.",
    ]

    assert common_phrase(texts, [1, 2])[0] == "finished the large dye works"
    assert common_phrase(["| kept on.", "| gave up."], [1, 2])[0] == ""
