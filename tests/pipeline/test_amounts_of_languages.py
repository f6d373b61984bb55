"""Amounts and dates as German, French, Spanish, Japanese and Russian write them."""

import pytest

from sag_pipeline.steps.dates import dates
from sag_pipeline.steps.quantities import quantities


@pytest.mark.parametrize(
    ("language", "text", "number", "unit"),
    [
        ("de", "Der Umsatz beträgt 4 Mio. Euro.", 4e6, "EUR"),
        ("de", "Der Umsatz beträgt 2,5 Mrd. Euro.", 2.5e9, "EUR"),
        ("de", "Sie zahlt 1.234,56 € im Jahr.", 1234.56, "EUR"),
        ("fr", "soit 18,5 millions d'euros", 18.5e6, "EUR"),
        ("fr", "soit 2 milliards d’euros", 2e9, "EUR"),
        ("fr", "un prix de 1 234,56 € environ", 1234.56, "EUR"),
        ("es", "por 22,7 millones de euros", 22.7e6, "EUR"),
        ("es", "por 3 mil millones de euros", 3e9, "EUR"),
        ("ja", "売上は18億5千万円だった。", 1.85e9, "JPY"),
        ("zh", "公司支付3亿5千万元。", 3.5e8, "CNY"),
        ("ru", "получила 1,2 млрд рублей", 1.2e9, "RUB"),
        ("ru", "около 500 тыс. руб. в год", 5e5, "RUB"),
        ("ru", "за 23 150 рублей", 23_150, "RUB"),
    ],
)
def test_an_amount_is_read_with_the_scale_and_currency_of_its_language(language, text, number, unit):
    assert [(found.value, found.unit) for found in quantities(text, language)] == [(number, unit)]


def test_a_word_that_begins_like_a_currency_is_none():
    assert list(quantities("Куплено 5 рубашек.", "ru")) == []


@pytest.mark.parametrize(
    ("text", "day"),
    [("令和5年3月1日に届いた。", "2023-03-01"), ("昭和39年の話。", "1964"), ("平成元年1月8日。", "1989-01-08")],
)
def test_a_year_of_a_japanese_era_is_one_of_the_calendar(text, day):
    assert next(iter(dates(text, "ja"))).value == day
