"""What a pile holds: amounts as written, names together, dates ahead, documents by folder, rows of tables."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.reports.facts import (
    Pile,
    both_values,
    dates_ahead,
    folders_of,
    listed_rows,
    names_together,
    older_versions,
    points_of,
    stated_amounts,
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


def said(events, *told, keys=()):
    """The events with other texts, and with keys as pairs of a row and `(type, value)`."""
    rows = [row for row, _ in keys]
    named = list(dict.fromkeys(key for _, key in keys))
    return replace(
        events,
        contents=[*told, *events.contents[len(told) :]],
        keys=replace(
            events.keys,
            types=[kind for kind, _ in named],
            values=[value for _, value in named],
            is_text=np.ones(len(named), np.bool_),
            numbers=[None] * len(named),
            units=[None] * len(named),
        ),
        links=replace(
            events.links,
            event=np.array(rows, np.int32),
            key=np.array([named.index(key) for _, key in keys], np.int32),
        ),
    )


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (("Order: A; Amount: 100", "Order: B; Amount: 25,000,000; Fee: 3"), ("Amount: 25,000,000", "Fee: 3")),
        (("合同: 甲; 金额（元）: 300", "合同: 合计; 金额（元）: 50000000"), ("金额（元）: 50000000",)),
        (("Wine: Brut; Bottles: 3",), ("9 million euros",)),
    ],
)
def test_amounts_are_those_of_one_row_or_sentence_of_a_document_as_they_are_written(events, told, shown):
    sole = replace(events, contents=[*told, *events.contents[len(told) :]], chunk=np.zeros(len(events), np.int32))

    assert [amounts for _, amounts in stated_amounts(sole, listed_rows(sole, ROWS))] == [shown]


def test_keys_of_one_spelling_are_one_name_with_the_documents_of_all(events):
    keys = [
        (0, ("person", "Ida Voss")),
        (2, ("place", "Ida Voss")),
        (0, ("person", "Ann Lee")),
        (2, ("person", "Ann Lee")),
    ]
    keys += [(3, ("person", "Ida Voss")), (3, ("person", "Ann Lee"))]
    told = said(events, "Ann Lee (skipper) met Ida Voss in 2021 and sold her 3 boats.", keys=sorted(keys))

    found = names_together(told, np.ones(len(told.keys.values), np.bool_), 8)

    named = [(each.name, each.documents, each.together, each.role, each.row) for each in found]
    assert ("Ann Lee", 2, (("Ida Voss", 3),), "skipper", 0) in named
    assert [name for name, *_ in named].count("Ida Voss") == 1


def test_points_are_listed_by_column_by_owner_and_deadline_or_by_heading_and_not_where_they_are_done(events):
    told = said(
        events,
        "No.: 1; Action: Call the yard; Owner: Ann; Status: done",
        "No.: 2; Action: Paint the hull; Owner: Ann; Status: open",
        "事项: 修船; 负责人: 李宁; 截止日期: 2026-05-01; 状态: 未开始",
        "Order: E-1; Amount: 12; Status: open",
        "Late frost may hit the vines.",
    )

    found = listed(told, {"e4": "risk"})

    assert {kind: [each.row for each in points] for kind, points in found.items()} == {"risk": [4], "action": [1, 2]}
    assert [cell.value for cell in found["action"][0].telling] == ["Paint the hull", "Ann", "open"]
    assert (found["action"][1].telling[0].value, found["action"][1].due) == ("修船", "2026-05-01")


def listed(events, headed=()):
    return points_of(events, dict(headed), listed_rows(events, ROWS))


def test_a_measure_without_anybody_who_does_it_is_no_action_and_a_sentence_may_tell_of_a_decision(events):
    told = said(
        events,
        "Measure: Revenue; Q1 2026: £1,264,000; Plan: £1,250,000",
        "The board decided to close the yard of Oban in May 2026.",
        "会议决定买一台新机，价格28.5万元，预付三成。",
        "昨天收到处罚决定书，原件放在公共盘里。",
        "It has not been decided whether the yard of Oban closes.",
    )

    assert {kind: [each.row for each in points] for kind, points in listed(told).items()} == {"decision": [1, 2]}


def test_a_deadline_has_a_day_where_its_cell_says_the_year_and_a_status_is_one_that_is_written(events):
    told = said(
        events,
        "Measure: Fit an alarm; Owner: Ann; Due: 30 April",
        "Action: Sign the lease; Due: 2 May 2026; Status: Overdue",
        "Loan: Shawl; Due: 2026-03-01; Status: Returned",
    )

    found = listed_rows(told, ROWS)

    assert [(each.due, each.has_status, each.is_done) for each in found] == [
        ("", False, False),
        ("2026-05-02", True, False),
        ("2026-03-01", True, True),
    ]


def test_sentences_with_an_old_and_a_new_value_are_found(events):
    told = said(
        events,
        "The harvest of 2025 was 298 tonnes, not 312 tonnes as the report says.",
        "2025年实际灌装17.4万瓶，不是18.6万瓶，多出的是重复登记的半瓶装。",
        "Ida Voss will become head of the yard on 1 May 2021.",
        "The minimum of the contract goes down from 9,500 to 8,200 pieces a week.",
    )

    assert both_values(told) == [0, 1, 3]


@pytest.mark.parametrize(
    ("reference", "dates"),
    [("2021", ["2022-01", "2023"]), ("2022-01-15", ["2023"]), ("2022", ["2023"]), ("2024", [])],
)
def test_dates_are_ahead_as_far_as_both_are_exact(events, reference, dates):
    values = ["2021-05-01", "2022-01", "2023", "2021", "2020"]
    keys = replace(events.keys, types=["date"] * 5, values=values, is_text=np.ones(5, np.bool_), numbers=[], units=[])
    links = replace(events.links, event=ROWS, key=ROWS)
    told = [f"The yard of Oban sold 40 boats in the year {value[:4]}." for value in values]
    dated = replace(events, keys=keys, links=links, contents=told)

    assert sorted(each.due for each in dates_ahead(dated, reference)) == dates
    assert dates_ahead(replace(dated, contents=["The yard sold 40 boats in May."] * 5), reference) == []


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

    found = listed_rows(replace(events, contents=told), ROWS)

    assert [(each.row, len(each.cells)) for each in found] == [(0, 3), (1, 1), (3, 2)]


@pytest.mark.parametrize(("changed", "is_version"), [(2, True), (1, False)])
def test_a_document_is_outdated_by_a_later_one_that_says_the_same_with_other_values(changed, is_version):
    old = "The supplier delivers 120 tonnes a year. Payment is due within 30 days. The agreement ends in 2027."
    texts = {"v1": old, "v2": old.replace("120", "96").replace("30", "45"), "minutes": "Saturday shifts end in May."}
    one = {"kind": "updates", "earlier_document_id": "v1", "later_document_id": "v2"}
    other = one | {"later_document_id": "minutes"}

    assert older_versions([one] * changed + [other] * 3, texts) == ({"v1"} if is_version else set())
    assert older_versions([one | {"kind": "contradicts"}] * 2, texts) == set()
