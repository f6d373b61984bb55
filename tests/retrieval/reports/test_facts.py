"""What a pile holds: who has which amount, names together, dates ahead, documents by folder, rows of tables."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.reports.facts import (
    Amount,
    Pile,
    amounts_of,
    dates_ahead,
    folders_of,
    labelled_rows,
    largest_amounts,
    most_named,
    names_together,
    readable_amount,
)
from sag_retrieval.reports.wording import Messages

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
    assert [(each.who, each.number) for each in largest_amounts(events, 3)] == [
        ("Kestrel Yard", 9e6),
        ("Heron Foods", 5e6),
        ("Oban Metals", 2e6),
    ]


def test_an_amount_of_a_sentence_that_begins_otherwise_is_nobodys(events):
    told = [f"The bank of {text}" for text in events.contents]

    assert amounts_of(replace(events, contents=told), ROWS) == []


def test_names_are_counted_by_documents(events):
    everything = np.ones(len(events.keys.values), np.bool_)

    assert [(events.keys.values[key], count) for key, count in most_named(events, everything, 1)] == [
        ("Heron Foods", 2)
    ]


def test_a_name_stands_with_those_of_its_statements_and_a_statement_that_begins_with_it(events):
    text = "Heron Foods and Kestrel Yard built 2 ships in 2021."
    both = np.array([[row, key] for row in ROWS for key in (0, 1)], np.int32)
    links = replace(events.links, event=both[:, 0], key=both[:, 1])

    found = names_together(
        replace(events, contents=[text] * len(ROWS), links=links), np.ones(len(events.keys.values), np.bool_), 2
    )

    assert [(events.keys.values[each.key], each.documents, each.together) for each in found] == [
        ("Heron Foods", 2, (("Kestrel Yard", 5),)),
        ("Kestrel Yard", 2, (("Heron Foods", 5),)),
    ]
    assert [each.row >= 0 for each in found] == [True, False]  # no statement begins with the other


@pytest.mark.parametrize(
    ("reference", "ahead"),
    [("2021", ["2022-01", "2023"]), ("2022-01-15", ["2023"]), ("2022", ["2023"]), ("2024", [])],
)
def test_dates_are_ahead_as_far_as_both_are_exact(events, reference, ahead):
    values = ["2021-05-01", "2022-01", "2023", "2021", "2020"]
    keys = replace(events.keys, types=["date"] * 5, values=values, is_text=np.ones(5, np.bool_), numbers=[], units=[])
    links = replace(events.links, event=ROWS, key=ROWS)

    assert [date for date, _ in dates_ahead(replace(events, keys=keys, links=links), reference)] == ahead


def test_documents_lie_in_folders_the_newest_first_and_entries_of_a_file_are_one(towns):
    base = towns(months=8)
    ids = ["a/old.pdf", "a/new.docx", "mails.json#1", "mails.json#2", "log-1", "log-2", "b/c/x.txt", "y.txt"]
    named = replace(base, documents=replace(base.documents, document_ids=ids))

    found = folders_of(named, Pile(dates={"a/new.docx": "2024-05", "a/old.pdf": "2019"}))

    assert {folder: [each.name for each in entries] for folder, entries in found.items()} == {
        "": ["log-1", "log-2", "mails.json", "y.txt"],
        "a": ["new.docx", "old.pdf"],
        "b/c": ["x.txt"],
    }
    assert [(each.documents, each.kind) for each in found[""]] == [(1, ""), (1, ""), (2, "json"), (1, "txt")]
    assert sum(len(each.rows) for entries in found.values() for each in entries) == len(base)


def test_rows_with_a_named_column_are_found_and_sentences_with_a_colon_are_not(events):
    told = [
        "Item: winch; Risk: late parts; Owner: Ida Voss",
        "Action: call the yard by 5 May.",
        "The board gave one reason for its decision of May: the price rose.",
        "Colour: red; Size: 4",
        "Nothing of the kind.",
    ]

    found = labelled_rows(replace(events, contents=told), ROWS)

    assert [(each.row, len(each.cells)) for each in found] == [(0, 3), (1, 1), (3, 2)]
    assert found[0].rank < found[2].rank


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
    assert readable_amount(Amount("x", "as written", number, "EUR", 0), Messages(language)) == shown
