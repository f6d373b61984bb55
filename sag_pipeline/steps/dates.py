"""Dates in Chinese and English text, as ISO text, each with the month and year it lies in."""

import re
from collections.abc import Iterator
from datetime import date

from sag_pipeline.steps.keys import Mention

DATE = "date"
DAY = "day"
"""A day and month without a year, `03-05`."""
_NEAR = 400
"""A day without a year takes the last year named at most so many characters before it."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:1[0-9]|20|21)\d\d"
_DIGITS = "〇零一二三四五六七八九"
_HAN = "[〇零○一二三四五六七八九]"
_FORMS = re.compile(
    rf"""(?=[\d〇零○一二三四五六七八九同当當A-S])(?:
    (?<![\d.,/-])(?P<y1>{_YEAR})(?P<sep>[-/.])(?P<m1>1[0-2]|0?[1-9])(?:(?P=sep)(?P<d1>3[01]|[12]\d|0?[1-9])|(?<!\.[1-9])(?<!\.\d\d))(?![\d/.-]*\d)
    | (?<!\d)(?P<y2>{_YEAR}|{_HAN}{{4}})\s?(?:年(?!代)|财年|財年|财务年度|年度)
        (?:\s?(?P<m2>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月(?:份)?
        (?:\s?(?P<d2>[12]\d|3[01]|0?[1-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])\s?[日号號])?)?
    | (?P<same>同年|当年|當年)?(?<!\d)(?P<m3>1[0-2]|0?[1-9])\s?月\s?(?:(?P<d3>[12]\d|3[01]|0?[1-9])\s?[日号號])?
    | \b(?P<m4>{_MONTH})\s?(?P<d4>3[01]|[12]?\d)(?:st|nd|rd|th)?\b(?!\s?[%\d])(?:,?\s?(?P<y4>{_YEAR})\b)?
    | \b(?P<d5>3[01]|[12]?\d)(?:st|nd|rd|th)?\s?(?:,|of)?\s?(?P<m5>{_MONTH})(?:,?\s?(?P<y5>{_YEAR})\b)?
    | \b(?P<m6>{_MONTH}),?\s(?:of\s)?(?P<y6>{_YEAR})\b
    | (?<![\d.])(?P<compact>(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))(?![\d.])
    | (?<![\w$€£¥.,#/-])(?:FY\s?)?(?P<y7>1[5-9]\d\d|20\d\d)
        (?:(?=[–—-](?:\d\d|\d{{4}})\b)|(?![\w%/]|[.,-]\d|-\w))(?!\s?[%°])
    | (?<=\d\d\d\d[–—-])(?P<y8>1[5-9]\d\d|20\d\d)\b)
    """,
    re.VERBOSE,
)
_COUNTED = re.compile(r"\s(?!was\b|is\b|has\b|as\b|this\b|its\b|his\b|us\b|across\b|versus\b)[a-z]{2,}s\b")
_PLAIN_YEAR_ONLY = re.compile(r"[\u3400-\u9fff]")


def dates(text: str) -> Iterator[Mention]:
    """Every date in order, a mention for each of its day, month and year: `2019-03-05`, `2019-03`, `2019`.

    A bare number is a year from 1500 to 2099 unless something is counted with it (`1800 passages`) or it stands in
    Chinese without 年. A day and month without a year take the last year named shortly before, else they are a `day`.
    """
    last_year, last_end = 0, -_NEAR
    for found in _FORMS.finditer(text):
        year, month, day = _parts(found)
        if not year and found.end() - last_end <= _NEAR + (found.end() - found.start()) and (day or found["same"]):
            year = last_year
        elif found["y7"] and _is_count(text, found):
            continue
        if year:
            last_year, last_end = year, found.end()
        yield from _mentions(found.start(), found.end(), year, month, day)


def _parts(found: re.Match[str]) -> tuple[int, int, int]:
    given = found.groupdict()
    if given["compact"]:
        digits = given["compact"]
        return int(digits[:4]), int(digits[4:6]), int(digits[6:])
    year = next((given[f"y{n}"] for n in (1, 2, 4, 5, 6, 7, 8) if given[f"y{n}"]), "")
    month = next((given[f"m{n}"] for n in range(1, 7) if given[f"m{n}"]), "")
    day = next((given[f"d{n}"] for n in range(1, 6) if given[f"d{n}"]), "")
    return _number(year), _number(month), _number(day)


def _number(digits: str) -> int:
    if not digits or digits.isascii():
        return int(digits) if digits.isdigit() else _month_number(digits)
    if "十" in digits:
        tens, _, ones = digits.partition("十")
        return 10 * (_DIGITS.index(tens) - 1 if tens else 1) + (_DIGITS.index(ones) - 1 if ones else 0)
    value = 0
    for digit in digits:
        value = 10 * value + max(0, _DIGITS.index(digit if digit != "○" else "〇") - 1)
    return value


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1 if name else 0


def _is_count(text: str, found: re.Match[str]) -> bool:
    after = text[found.end() : found.end() + 24]
    if _COUNTED.match(after):
        return True
    return bool(_PLAIN_YEAR_ONLY.match(after.lstrip()[:1]))


def _mentions(start: int, end: int, year: int, month: int, day: int) -> Iterator[Mention]:
    if not year:
        if month and day:
            yield Mention(start, end, DAY, f"{month:02}-{day:02}")
        return
    if month and day:
        try:
            yield Mention(start, end, DATE, date(year, month, day).isoformat())
        except ValueError:
            day = 0
    if month:
        yield Mention(start, end, DATE, f"{year:04}-{month:02}")
    yield Mention(start, end, DATE, f"{year:04}")
