"""Read a whole text as an amount: one number or a range, with scales and a unit, in the forms of several languages."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from sag_retrieval.language.data import (
    either,
    languages,
    pattern_of_all,
    patterns,
    units_of,
    units_of_all,
    words_of_all,
)
from sag_retrieval.language.units import CURRENCIES, SCALES, converted, is_currency, is_known_unit, unit_name
from sag_retrieval.language.words import is_cjk, normal_form

LONGEST: Final = 120
"""Characters of the longest amount."""
_LARGEST: Final = Decimal(10) ** 30
_LONGEST_HAN_UNIT: Final = 4
_WORDS: Final = {**SCALES, **units_of_all("scales_of_values")}
_LETTERS: Final = {"k": 1e3, "m": 1e6, "b": 1e9}
_PERCENT: Final = words_of_all("PERCENT") | {"%"}
_NO_UNIT: Final = words_of_all("NOT_COUNTED")
"""What stands behind a number that counts nothing."""
_MOST_YEARS: Final = 200
_YEARS: Final = (1000, 2200)


_ALL_WORDS: Final = (set(_WORDS) | {word for each in languages() for word in units_of(each, "own_scales")}) - set(
    _LETTERS
)
_WORD_END: Final = r"(?![A-Za-z\u00c0-\u04ff])"
_SCALE: Final = (
    rf"(?:{either({word for word in _ALL_WORDS if is_cjk(word)})}"
    rf"|(?:{either({word for word in _ALL_WORDS if not is_cjk(word)})}){_WORD_END}\.?)"
)
_DIGITS: Final = r"\d+(?:[.,'’]\d+|\s\d{3}(?![\d.]))*(?:e[+-]?\d{1,2}(?![^\W_]))?"
_PART: Final = re.compile(
    rf"(?P<number>{_DIGITS}|[〇零一二两兩三四五六七八九十百千]+)(?:[\s-]?(?P<scale>{_SCALE})|(?P<letter>[kKmMbB]){_WORD_END})?",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?P<minus>[-−]|minus\s|负|負|零下)?\s?"
    rf"(?P<sign>(?:{either({*CURRENCIES, 'chf', 'aud', 'cad', 'inr'})}){_WORD_END})?\s?(?P<inner>[-−])?",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(rf"(?:{either(words_of_all('ABOUT'))})\s?(?=[^\W_]|[-−$€£¥])", re.IGNORECASE)
_ABOUT_END: Final = pattern_of_all("about_behind")
_BETWEEN: Final = pattern_of_all("range_opens")
_SEPARATOR: Final = pattern_of_all("range_goes_on")
_BOUND: Final = patterns("zh")["bound_behind"]
"""What makes an amount a bound, as in `340人以上`."""
_AND: Final = words_of_all("RANGE_AND")
"""What joins the ends of a range only behind `between`."""
_RATE: Final = pattern_of_all("rate")


class WrittenAmount(NamedTuple):
    """A number, or a range of numbers from `low` to `high`, with the one name of its unit."""

    low: float
    high: float
    unit: str | None = None
    is_scaled: bool = False
    """Whether a word such as `million` says how large the number is."""

    @property
    def numbers(self) -> tuple[float, ...]:
        """One value, or the two ends of a range."""
        return (self.low,) if self.low == self.high else (self.low, self.high)


class _Side(NamedTuple):
    number: Decimal
    scale: Decimal
    unit: str | None

    @property
    def value(self) -> Decimal:
        return self.number * self.scale


def read_amount(text: str, language: str = "en") -> WrittenAmount | None:
    """The amount that a text is, nothing left over; None for a bound such as `over 340`, a date, a score, any prose.

    Words such as `about` do not count. A range has both ends, `between 10 and 12 MW` as well as `10-12 MW`; of two bare
    numbers with a hyphen none is made, they may be a score or a telephone number. `1.500` is 1,500 in German, and a
    German `Billion` is a thousand English ones.

    Examples:
        >>> read_amount("-3.2 million EUR"), read_amount("3 亿 5 千万")[:2]
        (WrittenAmount(low=-3200000.0, high=-3200000.0, unit='EUR', is_scaled=True), (350000000.0, 350000000.0))
        >>> read_amount("10-12 MW").numbers, read_amount("1,5 Mio").numbers, read_amount("last summer")
        ((10.0, 12.0), (1500000.0,), None)
    """
    if len(text) > LONGEST:
        return None
    plain = " ".join(normal_form("NFKC", text).split()).strip("。")
    between = _BETWEEN.match(plain)
    inner = plain[between.end() :].removesuffix("之间") if between else plain
    inner = _ABOUT_END.sub("", inner)
    found = None if between else _side(_bare(inner), language)
    if found is not None:
        return _amount(found, found)
    return next(_ranges(inner, language, is_between=between is not None), None)


def _bare(text: str) -> str:
    about = _ABOUT.match(text)
    return text[about.end() :] if about else text


def _ranges(text: str, language: str, *, is_between: bool) -> Iterator[WrittenAmount]:
    for separator in _SEPARATOR.finditer(text, 1):
        mark = separator[0].strip().lower()
        if mark in _AND and not is_between:
            continue
        low = _side(_bare(text[: separator.start()]).strip(), language)
        high = _side(_bare(text[separator.end() :]).strip(), language)
        if low is None or high is None:
            continue
        if mark == "±":
            yield from _spread(low, high)
            continue
        is_bare = low.unit is high.unit is None and low.scale == high.scale == 1
        if is_bare and (mark == "-" or all(_YEARS[0] <= side.number < _YEARS[1] for side in (low, high))):
            continue
        yield from _joined(low, high)


def _spread(middle: _Side, around: _Side) -> Iterator[WrittenAmount]:
    unit = around.unit or middle.unit
    if middle.unit in (None, unit):
        ends = [middle._replace(number=middle.number + by * around.number, unit=unit) for by in (-1, 1)]
        yield _amount(*ends)


def _joined(low: _Side, high: _Side) -> Iterator[WrittenAmount]:
    """The range of two ends; scale and unit of the second hold for the first one as well, where that has none."""
    if low.scale == 1 and low.number * high.scale <= high.value:
        low = low._replace(scale=high.scale)
    low = low._replace(unit=low.unit or high.unit)
    high = high._replace(unit=high.unit or low.unit)
    if low.unit != high.unit:
        as_high = converted(float(low.value), low.unit or "", high.unit or "")
        if as_high is None:
            return
        low = _Side(Decimal(str(as_high)), Decimal(1), high.unit)
    if low.value <= high.value:
        yield _amount(low, high)


def _amount(low: _Side, high: _Side) -> WrittenAmount:
    return WrittenAmount(_float(low.value), _float(high.value), high.unit, high.scale != 1)


def _float(number: Decimal) -> float:
    return round(float(number), 6) + 0.0  # -0.0 is 0.0


def _side(text: str, language: str) -> _Side | None:
    """A sign, a currency, numbers with falling scales such as `3亿5千万`, a unit; None for anything else."""
    lead = _LEAD.match(text)
    assert lead is not None  # all of it may be missing
    currency = unit_name(lead["sign"]) if lead["sign"] else None
    total, scale, at = Decimal(0), Decimal(0), lead.end()
    while part := _PART.match(text, at):
        number = read_number(part["number"], language)
        factor = _factor(part, language, is_money=bool(currency) or is_currency(unit_name(text[part.end() :])))
        if number is None or (scale and (factor is None or not number * factor < scale)):
            return None
        letter_is_unit = bool(part["letter"]) and factor is None
        at = part.start("letter") if letter_is_unit else part.end()
        total += number * (factor or 1)
        scale = factor or Decimal(1)
        if factor is None:
            break
        at += text[at : at + 1] == " " and text[at + 1 : at + 2].isdecimal()
    if not scale or abs(total) >= _LARGEST:
        return None
    unit = _unit(text, at, total)
    if unit == "" or (currency and unit and unit != currency):
        return None
    sign = -1 if lead["minus"] or lead["inner"] else 1
    return _Side(sign * total / scale, scale, currency or unit)


def _factor(part: re.Match[str], language: str, *, is_money: bool) -> Decimal | None:
    """What a number is multiplied by; None without a word for it. A single letter is one of money or as a capital."""
    if part["letter"]:
        letter = part["letter"]
        is_scale = is_money or letter in "kKM" or letter == "B"
        return Decimal(_LETTERS[letter.lower()]) if is_scale else None
    if not part["scale"]:
        return None
    word = part["scale"].lower().removesuffix(".")
    return Decimal(units_of(language, "own_scales").get(word) or _WORDS.get(word) or 1)


def _unit(text: str, at: int, number: Decimal) -> str | None:
    """The unit behind a number; None for nothing, empty for what is no unit."""
    rest = text[at:].strip()
    if is_cjk(rest[:1]):
        rest = rest.removeprefix("余").removeprefix("多")
    if not rest:
        return None
    if rest.lower() in _PERCENT:
        return "%"
    if rest.lower().rstrip(".") in _NO_UNIT or _BOUND.search(rest) or (rest == "年" and number > _MOST_YEARS):
        return ""
    names = _RATE.split(rest, maxsplit=1)
    if len(names) > 1 and all(name and (is_known_unit(name) or name.isalpha()) for name in names):
        return "/".join(map(unit_name, names))
    if is_known_unit(rest):
        return unit_name(rest)
    is_counted = rest.isalpha() and (len(rest) <= _LONGEST_HAN_UNIT if is_cjk(rest) else text[at : at + 1] == " ")
    return unit_name(rest) if is_counted else ""


def in_unit(amount: WrittenAmount, unit: str) -> WrittenAmount | None:
    """An amount in a wanted unit, such as `km` or `亿元`; None where they do not measure the same.

    A bare number is taken to be in that unit. An amount in another currency keeps its own, at its full value.

    Examples:
        >>> in_unit(read_amount("3.5 billion yuan"), "亿元").low, in_unit(read_amount("5 miles"), "km").low
        (35.0, 8.04672)
        >>> in_unit(read_amount("12 %"), "CNY")
    """
    wanted = read_amount(f"1 {unit}") or WrittenAmount(1.0, 1.0, unit)
    name = wanted.unit or unit
    if amount.unit is None and not amount.is_scaled:
        return amount._replace(unit=unit_name(unit))
    own = amount.unit or name
    if is_currency(own) and is_currency(name) and own != name:
        return amount
    ends = [converted(end, own, name) for end in (amount.low, amount.high)]
    if any(end is None for end in ends):
        return None
    low, high = (round((end or 0.0) / wanted.low, 9) for end in ends)
    return WrittenAmount(low, high, unit_name(unit), amount.is_scaled)


_LONGEST_NUMBER: Final = 40
_COMMA_LANGUAGES: Final = frozenset("de fr es it nl pl cs sv da nb no fi hu pt ru uk tr ro bg el id vi".split())
"""Languages with a decimal comma."""


def read_number(written: str, language: str) -> Decimal | None:
    """The number that digits with their marks are, in Arabic or Chinese figures; None where they can be read in no way.

    A mark before other than three digits is decimal in every language; before three it is what the language uses.

    Examples:
        >>> [str(read_number(*each)) for each in (("1.500", "en"), ("1.500", "de"), ("1,5", "en"), ("三百五十", "zh"))]
        ['1.500', '1500.0', '1.5', '350']
    """
    if len(written) > _LONGEST_NUMBER:
        return None
    if not written[0].isdecimal():
        return han_number(written)
    digits, mark, power = written.lower().replace("'", " ").replace("’", " ").partition("e")
    groups = digits.split()
    if any(len(group.partition(".")[0].partition(",")[0]) != 3 for group in groups[1:]):  # noqa: PLR2004  digits
        return None
    plain = _with_point("".join(groups), language)
    return Decimal(f"{plain}e{power}" if mark else plain) if plain else None


def _with_point(digits: str, language: str) -> str | None:
    """Digits with a decimal point and without marks of thousands; None where neither reading is one."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        decimal = "," if digits.rfind(",") > digits.rfind(".") else "."
    elif points + commas == 1:
        mark = "." if points else ","
        before, _, after = digits.partition(mark)
        is_group = len(after) == 3 and len(before) <= 3 and before != "0"  # noqa: PLR2004  digits of a group
        in_language = "," if language in _COMMA_LANGUAGES else "."
        decimal = ("," if mark == "." else ".") if is_group and mark != in_language else mark
    else:
        decimal = "," if points else "."
    whole, _, part = digits.rpartition(decimal) if decimal in digits else (digits, "", "")
    first, *groups = whole.replace("," if decimal == "." else ".", " ").split(" ")
    if decimal in whole or decimal in part or any(len(group) != 3 for group in groups):  # noqa: PLR2004
        return None
    if (part and not part.isdecimal()) or (groups and len(first) > 3):  # noqa: PLR2004
        return None
    return f"{first}{''.join(groups)}.{part or 0}"


def han_number(written: str) -> Decimal | None:
    """`三百五十` is 350; None for digits in a row, which may be a year."""
    total, digit, last = 0, 0, 10_000
    for value in (int(unicodedata.numeric(character, 0)) for character in written):
        if value >= 10:  # noqa: PLR2004  a unit: ten, a hundred, a thousand
            if value >= last:
                return None
            total, digit, last = total + (digit or 1) * value, 0, value
        elif digit:
            return None
        else:
            digit = value
    return Decimal(total + digit)
