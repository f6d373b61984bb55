"""Read a whole text as an amount: one number or a range, with scales and a unit, in the forms of several languages."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NamedTuple

from sag_retrieval.language.numbers import HAN_DIGITS, read_number
from sag_retrieval.language.units import CURRENCIES, SCALES, converted, is_currency, is_known_unit, unit_name
from sag_retrieval.language.words import is_cjk, normal_form

LONGEST: Final = 120
"""Characters of the longest amount."""
_LARGEST: Final = Decimal(10) ** 30
_LONGEST_HAN_UNIT: Final = 4
_WORDS: Final[dict[str, float]] = {
    **SCALES,
    **dict.fromkeys(("thousands", "tsd", "tausend", "тыс", "тысяч", "천"), 1e3),
    **dict.fromkeys(("만",), 1e4),
    **dict.fromkeys(("lakh",), 1e5),
    **dict.fromkeys("millions mio mill millionen millones millón milioni млн миллионов".split(), 1e6),
    **dict.fromkeys(("crore",), 1e7),
    **dict.fromkeys(("억",), 1e8),
    **dict.fromkeys("billions bln mrd mld milliarde milliarden milliard milliards млрд".split(), 1e9),
    **dict.fromkeys(("trillions", "tn", "trn", "萬億", "조"), 1e12),
}
_OF_LANGUAGE: Final[dict[str, dict[str, float]]] = {
    "de": {"billion": 1e12, "billionen": 1e12, "trillion": 1e18},
    "fr": {"billion": 1e12, "billions": 1e12, "mille": 1e3},
    "es": {"mil": 1e3},
    "pt": {"mil": 1e3},
}
_LETTERS: Final = {"k": 1e3, "m": 1e6, "b": 1e9}
_PERCENT: Final = frozenset({"%", "percent", "per cent", "percentage points", "个百分点", "百分点", "pct", "prozent"})
_NO_UNIT: Final = frozenset(
    "of out or and to than th st nd rd ago am pm in at on plus bc ad bce ce x by um uhr o'clock".split()
    + "月 日 号 號 点 時 时 月份".split()
)
"""What stands behind a number that counts nothing."""
_MOST_YEARS: Final = 200
_YEARS: Final = (1000, 2200)


def _either(names: set[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))


_ALL_WORDS: Final = (set(_WORDS) | {word for own in _OF_LANGUAGE.values() for word in own}) - set(_LETTERS)
_WORD_END: Final = r"(?![A-Za-z\u00c0-\u04ff])"
_SCALE: Final = (
    rf"(?:{_either({word for word in _ALL_WORDS if is_cjk(word)})}"
    rf"|(?:{_either({word for word in _ALL_WORDS if not is_cjk(word)})}){_WORD_END}\.?)"
)
_DIGITS: Final = r"\d+(?:[.,'’]\d+|\s\d{3}(?![\d.]))*(?:e[+-]?\d{1,2}(?![^\W_]))?"
_PART: Final = re.compile(
    rf"(?P<number>{_DIGITS}|[{HAN_DIGITS}]+)(?:[\s-]?(?P<scale>{_SCALE})|(?P<letter>[kKmMbB]){_WORD_END})?",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?P<minus>[-−]|minus\s|负|負|零下)?\s?"
    rf"(?P<sign>(?:{_either({*CURRENCIES, 'chf', 'aud', 'cad', 'inr'})}){_WORD_END})?\s?(?P<inner>[-−])?",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"(?:approximately|approx\.?|about|around|roughly|nearly|almost|some|circa|ca\.?|c\.|etwa|rund|environ|unos|около"
    r"|大约|大概|约为|约|近|将近|≈|~)\s?(?=[^\W_]|[-−$€£¥])",
    re.IGNORECASE,
)
_ABOUT_END: Final = re.compile(r"\s?(?:左右|上下|approx\.?|or so)\Z", re.IGNORECASE)
_BETWEEN: Final = re.compile(r"(?:between|from|zwischen|von|entre|介于|在|从)\s?", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"\s(?:to|bis|and|und|et|a|à)\s|\s?[至到和与~–—]\s?|\s?±\s?|\s?-\s?", re.IGNORECASE)
_BOUND: Final = re.compile(r"[以之前后後內内外起]")
"""What makes an amount a bound, as in `340人以上`."""
_AND: Final = frozenset({"and", "und", "et", "a", "à", "和", "与"})
"""What joins the ends of a range only behind `between`."""
_RATE: Final = re.compile(r"\s?/\s?|\sper\s|\spro\s|\spar\s", re.IGNORECASE)


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
    """One number as it is written."""

    number: Decimal
    scale: Decimal
    unit: str | None

    @property
    def value(self) -> Decimal:
        return self.number * self.scale


def read_amount(text: str, language: str = "en") -> WrittenAmount | None:
    """The amount that a text is, nothing left over; None for a bound such as `over 340`, a date, a score, any prose.

    Words such as `about` do not count. A range has both ends, `between 10 and 12 MW` as well as `10-12 MW`; of two
    bare numbers with a hyphen none is made, they may be a score or a telephone number.

    Args:
        text: A value.
        language: Its language: `1.500` is 1,500 in German, and a German `Billion` is a thousand English ones.

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
    return Decimal(_OF_LANGUAGE.get(language, {}).get(word) or _WORDS.get(word) or 1)


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
