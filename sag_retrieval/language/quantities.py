"""Find amounts in text: money, percentages and quantities with a unit, as numbers."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from babel import UnknownLocaleError
from babel.numbers import get_decimal_symbol, get_group_symbol

from sag_retrieval.language.amounts import read_amount
from sag_retrieval.language.data import either, source_of_all
from sag_retrieval.language.mentions import Mention
from sag_retrieval.language.units import CURRENCIES, SCALES, UNITS

MONEY, PERCENTAGE, QUANTITY = "money", "percentage", "quantity"

_PERCENT = source_of_all("percent")
_HAN_SCALE = either([name for name in SCALES if not name.isascii()])
_LATIN_SCALE = either([name for name in SCALES if name.isascii()])
_SIGNS = [name for name in CURRENCIES if len(name) <= 3 or not name.isascii()]  # noqa: PLR2004  signs and codes
_SIGN = either(_SIGNS)
_HAN_UNIT = either([name for name in {**UNITS, **CURRENCIES} if not name.isascii()])
_LATIN_UNIT = either([name for name in {**UNITS, **CURRENCIES} if name.isascii() and name[-1].isalpha()])
_MINUS = r"(?:(?<![A-Za-z0-9)%_.])[-−]|(?<![A-Za-z])minus\s|[负負]\s?|零下\s?)"
_LEAD = re.compile(
    rf"(?:(?P<minus>{_MINUS})?(?P<sign>{_SIGN})\s?(?P<inner>[-−])?|(?P<alone>{_MINUS}))\Z", re.IGNORECASE
)
_LONGEST_LEAD = 12
_ENDS_LEAD = frozenset("-−负負下sS") | {form[-1] for sign in _SIGNS for form in (sign, sign.upper())}
"""What the last character of a sign or a minus is; any other number is looked at no further."""
_BELOW_ZERO = frozenset({"%", "°C", "°F"})
"""Units, besides currencies, of which there may be less than nothing; before any other a minus is a dash."""
_DASHES = frozenset("-−–—")
_JOINS = r"(?P<and>\sand\s|\sund\s|\set\s|\sy\s|\s?[和与]\s?)|\sto\s|\sbis\s|\sà\s|\sa\s|\s?[-−–—~～至到]\s?"
_TO = re.compile(rf"(?:{_JOINS})\Z", re.IGNORECASE)
_LOW = re.compile(
    rf"(?<![A-Za-z0-9_.,/-])(?P<between>(?:between|from|zwischen|von|entre)\s|介于|[从在])?"
    rf"(?<![A-Za-z0-9_.,/])(?P<low>{_MINUS}?(?:(?:{_SIGN})\s?)?\d[\d.,]{{0,20}}(?:[\s-]?(?:{_HAN_SCALE}|{_LATIN_SCALE}))?"
    rf"\s?(?:%|％|percent|per\scent|{_HAN_UNIT}|(?:{_LATIN_UNIT})s?)?)"
    rf"(?:{_JOINS})\Z",
    re.IGNORECASE,
)
"""The lower end of a range, in front of the upper one."""
_LONGEST_LOW = 48
_LONGEST_TO = 4
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
        (?P<number>\d(?<![A-Za-z0-9_.,/]\d)(?:{digits}))
        (?:\s?(?P<han>{_HAN_SCALE})(?![а-яё])(?:(?<=тыс)\.)?(?P<more>(?:\d{{1,4}}(?:{_HAN_SCALE}))*)
          |(?:\s|-)?(?P<latin>{_LATIN_SCALE})(?![a-zA-ZÀ-ɏ])(?:(?<=mio|mrd|tsd)\.)?)?
        (?:\s?(?P<percent>%|％|个百分点|百分点|percent(?:age\spoints?)?\b|per\scent\b|{_PERCENT})
          |余?多?\s?(?P<hanunit>{_HAN_UNIT})(?![а-яё])
          |(?:\s(?:de\s|d['’])|\s|-)?(?P<latinunit>{_LATIN_UNIT})(?:s|es)?(?![a-zA-ZÀ-ɏ]))?
        """


@cache
def _compiled(digits: str) -> re.Pattern[str]:
    return re.compile(_written(digits), re.VERBOSE | re.IGNORECASE)


@cache
def _amount_of(language: str) -> re.Pattern[str]:
    """Amounts as a language writes them, by the Unicode locale data: with a decimal point or with a comma."""
    try:
        if get_decimal_symbol(language) != ",":
            return _compiled(_POINT)
        gap = r"\s" if get_group_symbol(language).isspace() else r"\u00a0\u202f"
        return _compiled(_COMMA.replace("GROUP", f".{gap}"))
    except (UnknownLocaleError, ValueError):
        return _compiled(_POINT)


def quantities(text: str, language: str = "en") -> Iterator[Mention]:
    """Every amount with a unit, a currency or a percent sign, in order; bare numbers are none.

    `1.2亿元` is 120,000,000 CNY, `12%` 12 %, `29.063 EUR` 29,063 EUR in German, 29.063 in English. Of a range both ends
    are given, at one place. Below zero are money, percent and degrees alone, where a minus or a word for it stands
    before them; a fall is what its words say: `下降3.2%` is 3.2 %.
    """
    pattern = _amount_of(language)
    held: Sequence[Mention] = ()
    for found in pattern.finditer(text):
        start = found.start()
        ahead = text[start - 1 : start].strip() or text[max(0, start - 2) : max(0, start - 1)]
        lead = _LEAD.search(text, max(0, start - _LONGEST_LEAD), start) if ahead in _ENDS_LEAD else None
        mention = _mention(found, lead, has_comma=pattern is not _compiled(_POINT))
        made = _in_place(text, mention, language) if mention is not None else _upper_end(text, held, found, language)
        if made:
            yield from held if not held or held[0].end <= made[0].start else ()
            held = made
    yield from held


def _in_place(text: str, mention: Mention, language: str) -> Sequence[Mention]:
    """The two ends of a range that an amount closes, else the amount; nothing for a number of a code or a score."""
    low = None
    if _TO.search(text, max(0, mention.start - _LONGEST_TO - 1), mention.start):
        low = _LOW.search(text, max(0, mention.start - _LONGEST_LOW), mention.start)
    if low and (low["between"] or not low["and"]):
        written = f"{'between ' if low['and'] else ''}{text[low.start('low') : mention.end]}"
        ends = read_amount(written, language)
        if ends is not None and len(ends.numbers) > 1 and ends.high == mention.value:
            return [mention._replace(start=low.start("low"), value=value) for value in ends.numbers]
    before = text[max(0, mention.start - 2) : mention.start]
    is_part = before[-1:] in _DASHES and (before[-1] == "-" or (before[0].isascii() and before[0].isalnum()))
    return () if is_part else (mention,)


def _upper_end(text: str, held: Sequence[Mention], found: re.Match[str], language: str) -> Sequence[Mention]:
    """The range of which a bare number is the upper end: `$3-5 million`."""
    is_next = len(held) == 1 and held[0].key_type == MONEY and found.start() - held[0].end <= _LONGEST_TO
    if not is_next or text[held[0].end : found.start()].strip() not in _DASHES | {"to", "至", "到"}:
        return ()
    ends = read_amount(text[held[0].start : found.end()].strip(), language)
    if ends is None or len(ends.numbers) == 1 or ends.unit != held[0].unit:
        return ()
    return [held[0]._replace(end=found.end(), value=value) for value in ends.numbers]


def _number(digits: str, *, has_comma: bool) -> float:
    if not has_comma or _POINT_LAST.fullmatch(digits):
        return float(digits.replace(",", ""))
    if _WITH_GROUPS.fullmatch(digits):
        digits = "".join(digits.replace(".", "").split())
    return float(digits.replace(",", "."))


def _mention(found: re.Match[str], lead: re.Match[str] | None, *, has_comma: bool) -> Mention | None:
    unit = (found["hanunit"] or found["latinunit"] or "").lower()
    sign = ((lead and lead["sign"]) or "").strip().lower()
    if not (sign or unit or found["percent"]):
        return None
    currency = CURRENCIES.get(unit) or CURRENCIES.get(sign)
    if unit == "年" and _value(found, has_comma=has_comma) > _MOST_YEARS:
        return None
    key_type = PERCENTAGE if found["percent"] else MONEY if currency else QUANTITY
    name = "%" if found["percent"] else currency or UNITS[unit] + _rate(found)
    value = _value(found, has_comma=has_comma)
    start = found.start()
    if lead and (key_type == MONEY or name in _BELOW_ZERO):
        is_negative = bool(lead["minus"] or lead["inner"] or lead["alone"])
        return Mention(lead.start(), found.end(), key_type, -value if is_negative else value, name)
    return Mention(start, found.end(), key_type, value, name)


def _value(found: re.Match[str], *, has_comma: bool) -> float:
    scale = SCALES[(found["han"] or found["latin"] or "").lower()] if found["han"] or found["latin"] else 1.0
    number = _number(found["number"], has_comma=has_comma) * scale
    number += sum(int(more["digits"]) * SCALES[more["scale"]] for more in _MORE.finditer(found["more"] or ""))
    return round(number, 6)


def _rate(found: re.Match[str]) -> str:
    """`/s` behind the unit of `每秒2米`."""
    before = found.string[max(0, found.start() - 3) : found.start()].rstrip("约达 ")
    return next((rate for name, rate in (("每秒", "/s"), ("小时", "/h")) if before.endswith(name)), "")
