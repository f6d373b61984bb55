import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.quantities import MONEY, PERCENTAGE, QUANTITY, quantities


def amounts(text):
    return [(mention.key_type, mention.value, mention.unit) for mention in quantities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("总价值1.2亿元", (MONEY, 120_000_000, "CNY")),
        ("人民币479,739百万元", (MONEY, 479_739_000_000, "CNY")),
        ("68,362百万美元", (MONEY, 68_362_000_000, "USD")),
        ("$3.5 million", (MONEY, 3_500_000, "USD")),
        ("US$ 20bn", (MONEY, 20_000_000_000, "USD")),
        ("€40 million", (MONEY, 40_000_000, "EUR")),
        ("90 million yuan", (MONEY, 90_000_000, "CNY")),
        ("RMB 5 million", (MONEY, 5_000_000, "CNY")),
        ("同比增长5.5%", (PERCENTAGE, 5.5, "%")),
        ("12 percent", (PERCENTAGE, 12, "%")),
        ("2.5个百分点", (PERCENTAGE, 2.5, "%")),
        ("1,200 employees", (QUANTITY, 1200, "person")),
        ("员工300多名", (QUANTITY, 300, "person")),
        ("30公里", (QUANTITY, 30, "km")),
        ("30 kilometres", (QUANTITY, 30, "km")),
        ("5-year plan", (QUANTITY, 5, "year")),
        ("1.9万兆瓦时", (QUANTITY, 19_000, "MWh")),
        ("每秒42米", (QUANTITY, 42, "m/s")),
        ("流速2.1米/秒", (QUANTITY, 2.1, "m/s")),
        ("25岁", (QUANTITY, 25, "year old")),
    ],
)
def test_an_amount_with_its_unit(text, expected):
    assert amounts(text) == [expected]


@pytest.mark.parametrize(
    ("text", "language", "number"),
    [
        ("Bitte zahlen Sie 29.063 USD.", "de", 29_063),
        ("Das kostet 3.982,50 EUR.", "de", 3_982.5),
        ("Das kostet 1.234.567,8 EUR.", "de", 1_234_567.8),
        ("Das kostet 351.67 EUR.", "de", 351.67),
        ("Das kostet 3,982.50 EUR.", "de", 3_982.5),
        ("Es sind 12,5 %.", "de", 12.5),
        ("Le prix est de 12 300 €.", "fr", 12_300),
        ("Le prix est de 1\u202f234,56 €.", "fr", 1_234.56),
        ("En 2024 300 EUR sont dus.", "fr", 300),
        ("El precio es 1.500 EUR.", "es", 1_500),
        ("Il prezzo è di 1.500,00 EUR.", "it", 1_500),
        ("Цена 12 300 EUR.", "ru", 12_300),
        ("It costs 29.063 USD.", "en", 29.063),
        ("价格为3,500元。", "zh", 3_500),
        ("It costs 29.063 USD.", "no language", 29.063),
    ],
)
def test_a_number_is_read_as_its_language_writes_it(text, language, number):
    assert [mention.value for mention in quantities(text, language)] == [number]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10–12 MW", [(10, "MW"), (12, "MW")]),
        ("装机10～12兆瓦", [(10, "MW"), (12, "MW")]),
        ("预计10 至 12 万元", [(100_000, "CNY"), (120_000, "CNY")]),
        ("between 3 and 5 per cent", [(3, "%"), (5, "%")]),
        ("between 900 m and 2 km", [(0.9, "km"), (2, "km")]),
        ("10 km and 12 km", [(10, "km"), (12, "km")]),
        ("$3-5 million", [(3_000_000, "USD"), (5_000_000, "USD")]),
        ("$10-$12 million", [(10_000_000, "USD"), (12_000_000, "USD")]),
        ("从 3% 升至 5%", [(3, "%"), (5, "%")]),
        ("1 to 2.5 percentage points", [(1, "%"), (2.5, "%")]),
        ("-5 to -2 °C", [(-5, "°C"), (-2, "°C")]),
        ("-3.2 million EUR", [(-3_200_000, "EUR")]),
        ("$-3.2 million", [(-3_200_000, "USD")]),
        ("minus 4 °C", [(-4, "°C")]),
        ("零下4摄氏度", [(-4, "°C")]),
        ("负 3 亿元", [(-300_000_000, "CNY")]),
        ("负债 3 亿元", [(300_000_000, "CNY")]),
        ("亏损 3 亿元", [(300_000_000, "CNY")]),
        ("下降 3.2%", [(3.2, "%")]),
        ("approximately 340 employees", [(340, "person")]),
        ("约340人", [(340, "person")]),
        ("- 5 % of staff", [(5, "%")]),
        ("2021-05-03 12 kg", [(12, "kg")]),
        ("FA-2021-176 kg", []),
        ("K7-2204 kg", []),
        ("上海-5公里", []),
        ("3-2 %", []),
    ],
)
def test_ranges_and_what_is_below_zero(text, expected):
    assert [(value, unit) for _, value, unit in amounts(text)] == expected


@pytest.mark.parametrize("text", ["42", "2019年", "K7-2204", "第3章", "v2.5.1", "3 of them"])
def test_what_is_no_amount(text):
    assert amounts(text) == []


@given(st.integers(0, 999_999), st.sampled_from(["元", "美元", "%", " km", "吨"]))
def test_the_number_is_kept_exactly(number, unit):
    ((_, value, _),) = amounts(f"共 {number:,}{unit}")

    assert value == number


@given(st.text(max_size=60))
def test_a_mention_lies_in_the_text_and_has_a_unit(text):
    for mention in quantities(text):
        assert 0 <= mention.start < mention.end <= len(text)
        assert mention.unit


UNITS = {
    "en": ("%", " per cent", " EUR", " million USD", " MW", " km"),
    "zh": ("%", "元", "亿元", "万美元", "兆瓦", "公里"),
}
FRAMES = {
    "en": (("", "–", ""), ("", " to ", ""), ("between ", " and ", "")),
    "zh": (("", "–", ""), ("", "至", ""), ("介于", "和", "之间")),
}


@st.composite
def ranges(draw):
    language = draw(st.sampled_from(sorted(UNITS)))
    low = draw(st.integers(1, 9_000))
    high = draw(st.integers(low + 1, 9_999))
    before, mark, after = draw(st.sampled_from(FRAMES[language]))
    unit = draw(st.sampled_from(UNITS[language]))
    return language, f"{before}{low:,}{mark}{high:,}{unit}{after}"


@given(ranges())
def test_a_range_in_a_sentence_is_read_as_a_range_by_itself_is(written):
    language, amount = written
    sentence = f"It was {amount} then." if language == "en" else f"当时为{amount}。"

    found = list(quantities(sentence, language))

    assert tuple(mention.value for mention in found) == read_amount(amount, language).numbers
    assert len(found) == 2


@given(st.integers(1, 99_999), st.sampled_from(sorted(UNITS)), st.data())
def test_a_minus_makes_money_and_shares_negative_and_nothing_else(number, language, data):
    unit = data.draw(st.sampled_from(UNITS[language][:4]))
    minus = data.draw(st.sampled_from({"en": ["-", "−", "minus "], "zh": ["-", "−", "负"]}[language]))
    before = {"en": "It changed by ", "zh": "变动为"}[language]

    ((_, plain, _),) = [each[2:5] for each in quantities(f"{before}{number}{unit}", language)]
    ((_, negative, _),) = [each[2:5] for each in quantities(f"{before}{minus}{number}{unit}", language)]

    assert negative == -plain < 0
