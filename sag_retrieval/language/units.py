"""Names of scales, currencies and units in both languages, and numbers converted from one unit to another."""

import re
from functools import cache
from typing import Any, Final

from sag_retrieval.language.unit_names import FORMS_OF_UNITS

SCALES: Final = {
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
    "tsd": 1e3,
    "tausend": 1e3,
    "mio": 1e6,
    "millionen": 1e6,
    "millions": 1e6,
    "millones": 1e6,
    "millón": 1e6,
    "mrd": 1e9,
    "milliarde": 1e9,
    "milliarden": 1e9,
    "milliard": 1e9,
    "milliards": 1e9,
    "md": 1e9,
    "mil millones": 1e9,
    **dict.fromkeys(("тыс", "тысяча", "тысячи", "тысяч"), 1e3),
    **dict.fromkeys(("млн", "миллион", "миллиона", "миллионов"), 1e6),
    **dict.fromkeys(("млрд", "миллиард", "миллиарда", "миллиардов"), 1e9),
}
"""What a word multiplies a number by."""
CURRENCIES: Final = {
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
    "円": "JPY",
    "ドル": "USD",
    "ユーロ": "EUR",
    **dict.fromkeys(("руб", "рубль", "рубля", "рублей", "rub", "₽"), "RUB"),
    "долларов": "USD",
    "доллара": "USD",
    "евро": "EUR",
    "¥": "CNY",
    "￥": "CNY",
}
"""Code of each currency by its names and signs."""
UNITS: Final = {
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
    **FORMS_OF_UNITS,
}
"""One name of each unit by all its names."""
_CODES: Final = frozenset(CURRENCIES.values()) | frozenset(
    "AED ARS AUD BRL CAD CHF CLP CZK DKK HUF IDR ILS INR KRW MXN MYR NOK NZD PHP PLN RON RUB SAR SEK SGD THB TRY TWD "
    "UAH VND ZAR".split()
)
_PLAIN: Final = re.compile(r"[A-Za-zµΩ_%]{1,20}[²³]?(?:/[A-Za-zµ]{1,20}[²³]?)?")
"""What is converted: names, never an expression that would have to be computed."""
_PLURALS: Final = ("s", "es")


_NAMES: Final = frozenset(UNITS.values())


def unit_name(written: str) -> str:
    """The one name of a unit or currency; one that is not known stays as it is.

    Examples:
        >>> [unit_name(unit) for unit in ("公里", "Miles", "元", "chf", "sailors")]
        ['km', 'mile', 'CNY', 'CHF', 'sailors']

    """
    bare = written.strip()
    lowered = bare.lower()
    if bare.upper() in _CODES:
        return bare.upper()
    for name in (lowered, *(lowered.removesuffix(plural) for plural in _PLURALS if lowered.endswith(plural))):
        if found := CURRENCIES.get(name) or UNITS.get(name):
            return found
    return "%" if bare in ("%", "％") else bare


def is_known_unit(written: str) -> bool:
    """Whether a unit is one of the lists, or a currency's code."""
    name = unit_name(written)
    return name in _CODES or name == "%" or name in _NAMES


def is_currency(unit: str | None) -> bool:
    """Whether a unit's one name is a currency's code."""
    return unit in _CODES


def converted(number: float, unit: str, wanted: str) -> float | None:
    """A number of one unit in another one; None where they do not measure the same, as two currencies never do.

    Examples:
        >>> converted(3, "mile", "km"), converted(1, "GWh", "MWh"), converted(1, "EUR", "USD"), converted(1, "kg", "km")
        (4.828032, 1000.0, None, None)

    """
    if unit == wanted:
        return number
    if is_currency(unit) or is_currency(wanted) or "%" in (unit, wanted):
        return None
    if not (_PLAIN.fullmatch(_written(unit)) and _PLAIN.fullmatch(_written(wanted))):
        return None
    registry = _registry()
    try:
        return round(float(registry.Quantity(number, _written(unit)).to(_written(wanted)).magnitude), 9)
    except (registry.errors, OverflowError):
        return None


def _written(unit: str) -> str:
    """A unit as the registry names it."""
    return {"mu": "mu_of_land", "year old": "year", "°C": "degree_Celsius", "°F": "degree_Fahrenheit"}.get(unit, unit)


class _Units:
    """The registry of units, which takes a quarter of a second to load."""

    def __init__(self) -> None:
        import pint  # noqa: PLC0415  only where two units differ

        registry: Any = pint.UnitRegistry()
        registry.define("mu_of_land = 666.6666666666666 * meter ** 2")
        self.Quantity: Any = registry.Quantity
        self.errors = pint.PintError


@cache
def _registry() -> _Units:
    return _Units()
