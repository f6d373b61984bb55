from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.dates import DAY, dates, with_year
from sag_retrieval.language.mentions import Mention

DATES = st.dates(min_value=date(1500, 1, 1), max_value=date(2099, 12, 31))
ENGLISH = "January February March April May June July August September October November December".split()


def values(text):
    return [mention.value for mention in dates(text)]


@given(DATES)
def test_a_day_is_found_in_every_writing_with_its_month_and_year(day):
    month = ENGLISH[day.month - 1]
    nested = [day.isoformat(), day.isoformat()[:7], day.isoformat()[:4]]
    writings = [
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.year}-{day.month:02}-{day.day:02}",
        f"{day.year}/{day.month}/{day.day}",
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"{month[:3]}. {day.day}, {day.year}",
    ]

    assert [values(f"于 {writing} 起") for writing in writings] == [nested] * len(writings)


@given(st.text(max_size=60))
def test_a_mention_is_iso_text_that_stands_in_the_text(text):
    for mention in dates(text):
        assert 0 <= mention.start < mention.end <= len(text)
        assert len(str(mention.value)) in (4, 5, 7, 10)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2001年5月成立", ["2001-05", "2001"]),
        ("二〇一九年三月五日", ["2019-03-05", "2019-03", "2019"]),
        ("二〇二三年十二月二十一日", ["2023-12-21", "2023-12", "2023"]),
        ("2023年度与2024财年", ["2023", "2024"]),
        ("May 2021 and Sept. 2020", ["2021-05", "2021", "2020-09", "2020"]),
        ("in March of 2022", ["2022-03", "2022"]),
        ("replaces version 2 of June 2023", ["2023-06", "2023"]),
        ("the 2nd of June 2023", ["2023-06-02", "2023-06", "2023"]),
        ("2018–2019", ["2018", "2019"]),
        ("FY2023 (1951)", ["2023", "1951"]),
        ("20260408_08:38", ["2026-04-08", "2026-04", "2026"]),
        ("the 24th August, 1988", ["1988-08-24", "1988-08", "1988"]),
    ],
)
def test_other_writings(text, expected):
    assert values(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1890 passages",
        "cost $2000",
        "2,019 people",
        "1990年代",
        "3年",
        "tel 555-2019-1234",
        "v2019b",
        "版本2019发布",
        "20 19",
        "2019.5 m",
        "15%",
    ],
)
def test_what_is_no_date(text):
    assert values(text) == []


def test_a_day_without_a_year_takes_the_last_one_named_shortly_before():
    assert values("2023年4月20日立案，5月3日逮捕，同年8月判决。")[3:] == [
        "2023-05-03",
        "2023-05",
        "2023",
        "2023-08",
        "2023",
    ]
    assert values("In 2019 the firm grew. On March 5 it moved.")[1:] == ["2019-03-05", "2019-03", "2019"]


def test_a_day_of_no_year_is_a_day():
    assert [(m.key_type, m.value) for m in dates("2月4日入院")] == [(DAY, "02-04")]
    assert values("2019年" + "无关的话。" * 100 + "2月4日入院") == ["2019", "02-04"]


def test_a_day_that_no_month_has_leaves_the_month():
    assert values("2023年2月30日") == ["2023-02", "2023"]


@pytest.mark.parametrize(
    "text",
    [
        "Tests follow ISO 14040-2006.",
        "按 GB 36246-2018 检测",
        "GB/T 19001—2016",
        "ISO 9001:2015",
        "pump KX 2210-1999",
        "IEEE 1588-2008",
        "See Clause 2015 of the code.",
        "GB/T 2099-2008",
    ],
)
def test_the_number_and_year_of_a_standard_a_part_or_a_clause_are_no_date(text):
    assert values(text) == []


@pytest.mark.parametrize("text", ["1998-2003", "FY 2019-2020", "from 2019–2021"])
def test_years_that_ascend_are_a_range(text):
    assert len(values(text)) == 2


@pytest.mark.parametrize(
    ("day", "context", "expected"),
    [
        ("10-28", "2025-09-01", "2025-10-28"),
        ("12-28", "2026-01-05", "2025-12-28"),
        ("01-05", "2025-12-28", "2026-01-05"),
        ("03-04", "2025", "2025-03-04"),
        ("02-29", "2025", "02-29"),
    ],
)
def test_a_day_without_a_year_takes_the_one_nearest_to_the_date_of_its_place(day, context, expected):
    assert next(found.value for found in with_year(Mention(0, 5, DAY, day), context)) == expected
