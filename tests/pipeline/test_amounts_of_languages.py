"""Amounts and dates as German, French, Spanish, Japanese and Russian write them."""

import pytest

from sag_retrieval.language.dates import dates
from sag_retrieval.language.quantities import quantities


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


@pytest.mark.parametrize(
    ("language", "text", "number", "unit"),
    [
        ("de", "Der Preis stieg um 1,5 Mio. €.", 1.5e6, "EUR"),
        ("de", "Die Steuer steigt um 14 Prozent.", 14, "%"),
        ("de", "ein Wrack in 28 Metern Tiefe", 28, "m"),
        ("de", "nach 3,5 Stunden", 3.5, "hour"),
        ("fr", "une hausse de 14 pour cent", 14, "%"),
        ("fr", "un toit de 8,5 mètres", 8.5, "m"),
        ("fr", "pour 1,5 Md€", 1.5e9, "EUR"),
        ("es", "un alza del 9 por ciento", 9, "%"),
        ("es", "a 30,5 kilómetros de allí", 30.5, "km"),
        ("es", "paga 1.234,56 €", 1234.56, "EUR"),
        ("ja", "売上は7,400万円だった。", 7.4e7, "JPY"),
        ("ru", "на 3,2 млн руб. больше", 3.2e6, "RUB"),
        ("ru", "42 процента жителей", 42, "%"),
        ("ru", "на глубине 35 метров", 35, "m"),
        ("ru", "через 12,5 км дорога кончается", 12.5, "km"),
        ("ru", "хранится 6 недель", 6, "week"),
    ],
)
def test_an_amount_is_read_with_the_names_of_percent_and_units_in_its_language(language, text, number, unit):
    assert [(found.value, found.unit) for found in quantities(text, language)] == [(number, unit)]


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        ("de", "am 12. März 2024", "2024-03-12"),
        ("de", "am 3.4.2023", "2023-04-03"),
        ("de", "den 1. Jänner 2020", "2020-01-01"),
        ("de", "im Januar 2020", "2020-01"),
        ("fr", "le 12 mars 2024", "2024-03-12"),
        ("fr", "le 1er août 2022", "2022-08-01"),
        ("es", "el 12 de marzo de 2024", "2024-03-12"),
        ("es", "en septiembre de 2021", "2021-09"),
        ("ja", "2024年3月12日に届いた。", "2024-03-12"),
        ("ru", "12 марта 2024 г. подписан", "2024-03-12"),
        ("ru", "в марте 2024 года", "2024-03"),
        ("ru", "в мае 2019 г.", "2019-05"),
        ("ru", "03.12.2024", "2024-12-03"),
    ],
)
def test_a_date_is_read_as_its_language_writes_it(language, text, day):
    assert next(iter(dates(text, language))).value == day


@pytest.mark.parametrize("text", ["5 metro stations", "3 mal", "He paid 5 MD fees.", "5 мая", "35 мест"])
def test_words_that_begin_like_a_unit_name_none(text):
    assert list(quantities(text, "en")) == []


def test_the_name_of_a_month_alone_dates_nothing():
    assert list(dates("Это было в марте.", "ru")) == []
