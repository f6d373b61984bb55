"""How passages and keys are shown: words without Markdown, units as people say them, no key that says nothing new."""

import pytest

from sag_retrieval.notebook import key_text, shown_keys, snippet
from sag_retrieval.search.result import HitKey


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Recall\n\nThe leak.", "The leak."),
        ("# Recall of K7\n\n## Cause\n\nThe leak.", "Recall of K7: Cause: The leak."),
        ("## 关于奖项\n\n2025年5月，他获奖。", "关于奖项：2025年5月，他获奖。"),
        ("*Northbridge*, **October** __3__ and _4_, `x = 1`", "Northbridge, October 3 and 4, x = 1"),
        ("[Marlow](https://e.org/a) ![map](m.png)", "Marlow map"),
        ("| Part | Firm |\n|---|---|\n| Ring | Marlow |\n", "Part · Firm; Ring · Marlow"),
        ("| 零件 | 公司 |\n|---|---|\n| 密封圈 | 马洛 |\n", "零件 · 公司；密封圈 · 马洛"),
        ("- first\n- second\n\n1. third", "first; second; 1. third"),
        ("> quoted\n> twice", "quoted twice"),
        ("```python\nprint(2 * 3)\n```", "print(2 * 3)"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("", ""),
    ],
)
def test_a_snippet_is_words_without_markdown(text, shown):
    assert snippet(text, "Recall") == shown


@pytest.mark.parametrize("mark", ["*", "_", "`", "[", "**a", "[a](", "|"])
def test_a_snippet_of_marks_alone_ends_and_is_no_longer_than_the_text(mark):
    assert len(snippet(mark * 50_000)) <= 50_000 * len(mark)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (310.0, "person", "310 people"),
        (1.0, "person", "1 person"),
        (36.0, "month", "36 months"),
        (2.0, "foot", "2 feet"),
        (2.0, "year old", "2 years old"),
        (10.0, "%", "10%"),
        (3.0, "×", "3×"),
        (5.5, "kWh", "5.5 kWh"),
        (120.0, "km", "120 km"),
        (15000.0, "EUR", "15,000 EUR"),
        (12.0, "employees", "12 employees"),
        (4.0, "unit/h", "4 units/h"),
        (12.0, "亩", "12 亩"),
        ("Ada", None, "Ada"),
    ],
)
def test_a_number_is_said_with_its_unit(value, unit, shown):
    assert key_text(value, unit) == shown


def keys(*pairs):
    return [HitKey(f"k{n}", kind, value) for n, (kind, value) in enumerate(pairs)]


def test_keys_leave_out_the_own_title_and_the_year_and_month_of_a_date():
    listed = keys(
        ("title", "顾明远:把海流写进方程"),
        ("date", "2019"),
        ("date", "2019-06"),
        ("date", "2019-06-21"),
        ("date", "2020-05"),
        ("date", "2021"),
        ("topic", "2019"),
        ("title", "Another document"),
    )

    shown = [key.value for key in shown_keys(listed, "顾明远：把海流写进方程")]

    assert shown == ["2019-06-21", "2020-05", "2021", "2019", "Another document"]


def test_a_flag_is_said_by_the_name_of_its_type():
    assert [key_text(value, None, "is_forecast") for value in (True, False)] == ["is forecast: yes", "is forecast: no"]
