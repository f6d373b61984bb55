"""Find amounts in text: money, percentages and quantities with a unit, as numbers."""

import re
from collections.abc import Iterator
from functools import cache

from babel import UnknownLocaleError
from babel.numbers import get_decimal_symbol, get_group_symbol

from sag_pipeline.steps.keys import Mention
from sag_retrieval.text.units import CURRENCIES, SCALES, UNITS

MONEY, PERCENTAGE, QUANTITY = "money", "percentage", "quantity"


def _either(names: list[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


_HAN_SCALE = _either([name for name in SCALES if not name.isascii()])
_LATIN_SCALE = _either([name for name in SCALES if name.isascii()])
_SIGN = _either([name for name in CURRENCIES if len(name) <= 3 or not name.isascii()])  # noqa: PLR2004  signs and codes
_HAN_UNIT = _either([name for name in {**UNITS, **CURRENCIES} if not name.isascii()])
_LATIN_UNIT = _either([name for name in {**UNITS, **CURRENCIES} if name.isascii() and name[-1].isalpha()])
_SIGN_BEFORE = re.compile(rf"(?:{_SIGN})\s?\Z", re.IGNORECASE)
_LONGEST_SIGN = 5
_MOST_YEARS = 200
"""More `年` than this is a date, not a span of time."""
_POINT = r"\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d*(?:\.\d+)?"
"""What follows the first digit of a number with a decimal point: `3,982.50`."""
_COMMA = r"\d{0,2}(?:[GROUP]\d{3})+(?!\d)(?:,\d+)?|\d{0,2}(?:,\d{3})+\.\d+|\d*(?:[.,]\d+)?"
"""The same with a decimal comma: `3.982,50`; a point with other than three digits behind it is a decimal point."""
_MORE = re.compile(rf"(?P<digits>\d{{1,4}})(?P<scale>{_HAN_SCALE})")
"""Further parts of a number: 3亿5千万."""
_WITH_GROUPS = re.compile(r"\d{1,3}(?:[.\s]\d{3})+(?:,\d+)?")
_POINT_LAST = re.compile(r"\d{1,3}(?:,\d{3})+\.\d+")


def _written(digits: str) -> str:
    """The verbose expression of an amount, of whose number these digits follow the first."""
    return rf"""
        (?P<number>\d(?<![A-Za-z0-9_.,/-]\d)(?<![A-Za-z0-9][−–]\d)(?:{digits}))
        (?:\s?(?P<han>{_HAN_SCALE})(?![а-яё])(?:(?<=тыс)\.)?(?P<more>(?:\d{{1,4}}(?:{_HAN_SCALE}))*)
          |(?:\s|-)?(?P<latin>{_LATIN_SCALE})(?![a-zA-Z])(?:(?<=mio|mrd|tsd)\.)?)?
        (?:\s?(?P<percent>%|％|个百分点|百分点|percent\b|per\scent\b)
          |余?多?\s?(?P<hanunit>{_HAN_UNIT})(?![а-яё])
          |(?:\s(?:de\s|d['’])|\s|-)?(?P<latinunit>{_LATIN_UNIT})(?:s|es)?(?![a-zA-Z]))?
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
    scale = SCALES[(found["han"] or found["latin"] or "").lower()] if found["han"] or found["latin"] else 1.0
    number = _number(found["number"], has_comma=has_comma) * scale
    number += sum(int(more["digits"]) * SCALES[more["scale"]] for more in _MORE.finditer(found["more"] or ""))
    number = round(number, 6)
    if found["percent"]:
        return Mention(start, found.end(), PERCENTAGE, number, "%")
    currency = CURRENCIES.get(unit) or (CURRENCIES[before[0].strip().lower()] if before else None)
    if currency:
        return Mention(start, found.end(), MONEY, number, currency)
    if unit == "年" and number > _MOST_YEARS:
        return None
    return Mention(start, found.end(), QUANTITY, number, UNITS[unit] + _rate(found))


def _rate(found: re.Match[str]) -> str:
    """`/s` behind the unit of `每秒2米`."""
    before = found.string[max(0, found.start() - 3) : found.start()].rstrip("约达 ")
    return next((rate for name, rate in (("每秒", "/s"), ("小时", "/h")) if before.endswith(name)), "")
