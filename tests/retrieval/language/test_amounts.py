"""Whole texts read as amounts: numbers, ranges, scales and units of several languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sag_retrieval.language.amounts import LONGEST, WrittenAmount, in_unit, read_amount
from sag_retrieval.language.units import UNITS, converted


@pytest.mark.parametrize(
    ("text", "numbers", "unit"),
    [
        ("-3.2 million EUR", (-3.2e6,), "EUR"),
        ("10-12 MW", (10, 12), "MW"),
        ("10–12 MW", (10, 12), "MW"),
        ("10至12兆瓦", (10, 12), "MW"),
        ("between 10 and 12 MW", (10, 12), "MW"),
        ("介于10和12兆瓦之间", (10, 12), "MW"),
        ("10-20万元", (1e5, 2e5), "CNY"),
        ("$10-12 million", (1e7, 1.2e7), "USD"),
        ("900 to 1.2 million", (900, 1.2e6), None),
        ("900 m to 1.2 km", (0.9, 1.2), "km"),
        ("5 ± 0.2 mm", (4.8, 5.2), "mm"),
        ("-5 to -3 °C", (-5, -3), "°C"),
        ("1,5 Mio", (1.5e6,), None),
        ("1,5 Mio. Euro", (1.5e6,), "EUR"),
        ("3 亿 5 千万", (3.5e8,), None),
        ("三亿五千万元", (3.5e8,), "CNY"),
        ("人民币3亿元", (3e8,), "CNY"),
        ("3 million 500 thousand", (3.5e6,), None),
        ("approximately 340", (340,), None),
        ("约10亿元", (1e9,), "CNY"),
        ("10亿元左右", (1e9,), "CNY"),
        ("340余人", (340,), "person"),
        ("零下5摄氏度", (-5,), "°C"),
        ("1,234,567.8", (1234567.8,), None),
        ("1.234.567,8", (1234567.8,), None),
        ("1 234 567", (1234567,), None),
        ("1'234'567", (1234567,), None),
        ("３．５％", (3.5,), "%"),
        ("€5m", (5e6,), "EUR"),
        ("10 m", (10,), "m"),
        ("10M", (1e7,), None),
        ("5 EUR/MWh", (5,), "EUR/MWh"),
        ("42 sailors", (42,), "sailors"),
        ("-0", (0,), None),
    ],
)
def test_amounts_are_read_whole(text: str, numbers: tuple[float, ...], unit: str | None):
    found = read_amount(text)

    assert found is not None
    assert (found.numbers, found.unit) == (numbers, unit)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "last summer",
            "",
            "-",
            "元",
            "over 340",
            "超过340",
            "340以上",
            "5th",
            "A4",
            "12:30",
            "10/12",
            "1/2",
            "3D",
            "no. 5",
        ),
        *("2019-2021", "2019 to 2021", "555-1234", "2-1", "192.168.1.1", "3.2.1", "1,23,456", "1 0000", "(3.2)", "NaN"),
        *(
            "2024年",
            "3月",
            "5日",
            "二〇一九",
            "3亿5",
            "1亿2000",
            "10 years ago",
            "3 out of 4",
            "1e400",
            "9" * 40,
            "12-10 MW",
        ),
    ],
)
def test_what_is_no_amount_for_certain_is_none(text: str):
    assert read_amount(text) is None


def test_a_language_says_what_its_marks_and_words_mean():
    assert read_amount("1.500", "de").low == 1500 != read_amount("1.500", "en").low  # type: ignore[union-attr]
    assert read_amount("2 Billionen Euro", "de") == WrittenAmount(2e12, 2e12, "EUR", is_scaled=True)
    assert read_amount("3 mil", "es").low == 3000  # type: ignore[union-attr]


numbers = st.decimals(min_value=-(10**9), max_value=10**9, places=2, allow_nan=False)


@given(
    numbers, st.sampled_from(["", " million", "万", " 亿", "k", " Mrd."]), st.sampled_from(["", " EUR", "元", " km"])
)
def test_a_number_comes_back_in_every_form(number, scale: str, unit: str):
    by = {"": 1, " million": 10**6, "万": 10**4, " 亿": 10**8, "k": 1000, " Mrd.": 10**9}[scale]
    for written in (f"{number}", f"{number:,}", f"{number:,}".translate(str.maketrans(",.", ".,"))):
        found = read_amount(f"{written}{scale}{unit}")

        assert found is not None
        assert found.low == found.high == pytest.approx(float(number * by))
        assert found.unit == {"": None, " EUR": "EUR", "元": "CNY", " km": "km"}[unit]


@given(numbers, numbers, st.sampled_from([" to ", "–", " bis ", "至", "~"]), st.sampled_from([" MW", "元", " %"]))
def test_a_range_has_both_ends(one, other, separator: str, unit: str):
    low, high = sorted((abs(one), abs(other)))
    found = read_amount(f"{low}{separator}{high}{unit}")

    assert found is not None
    assert (found.low, found.high) == (float(low), float(high))


@given(st.text(max_size=LONGEST + 20) | st.from_regex(r"[\d.,' 万亿kmMb%$€元至到~–±a-f/-]{0,40}", fullmatch=True))
def test_any_text_is_a_finite_amount_or_none(text: str):
    found = read_amount(text)

    assert found is None or abs(found.low) <= abs(found.high) < 1e31 or -1e31 < found.low <= found.high


@given(st.floats(-1e9, 1e9), st.sampled_from(sorted(set(UNITS.values()))), st.sampled_from(sorted(set(UNITS.values()))))
def test_a_conversion_comes_back(number: float, unit: str, wanted: str):
    there = converted(number, unit, wanted)
    back = None if there is None else converted(there, wanted, unit)

    assert back is None or back == pytest.approx(number, rel=1e-6, abs=1e-3)
    assert (there is None) == (converted(1.0, wanted, unit) is None)


def test_amounts_are_converted_to_the_wanted_unit_or_refused():
    def read(text: str, unit: str) -> tuple[float, str | None] | None:
        found = read_amount(text)
        assert found is not None
        own = in_unit(found, unit)
        return own and (own.low, own.unit)

    assert read("5 miles", "km") == (8.04672, "km")
    assert read("2 公里", "m") == (2000, "m")
    assert read("10 亿元", "亿元") == read("10 亿", "亿元") == read("10", "亿元") == (10, "亿元")
    assert read("3 million USD", "CNY") == (3e6, "USD")
    assert read("12", "%") == (12, "%")
    assert read("12 %", "CNY") is read("5 kg", "km") is read("3 EUR/MWh", "EUR") is None


def test_a_unit_is_never_computed():
    assert converted(1.0, "m**9**9**9", "km") is None
