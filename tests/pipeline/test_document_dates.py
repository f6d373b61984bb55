import json

import pytest

from sag_pipeline.extract.chunks import split_chunks
from sag_pipeline.extract.document_dates import document_date, file_name_dates, with_context_dates
from sag_pipeline.extract.rules.events import offline_events
from sag_pipeline.extract.rules.keys import FORECAST, offline_keys
from sag_pipeline.sources.documents import parse_document
from sag_pipeline.sources.listing import list_source
from sag_retrieval.core.records import Document, Event, Section
from sag_retrieval.language.dates import dates


def document(text="", name="notes.txt", title="Notes", language="en", metadata=None):
    return Document(name, "s", title, text, language, json.dumps(metadata or {}))


def dated(text, **given):
    own = document(text, **given)
    chunks = split_chunks(own, [Section("s1", own.document_id, 0, "", "", 0, len(text))])
    events = [event for found in offline_events(own, chunks) for event in found]
    return own, with_context_dates(own, events)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"metadata": {"Date": "Tue, 17 Jun 2025 09:14:00 +0000"}}, ("2025-06-17", "metadata")),
        ({"metadata": {"sent": "2025-06-17T09:14:00Z"}}, ("2025-06-17", "metadata")),
        ({"metadata": {"日期": "2025年6月17日"}}, ("2025-06-17", "metadata")),
        ({"text": "Date: 3 March 2024\n\nDear all,"}, ("2024-03-03", "letter head")),
        ({"text": "Kiel, den 3. März 2024\n\nLiebe alle,", "language": "de"}, ("2024-03-03", "letter head")),
        ({"text": "公告\n日期：2024年3月3日\n\n各位：", "language": "zh"}, ("2024-03-03", "letter head")),
        ({"text": "# Board update\n\nOperations · 12 March 2025\n\nSales grew."}, ("2025-03-12", "letter head")),
        ({"text": "# 季度汇报\n\n市场部 2025年3月12日\n\n销售增长。", "language": "zh"}, ("2025-03-12", "letter head")),
        ({"text": "Date: 3 March 2024\nReceived: 5 April 2024\n\nDear all,"}, ("2024-03-03", "letter head")),
        ({"text": "3 March 2024\n\nDear all,\n\n5 April 2024\n\nDear Ann,"}, ("2024-03-03", "letter head")),
        (
            {"text": "# The estate\n\n*Updated September 2025, for new staff.*\n\nIt is old."},
            ("2025-09", "letter head"),
        ),
        ({"text": "# 简介\n\n更新于2025年9月，供新员工阅读。", "language": "zh"}, ("2025-09", "letter head")),
        ({"text": "# Policy\n\nVersion 3, valid from 1 May 2026. Owner: Ann."}, ("2026-05-01", "effective day")),
        ({"text": "租赁合同\n\n本合同自2026年5月1日起生效。", "language": "zh"}, ("2026-05-01", "effective day")),
        ({"text": "# How we did\n\nPrepared by Ann Lee, 17 April 2026.\n"}, ("2026-04-17", "letter head")),
        ({"text": "# Minutes\n\nHeld on 11 March 2025 in the hall, 2 to 4.\n"}, ("2025-03-11", "letter head")),
        ({"text": "# 工作报告\n\n郑立川执笔，2025年7月18日。\n", "language": "zh"}, ("2025-07-18", "letter head")),
        ({"text": "季度情况\n\n整理：邹雨薇，2026年4月9日\n", "language": "zh"}, ("2026-04-09", "letter head")),
        ({"title": "Minutes of 5 May 2023"}, ("2023-05-05", "heading")),
        ({"name": "minutes/2024-07-05 notes.docx"}, ("2024-07-05", "file name")),
        ({"name": "2024-03_VX1.pdf"}, ("2024-03", "file name")),
        ({"name": "prices_2021.csv"}, ("2021", "file name")),
        ({"name": "prices_2021.csv", "title": "Prices of May 2021"}, ("2021-05", "heading")),
    ],
)
def test_a_document_is_dated_by_the_most_exact_of_its_places(given, expected):
    assert document_date(document(**given)) == expected


@pytest.mark.parametrize(
    "given",
    [
        {"text": "The pump failed in May 2021 after a long day of work in the yard."},
        {"title": "Budget 2023 against 2024"},
        {"text": "# Permit\n\nValid until 31 December 2025\n\nIt covers the yard."},
        {"text": "# Standards\n\nISO 14040-2006\n\nIt covers assessments."},
        {"name": "contract HX-2021-108.docx"},
        {"metadata": {"author": "2021-05-05"}},
        {},
    ],
)
def test_a_date_of_something_else_dates_no_document(given):
    assert document_date(document(**given)) is None


def test_digits_of_a_file_name_are_read_as_the_date_that_the_text_has():
    assert file_name_dates("IR_110824.txt", "On 11 August 2024 it stopped.") == ["2024-08-11"]
    assert file_name_dates("IR_251108.txt") == ["2025-11-08"]
    assert file_name_dates("Minutes_02032024_v1.docx") == ["2024-03-02"]
    assert file_name_dates("board-minutes-2025-03-11.md") == file_name_dates("纪要-2025-03-11.md") == ["2025-03-11"]


def test_events_inherit_the_date_of_the_heading_above_them_until_the_next_one():
    text = "# Log\n\nIt began quietly here.\n\n## 3 March 2024\n\nThe pump failed in the night.\n\n## Later\n\nNobody came to mend it."

    _, events = dated(text, name="2023-12-31 log.md")

    assert [(event.context_date, event.context_source) for event in events] == [
        ("2023-12-31", "file name"),
        ("2024-03-03", "heading"),
        ("2023-12-31", "file name"),
    ]


def test_lines_of_a_chat_inherit_the_stamp_above_them():
    text = "[2025-09-24 08:19] Ann: The audit trail was moved to another place.\nIt ends in an error since then, sorry for that.\n"

    _, events = dated(text)

    assert {(event.context_date, event.context_source) for event in events} == {("2025-09-24", "stamp")}


def test_an_event_of_unknown_place_inherits_the_date_of_its_document():
    own = document("Something.", name="2024-07-05.txt")
    event = Event("e", own.document_id, "c", 0, "A statement of the model.", "Notes")

    assert with_context_dates(own, [event])[0].context_date == "2024-07-05"


def test_events_without_any_date_stay_as_they_are():
    _, events = dated("The pump failed in the night and nobody came.")

    assert [(event.context_date, event.context_source) for event in events] == [(None, None)]


@pytest.mark.parametrize(
    ("text", "is_plan"),
    [
        ("The yard is painted on 20 March 2024.", True),
        ("The yard was painted on 20 February 2024.", False),
        ("The yard shall be painted soon.", True),
        ("The yard was painted.", False),
        ("The delivery is planned for autumn.", True),
    ],
)
def test_a_plan_is_told_apart_from_what_happened(text, is_plan):
    own, events = dated(f"Date: 3 March 2024\n\nDear all,\n\n{text}", title="Letter")

    keys = offline_keys(own, events)

    last = events[-1].event_id
    assert any(link.event_id == last and link.key.key_type == FORECAST for link in keys) is is_plan


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "am 3. März 2024", "2024-03-03"),
        ("de", "am 12.03.2024", "2024-03-12"),
        ("fr", "le 1er août 2023", "2023-08-01"),
        ("es", "el 5 de mayo de 2024", "2024-05-05"),
        ("ru", "5 мая 2024 г.", "2024-05-05"),
        ("ko", "2024년 3월 5일", "2024-03-05"),
        ("th", "5 มีนาคม 2567", "2024-03-05"),
        ("ar", "5 مارس 2024", "2024-03-05"),
        ("hi", "5 मार्च 2024", "2024-03-05"),
        ("en", "15-Aug-22", "2022-08-15"),
        ("en", "on 14/03/2024", "2024-03-14"),
        ("fr", "le 3/4/2021", "2021-04-03"),
        ("en", "between 14/03/2024 and 02/03/2024", "2024-03-14"),
    ],
)
def test_dates_of_other_languages_are_read(language, text, expected):
    assert next(dates(text, language)).value == expected


def test_a_date_with_slashes_that_may_be_read_in_two_ways_keeps_its_year_alone():
    assert [found.value for found in dates("on 3/4/2021")] == ["2021"]


def test_other_dates_of_a_text_show_how_slashes_are_read():
    assert [found.value for found in dates("14/03/2024, 02/03/2024")][3] == "2024-03-02"
    assert [found.value for found in dates("03/14/2024, 03/02/2024")][3] == "2024-03-02"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        (
            "# Notice\n\nPort office, 1 September 2025\n\nThe hall meets ISO 14040-2006 and opens on 28 October.",
            "en",
            "2025-10-28",
        ),
        ("# 通知\n\n港务处 2025年9月1日\n\n场馆符合GB 36246-2018标准，将于10月28日开放。", "zh", "2025-10-28"),
    ],
)
def test_the_day_that_a_sentence_names_is_its_date_beside_the_number_of_a_standard(text, language, expected):
    own, events = dated(text, language=language)

    keys = [link.key for link in offline_keys(own, events) if link.event_id == events[-1].event_id]

    found = {str(key.value_string) for key in keys if key.key_type == "date"}
    assert expected in found
    assert found & {"2006", "2018"} == set()


def test_plain_fields_of_a_record_date_it(source, home):
    line = {"text": "The pump failed.", "time": "2025-03-10 08:38", "from": "Ann", "list": [1]}

    (found,) = [parse_document(raw) for raw in list_source(source({"chat.jsonl": json.dumps(line)}))]

    assert json.loads(found.metadata) == {"time": "2025-03-10 08:38", "from": "Ann"}
    assert document_date(found) == ("2025-03-10", "metadata")


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "en",
            "Date: 5 April 2019\n\nThe lift is repaired.\n\nOn 27 March 2019, Iris Castell wrote:\n\nThe lift is broken.",
            ["2019-04-05", "2019-03-27"],
        ),
        (
            "zh",
            "日期：2019年4月5日\n\n电梯已经修好了。\n\n潘可欣于2019年3月27日写道：\n\n电梯坏了，请大家走楼梯。",
            ["2019-04-05", "2019-03-27"],
        ),
    ],
)
def test_what_a_message_repeats_of_an_earlier_one_has_the_day_of_that_one(language, text, expected):
    _, events = dated(text, language=language)

    said = [event for event in events if "lift" in event.content or "电梯" in event.content]
    assert [event.context_date for event in said] == expected
    assert said[-1].context_source == "quotation"
