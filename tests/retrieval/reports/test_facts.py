"""What a pile holds: who has which amount, names together, dates ahead, documents by folder, rows of tables."""

from dataclasses import replace

import numpy as np
import pytest

from sag_retrieval.reports.facts import (
    Pile,
    changes_said,
    column_sums,
    dates_ahead,
    folders_of,
    labelled_rows,
    names_together,
    points_of,
    readable_amount,
    stated_amounts,
    told_by_rows,
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


def test_the_largest_amounts_of_statements_come_first_and_each_currency_for_itself(events):
    units = [
        "USD" if unit and number == 3e6 else unit
        for unit, number in zip(events.keys.units, events.keys.numbers, strict=True)
    ]
    mixed = replace(events, keys=replace(events.keys, units=units))

    found = stated_amounts(mixed, 4)

    assert [each.amounts for each in found] == [((9e6, "EUR"),), ((5e6, "EUR"),), ((3e6, "USD"),)]


@pytest.mark.parametrize(
    ("rows", "sums"),
    [
        (
            ("Order: A; Amount: 100; Currency: EUR", "Order: B; Amount: 5; Currency: USD", "Order: C; Amount: 20; Currency: EUR"),
            ((120, "EUR"), (5, "USD")),
        ),
        (("合同: 甲; 金额（元）: 300", "合同: 乙; 金额（元）: 200", "合同: 合计; 金额（元）: 500"), None),
        (("品名: 甲; 单价（元）: 3", "品名: 乙; 单价（元）: 2", "品名: 丙; 单价（元）: 5"), None),
        (("Item: A; Amount: 1", "Item: B; Amount: 2", "Item: C; Amount: 3"), None),
    ],
)  # fmt: skip
def test_a_column_is_summed_by_currency_without_totals_prices_and_bare_numbers(events, rows, sums):
    chunk = np.zeros(len(events), np.int32)
    told = replace(said(events, *rows), chunk=chunk)
    found = column_sums(told, labelled_rows(told, ROWS))

    assert [each.amounts for each in found] == ([sums] if sums else [])


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

    named = [(told.keys.values[each.key], each.documents, each.together, each.role, each.row) for each in found]
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
    assert [cell.value for cell in found["action"][0].cells] == ["Paint the hull", "Ann", "open"]
    assert (found["action"][1].text, found["action"][1].due) == ("修船", "2026-05-01")


def listed(events, headed=()):
    rows = labelled_rows(events, ROWS)
    return points_of(events, dict(headed), rows, told_by_rows(rows))


def ahead(events, reference):
    due = [each for points in listed(events).values() for each in points if each.due]
    found = dates_ahead(events, reference, due, told_by_rows(labelled_rows(events, ROWS)))
    return [(each.due, each.row) for each in found]


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


def test_a_deadline_without_a_year_is_the_one_nearest_to_the_document_and_what_is_overdue_is_not_ahead(events):
    told = said(
        events,
        "Measure: Fit an alarm; Owner: Ann; Due: 30 April",
        "Action: Sign the lease; Due: 2026-05-02; Status: Overdue",
        "Action: Call the yard; Due: 2026-03-01; Status: open",
    )
    rows = labelled_rows(told, ROWS, {told.documents.document_ids[int(told.document[0])]: "2026-03-02"})
    points = points_of(told, {}, rows, told_by_rows(rows))["action"]

    assert [each.due for each in points] == ["2026-04-30", "2026-05-02", "2026-03-01"]
    assert [each.is_late("2026-04-17") for each in points] == [False, True, True]


def test_a_sentence_that_tells_again_of_a_row_is_not_ahead(events):
    rows = (
        "Action: Pay the fine of 26,000 yuan; Due: 2026-04-20; Status: done",
        "The office set a fine of 26,000 yuan, to be paid by 20 April 2026.",
        "The trial of the new tags starts at two hotels on 20 April 2026.",
    )
    told = said(events, *rows, keys=[(row, ("date", "2026-04-20")) for row in range(3)])

    assert ahead(told, "2026-04-17") == [("2026-04-20", 2)]


def test_a_deadline_is_a_date_ahead_while_its_row_is_open(events):
    day = ("date", "2026-05-01")
    rows = [
        f"Action: Call {name}; Due: 2026-05-01; Status: {status}"
        for name, status in (("Ann", "open"), ("Bo", "已完成"))
    ]
    told = said(events, *rows, "Wine: Brut; Ordered on: 2026-05-01", keys=[(row, day) for row in range(3)])

    assert ahead(told, "2026-04-01") == [("2026-05-01", 0)]


def test_sentences_say_themselves_what_they_take_back_and_who_takes_an_office(events):
    told = said(
        events,
        "The harvest of 2025 was 298 tonnes, not 312 tonnes as the report says.",
        "2025年实际灌装17.4万瓶，不是18.6万瓶，多出的是重复登记的半瓶装。",
        "Ida Voss will become head of the yard on 1 May 2021.",
        "Ida Voss became an apprentice of the old yard in 1987.",
        "The minimum of the contract goes down from 9,500 to 8,200 pieces a week.",
        keys=[(2, ("person", "Ida Voss")), (3, ("person", "Ida Voss"))],
    )
    told = replace(told, dates=["2025", "2025", "2021-05-01", "1987", "2021"])

    assert changes_said(told, Pile(), "2021-06") == [(0, "corrects"), (1, "corrects"), (4, "updates"), (2, "appoints")]


@pytest.mark.parametrize(
    ("reference", "dates"),
    [("2021", ["2022-01", "2023"]), ("2022-01-15", ["2023"]), ("2022", ["2023"]), ("2024", [])],
)
def test_dates_are_ahead_as_far_as_both_are_exact(events, reference, dates):
    values = ["2021-05-01", "2022-01", "2023", "2021", "2020"]
    keys = replace(events.keys, types=["date"] * 5, values=values, is_text=np.ones(5, np.bool_), numbers=[], units=[])
    links = replace(events.links, event=ROWS, key=ROWS)

    assert [date for date, _ in ahead(replace(events, keys=keys, links=links), reference)] == dates


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


@pytest.mark.parametrize(
    ("number", "language", "shown"),
    [
        (5e9, "en", "5 billion EUR"),
        (1_234_000, "en", "1.234 million EUR"),
        (999, "en", "999 EUR"),
        (3e9, "zh", "3,000,000,000 EUR"),
        (-2e6, "en", "-2 million EUR"),
    ],
)
def test_large_numbers_are_shown_with_a_word_for_their_scale(number, language, shown):
    assert readable_amount(number, "EUR", Messages(language)) == shown


def test_chinese_amounts_of_chinese_money_are_scaled_by_ten_thousand():
    assert readable_amount(25_000, "CNY", Messages("zh")) == "2.5 万 CNY"
