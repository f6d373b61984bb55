"""Find amounts in text: money, percentages and quantities with a unit, as numbers."""

import re
from collections.abc import Iterator
from functools import cache

from babel import UnknownLocaleError
from babel.numbers import get_decimal_symbol, get_group_symbol

from sag_pipeline.steps.keys import Mention

MONEY, PERCENTAGE, QUANTITY = "money", "percentage", "quantity"

_SCALES = {
    "百": 1e2,
    "千": 1e3,
    "万": 1e4,
    "萬": 1e4,
    "十万": 1e5,
    "百万": 1e6,
    "百萬": 1e6,
    "千万": 1e7,
    "亿": 1e8,
    "億": 1e8,
    "十亿": 1e9,
    "百亿": 1e10,
    "千亿": 1e11,
    "万亿": 1e12,
    "hundred": 1e2,
    "thousand": 1e3,
    "k": 1e3,
    "m": 1e6,
    "mn": 1e6,
    "million": 1e6,
    "bn": 1e9,
    "b": 1e9,
    "billion": 1e9,
    "trillion": 1e12,
}
_CURRENCIES = {
    "元": "CNY",
    "人民币": "CNY",
    "人民幣": "CNY",
    "rmb": "CNY",
    "cny": "CNY",
    "yuan": "CNY",
    "美元": "USD",
    "美金": "USD",
    "usd": "USD",
    "us$": "USD",
    "$": "USD",
    "dollar": "USD",
    "港元": "HKD",
    "港币": "HKD",
    "hkd": "HKD",
    "hk$": "HKD",
    "欧元": "EUR",
    "eur": "EUR",
    "€": "EUR",
    "euro": "EUR",
    "英镑": "GBP",
    "gbp": "GBP",
    "£": "GBP",
    "pound": "GBP",
    "日元": "JPY",
    "jpy": "JPY",
    "yen": "JPY",
    "¥": "CNY",
    "￥": "CNY",
}
_UNITS = {
    "公里": "km",
    "千米": "km",
    "km": "km",
    "kilometre": "km",
    "kilometer": "km",
    "米": "m",
    "metre": "m",
    "meter": "m",
    "厘米": "cm",
    "cm": "cm",
    "毫米": "mm",
    "mm": "mm",
    "millimetre": "mm",
    "millimeter": "mm",
    "centimetre": "cm",
    "centimeter": "cm",
    "米/秒": "m/s",
    "公里/小时": "km/h",
    "km/h": "km/h",
    "m/s": "m/s",
    "mile": "mile",
    "英里": "mile",
    "foot": "foot",
    "feet": "foot",
    "inch": "inch",
    "平方公里": "km²",
    "平方米": "m²",
    "公顷": "ha",
    "hectare": "ha",
    "acre": "acre",
    "亩": "mu",
    "立方米": "m³",
    "吨": "t",
    "ton": "t",
    "tonne": "t",
    "公斤": "kg",
    "千克": "kg",
    "kg": "kg",
    "kilogram": "kg",
    "克": "g",
    "毫克": "mg",
    "mg": "mg",
    "升": "l",
    "litre": "l",
    "liter": "l",
    "毫升": "ml",
    "ml": "ml",
    "千瓦时": "kWh",
    "kwh": "kWh",
    "gwh": "GWh",
    "mwh": "MWh",
    "兆瓦时": "MWh",
    "兆瓦": "MW",
    "mw": "MW",
    "megawatt": "MW",
    "gw": "GW",
    "千瓦": "kW",
    "kw": "kW",
    "摄氏度": "°C",
    "℃": "°C",
    "°c": "°C",
    "mmhg": "mmHg",
    "次/分": "/min",
    "gb": "GB",
    "tb": "TB",
    "小时": "hour",
    "hour": "hour",
    "分钟": "minute",
    "minute": "minute",
    "秒": "second",
    "second": "second",
    "天": "day",
    "day": "day",
    "周": "week",
    "week": "week",
    "个月": "month",
    "month": "month",
    "年": "year",
    "year": "year",
    "岁": "year old",
    "year old": "year old",
    "years old": "year old",
    "人": "person",
    "名": "person",
    "位": "person",
    "people": "person",
    "person": "person",
    "employee": "person",
    "worker": "person",
    "家": "firm",
    "台": "unit",
    "辆": "unit",
    "架": "unit",
    "艘": "unit",
    "套": "unit",
    "件": "unit",
    "unit": "unit",
    "户": "household",
    "household": "household",
    "股": "share",
    "share": "share",
    "倍": "×",
    "times": "×",
    "个": "item",
    "项": "item",
    "座": "item",
    "条": "item",
    "页": "page",
    "page": "page",
    "passenger": "passenger",
    "vehicle": "unit",
    "customer": "customer",
    "user": "user",
    "student": "student",
    "member": "member",
}


def _either(names: list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


_HAN_SCALE = _either([name for name in _SCALES if not name.isascii()])
_LATIN_SCALE = _either([name for name in _SCALES if name.isascii()])
_SIGN = _either([name for name in _CURRENCIES if len(name) <= 3 or not name.isascii()])  # noqa: PLR2004  signs and codes
_HAN_UNIT = _either([name for name in {**_UNITS, **_CURRENCIES} if not name.isascii()])
_LATIN_UNIT = _either([name for name in {**_UNITS, **_CURRENCIES} if name.isascii() and name[-1].isalpha()])
_SIGN_BEFORE = re.compile(rf"(?:{_SIGN})\s?\Z", re.IGNORECASE)
_LONGEST_SIGN = 5
_MOST_YEARS = 200
"""More `年` than this is a date, not a span of time."""
_POINT = r"\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d*(?:\.\d+)?"
"""What follows the first digit of a number with a decimal point: `3,982.50`."""
_COMMA = r"\d{0,2}(?:[GROUP]\d{3})+(?!\d)(?:,\d+)?|\d{0,2}(?:,\d{3})+\.\d+|\d*(?:[.,]\d+)?"
"""The same with a decimal comma: `3.982,50`; a point with other than three digits behind it is a decimal point."""
_WITH_GROUPS = re.compile(r"\d{1,3}(?:[.\s]\d{3})+(?:,\d+)?")
_POINT_LAST = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+")


def _written(digits: str) -> str:
    """The verbose expression of an amount, of whose number these digits follow the first."""
    return rf"""
        (?P<number>\d(?<![A-Za-z0-9_.,/-]\d)(?<![A-Za-z0-9][−–]\d)(?:{digits}))
        (?:\s?(?P<han>{_HAN_SCALE})|(?:\s|-)?(?P<latin>{_LATIN_SCALE})(?![a-zA-Z]))?
        (?:\s?(?P<percent>%|％|个百分点|百分点|percent\b|per\scent\b)
          |余?多?\s?(?P<hanunit>{_HAN_UNIT})
          |(?:\s|-)?(?P<latinunit>{_LATIN_UNIT})(?:s|es)?(?![a-zA-Z]))?
        """


_AMOUNT = re.compile(_written(_POINT), re.VERBOSE | re.IGNORECASE)
_WITH_COMMA = re.compile(_written(_COMMA.replace("GROUP", r".\u00a0\u202f")), re.VERBOSE | re.IGNORECASE)
_WITH_COMMA_AND_GAPS = re.compile(_written(_COMMA.replace("GROUP", r".\s")), re.VERBOSE | re.IGNORECASE)


@cache
def _amount_of(language: str) -> re.Pattern[str]:
    """Amounts as a language writes them, by the Unicode locale data: with a decimal point or with a comma."""
    try:
        if get_decimal_symbol(language) != ",":
            return _AMOUNT
        return _WITH_COMMA_AND_GAPS if get_group_symbol(language).isspace() else _WITH_COMMA
    except (UnknownLocaleError, ValueError):
        return _AMOUNT


def quantities(text: str, language: str = "en") -> Iterator[Mention]:
    """Every amount with a unit, a currency or a percent sign, in order; bare numbers are none.

    `1.2亿元` is 120,000,000 CNY, `$3.5 million` 3,500,000 USD, `12%` 12 %. Units of both languages are one: `公里` is
    `km`. A number of years or of a date is left to the dates. `29.063 EUR` is 29,063 EUR in German, 29.063 in English.
    """
    pattern = _amount_of(language)
    for found in pattern.finditer(text):
        before = _SIGN_BEFORE.search(text, max(0, found.start() - _LONGEST_SIGN), found.start())
        mention = _mention(found, before, has_comma=pattern is not _AMOUNT)
        if mention is not None:
            yield mention


def _number(digits: str, *, has_comma: bool) -> float:
    if not has_comma or _POINT_LAST.fullmatch(digits):
        return float(digits.replace(",", ""))
    if _WITH_GROUPS.fullmatch(digits):
        digits = "".join(digits.replace(".", "").split())
    return float(digits.replace(",", "."))


def _mention(found: re.Match[str], before: re.Match[str] | None, *, has_comma: bool) -> Mention | None:
    unit = (found["hanunit"] or found["latinunit"] or "").lower()
    if not (before or unit or found["percent"]):
        return None
    start = before.start() if before else found.start()
    scale = _SCALES[(found["han"] or found["latin"] or "").lower()] if found["han"] or found["latin"] else 1.0
    number = round(_number(found["number"], has_comma=has_comma) * scale, 6)
    if found["percent"]:
        return Mention(start, found.end(), PERCENTAGE, number, "%")
    currency = _CURRENCIES.get(unit) or (_CURRENCIES[before[0].strip().lower()] if before else None)
    if currency:
        return Mention(start, found.end(), MONEY, number, currency)
    if unit == "年" and number > _MOST_YEARS:
        return None
    return Mention(start, found.end(), QUANTITY, number, _UNITS[unit] + _rate(found))


def _rate(found: re.Match[str]) -> str:
    """`/s` behind the unit of `每秒2米`."""
    before = found.string[max(0, found.start() - 3) : found.start()].rstrip("约达 ")
    return next((rate for name, rate in (("每秒", "/s"), ("小时", "/h")) if before.endswith(name)), "")
