"""Facts of a theme: who has which amount, and which documents contradict each other."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.reports.facts import (
    Amount,
    amounts_of,
    chosen_amounts,
    conflicts_in,
    dated_rows,
    largest_amounts,
    most_named,
    readable_amount,
)

STATEMENTS = (
    ("Heron Foods paid a dividend of 3 million euros in May 2021.", "Heron Foods", 3e6, "2021-05", 0),
    ("Heron Foods paid a dividend of 5 million euros in May 2021.", "Heron Foods", 5e6, "2021-05", 1),
    ("Kestrel Yard paid a dividend of 9 million euros in June 2021.", "Kestrel Yard", 9e6, "2021-06", 1),
    ("Oban Metals paid a dividend of 2 million euros in July 2021.", "Oban Metals", 2e6, "2021-07", 0),
    ("It paid a dividend of 99 million euros in July 2021.", "Oban Metals", 99e6, "2021-07", 0),
)


@pytest.fixture
def events(towns):
    base = towns(months=4)
    names = sorted({name for _, name, *_ in STATEMENTS})
    values = [f"{number:,.0f} EUR" for _, _, number, _, _ in STATEMENTS]
    count = len(STATEMENTS)
    return replace(
        base,
        event_ids=[f"e{row}" for row in range(count)],
        contents=[text for text, *_ in STATEMENTS],
        chunk=np.array([document for *_, document in STATEMENTS], np.int32),
        spans=np.full((count, 2), -1, np.int32),
        dates=[date for *_, date, _ in STATEMENTS],
        keys=replace(
            base.keys,
            types=["organisation"] * len(names) + ["money"] * count,
            values=names + values,
            is_text=np.array([True] * len(names) + [False] * count),
            numbers=[None] * len(names) + [number for _, _, number, _, _ in STATEMENTS],
            units=[None] * len(names) + ["EUR"] * count,
        ),
        links=replace(
            base.links,
            event=np.repeat(np.arange(count, dtype=np.int32), 2),
            key=np.array(
                [
                    place
                    for row, (_, name, *_) in enumerate(STATEMENTS)
                    for place in (names.index(name), len(names) + row)
                ],
                np.int32,
            ),
        ),
        vectors=np.array([[1, 0], [0.9, 0.436], [0, 1], [0.6, 0.8], [1, 0]], np.float32),
    )


ROWS = np.arange(len(STATEMENTS), dtype=np.int32)


def test_an_amount_belongs_to_the_name_in_its_statement(events):
    found = amounts_of(events, ROWS)

    assert [(each.who, each.number, each.row) for each in found] == [
        ("Heron Foods", 3e6, 0),
        ("Heron Foods", 5e6, 1),
        ("Kestrel Yard", 9e6, 2),
        ("Oban Metals", 2e6, 3),
    ]


def test_types_of_ones_own_have_amounts_as_the_default_ones_have(events):
    own = {"organisation": "shipyard", "money": "dividend"}
    kinds = [own[kind] for kind in events.keys.types]
    renamed = replace(events, keys=replace(events.keys, types=kinds))

    assert amounts_of(renamed, ROWS) == amounts_of(events, ROWS)
    assert largest_amounts(renamed, 3) == largest_amounts(events, 3)


def test_the_largest_amount_of_each_is_chosen(events):
    assert [(each.who, each.number) for each in chosen_amounts(events, ROWS)] == [
        ("Kestrel Yard", 9e6),
        ("Heron Foods", 5e6),
        ("Oban Metals", 2e6),
    ]
    assert chosen_amounts(events, ROWS[:2]) == []


def test_two_documents_with_two_values_for_one_thing_contradict(events):
    assert conflicts_in(events, ROWS) == [(0, 1)]
    same = replace(events, chunk=np.zeros(len(STATEMENTS), np.int32))
    assert conflicts_in(same, ROWS) == []


def test_dated_statements_come_in_time_order_one_for_each_date(events):
    assert dated_rows(events, ROWS[::-1], without=[3]) == [1, 2]


def test_names_are_counted_by_documents(events):
    assert most_named(events, np.ones(len(events.keys.values), np.bool_), 1) == [("Heron Foods", 2)]


@pytest.mark.parametrize(
    ("number", "language", "shown"),
    [
        (5e9, "en", "5 billion EUR"),
        (1_234_000, "en", "1.234 million EUR"),
        (999, "en", "as written"),
        (3e9, "zh", "30 亿 EUR"),
        (25_000, "zh", "2.5 万 EUR"),
        (-2e6, "en", "-2 million EUR"),
    ],
)
def test_large_numbers_are_shown_with_a_word_for_their_scale(number, language, shown):
    assert readable_amount(Amount("x", "as written", number, "EUR", 0), language) == shown
