"""Find dates in text as ISO values, each with its month and year."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from typing import Final, NamedTuple

from babel import Locale, UnknownLocaleError

from sag_retrieval.language.amounts import han_number
from sag_retrieval.language.data import patterns, units_of
from sag_retrieval.language.mentions import Mention

DATE = "date"
DAY = "day"
"""A day and month without a year, `03-05`."""
_NEAR = 400
"""A day without a year takes the last year named at most this number of characters before it."""

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""Of English: the beginnings of its names."""
_SAYS = patterns("all")
_FORMS = _SAYS["date"]
_CODE = _SAYS["code_before_year"]
"""What stands before the number and year of a standard: `IEEE 1588-2008`; FY and CY stand before years."""
_NUMBERED = _SAYS["noun_before_number"]
"""Nouns before a number that counts nothing and is no year: `Clause 2015`."""
_DASHED_YEAR = _SAYS["dashed_year"]
_COUNTED = _SAYS["counted_behind"]
_PLAIN_YEAR_ONLY = re.compile(r"[\u3400-\u9fff]")


_KOREAN = patterns("ko")["date"]
_ERAS = units_of("ja", "eras")
"""Eras of Japan since months and days are those of the Western calendar, and the year before their first."""
_ERA = patterns("ja")["date_of_era"]
_SLASHED = _SAYS["slashed_date"]
_MOST_MONTH = 12
_YOUNG = 70
"""Two digits below this are a year from 2000 on, others one before."""
_BUDDHIST_YEARS = 543
"""Thai texts count years from 543 before our era."""
_ALSO_IN = {"de": "de_AT"}
"""A country whose months have other names in the same language: Jänner."""
_OWN_FORMS = frozenset({"en", "zh", "ja"})
"""Languages whose dates the expression above has."""


class _Found(NamedTuple):
    start: int
    end: int
    year: int
    month: int
    day: int
    is_same_year: bool = False
    """Whether words say that the year is the one before (`同年`)."""


def dates(text: str, language: str = "en") -> Iterator[Mention]:
    """Every date in order, a mention for each of its day, month and year: `2019-03-05`, `2019-03`, `2019`.

    A bare number is a year from 1500 to 2099 unless something is counted with it (`1800 passages`) or it stands in
    Chinese without 年, or names a clause, a model or a standard (`ISO 14040-2006`). A day and month without a year take
    the last year named shortly before, else they are a `day` (see `with_year`). `5/3/2019` is read with the day first,
    or the month, as other dates of the text show; where none does, by the language, and in English as its year alone.
    """
    last_year, last_end = 0, -_NEAR
    for found in _in_order(text, language):
        start, end, year, month, day, is_same_year = found
        if not year and end - last_end <= _NEAR + (end - start) and (day or is_same_year):
            year = last_year
        if year:
            last_year, last_end = year, end
        yield from _mentions(start, end, year, month, day)


def bare_month(text: str, language: str, today: str) -> str | None:
    """A month without a year as the last of that name up to a day; None for any other text.

    Examples:
        >>> bare_month("May", "en", "2025-03-31"), bare_month("5月", "zh", "2025-06-01")
        ('2024-05', '2025-05')
    """
    for year in (int(today[:4]), int(today[:4]) - 1):
        written = f"{year}年{text}" if text.endswith("月") else f"{text} {year}"
        for each in dates(written, language):
            if (
                each.end - each.start == len(written)
                and len(str(each.value)) == len("2025-05")
                and str(each.value) <= today
            ):
                return str(each.value)
    return None


def with_year(mention: Mention, context: str) -> Iterator[Mention]:
    """A `day` as the date, month and year that lie nearest to a date of its place; anything else as it is.

    Examples:
        >>> [each.value for each in with_year(Mention(0, 11, DAY, "12-28"), "2026-01-05")]
        ['2025-12-28', '2025-12', '2025']
    """
    if mention.key_type != DAY:
        yield mention
        return
    month, day = map(int, str(mention.value).split("-"))
    year, *rest = map(int, context.split("-"))
    near = date(year, *rest, *(1,) * (2 - len(rest)))
    years = (year, year - 1, year + 1) if rest else (year,)  # a place that is dated by its year alone says no more
    found = [made for each in years if (made := _day_of(each, month, day))]
    if not found:
        yield mention
        return
    chosen = min(found, key=lambda made: abs(made - near))
    yield from _mentions(mention.start, mention.end, chosen.year, month, day)


def _day_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _in_order(text: str, language: str) -> Iterator[_Found]:
    found = list(_by_form(text, language))
    if language == "ja" and (eras := list(_by_era(text))):
        starts = [one.start for one in eras]
        found = sorted([*eras, *(one for one in found if not _overlaps(one, eras, starts))])
    if language in _OWN_FORMS or (pattern := _months_pattern(language)) is None:
        yield from found
        return
    named = list(_by_month_name(text, language, pattern))
    starts = [one.start for one in named]
    yield from sorted([*named, *(one for one in found if not _overlaps(one, named, starts))])


def _by_era(text: str) -> Iterator[_Found]:
    """Dates whose year is counted in a Japanese era: 令和5年3月1日."""
    for found in _ERA.finditer(text):
        year = int(_ERAS[found["era"]]) + (1 if found["year"] == "元" else int(found["year"]))
        yield _Found(found.start(), found.end(), year, int(found["month"] or 0), int(found["day"] or 0))


def _overlaps(one: _Found, others: Sequence[_Found], starts: Sequence[int]) -> bool:
    row = bisect_left(starts, one.end)
    return row > 0 and others[row - 1].end > one.start


def _by_form(text: str, language: str) -> Iterator[_Found]:
    day_first: bool | None = None
    for found in _FORMS.finditer(text):
        if found["y7"] and (_is_count(text, found) or _is_numbered(text, found)):
            continue
        if found["y8"] and _is_no_range(text, found):
            continue
        if found["one"]:
            day_first = _is_day_first(text, language) if day_first is None else day_first
            year, month, day = _slashed(found, day_first=day_first)
        else:
            year, month, day = _parts(found)
        yield _Found(found.start(), found.end(), year, month, day, bool(found["same"]))


def _is_day_first(text: str, language: str) -> bool | None:
    """How a text writes dates with slashes, by those that can be read in one way alone."""
    pairs = [(int(found["one"]), int(found["two"])) for found in _SLASHED.finditer(text)]
    first = sum(one > _MOST_MONTH >= two for one, two in pairs)
    second = sum(two > _MOST_MONTH >= one for one, two in pairs)
    if first == second:
        return None if language == "en" else True
    return first > second


def _slashed(found: re.Match[str], *, day_first: bool | None) -> tuple[int, int, int]:
    one, two, year = int(found["one"]), int(found["two"]), int(found["y11"])
    if one > _MOST_MONTH or two > _MOST_MONTH:
        day_first = one > _MOST_MONTH
    if day_first is None or not (one and two and min(one, two) <= _MOST_MONTH):
        return year, 0, 0
    return (year, two, one) if day_first else (year, one, two)


@cache
def _months(language: str) -> dict[str, int]:
    """Month by its names in a language, in small letters; empty for a language without data."""
    try:
        names = [Locale.parse(each).months for each in (_ALSO_IN.get(language, language), language)]
    except (UnknownLocaleError, ValueError):
        return {}
    found = {
        name.lower().rstrip("."): month
        for each in names
        for form in ("format", "stand-alone")
        for width in ("wide", "abbreviated")
        for month, name in each[form][width].items()
        if any(map(str.isalpha, name)) and len(name) > 1
    }
    if language == "ru":  # the data have `марта` and `март`, a text also `в марте`, `с мартом`
        for name, month in zip(names[0]["format"]["wide"].values(), range(1, 13), strict=True):
            found |= dict.fromkeys((f"{name[:-1]}е", f"{name[:-1]}ём", f"{name[:-1]}ем", f"{name[:-1]}ом"), month)
    return found


@cache
def _months_pattern(language: str) -> re.Pattern[str] | None:
    """Dates with a month's name: `3. Mai 2024`, `1er mars 2024`, `5 de mayo de 2024`, `2024년 3월 5일`."""
    if language == "ko":
        return _KOREAN
    months = _months(language)
    if not months:
        return None
    month = "|".join(re.escape(name) for name in sorted(months, key=lambda name: (-len(name), name)))
    of = r"(?:\s(?:de|del|di|d’|d')?\s?|\s?)"
    return re.compile(
        rf"(?:(?<![\d.,])(?P<day>3[01]|[12]\d|0?[1-9])(?:\.|er|º|ª|th)?{of})?(?<!\w)(?P<month>{month})(?!\w)\.?"
        rf"(?:{of}(?P<year>(?:1[5-9]|2[0-6])\d\d)(?!\d))?",
        re.IGNORECASE,
    )


def _by_month_name(text: str, language: str, pattern: re.Pattern[str]) -> Iterator[_Found]:
    for found in pattern.finditer(text):
        day, name, year = int(found["day"] or 0), found["month"] or "", int(found["year"] or 0)
        if not year and not day:
            continue  # a month's name alone dates nothing
        month = int(name) if name.isdigit() else _months(language).get(name.lower(), 0)
        if language == "th" and year > _BUDDHIST_YEARS + 1500:
            year -= _BUDDHIST_YEARS
        yield _Found(found.start(), found.end(), year, month, day)


def _parts(found: re.Match[str]) -> tuple[int, int, int]:
    given = found.groupdict()
    if given["compact"]:
        digits = given["compact"]
        return int(digits[:4]), int(digits[4:6]), int(digits[6:])
    year = next((given[f"y{n}"] for n in (1, 2, 4, 5, 6, 7, 8, 9, 10) if given[f"y{n}"]), "")
    month = next((given[f"m{n}"] for n in (*range(1, 7), 8, 9) if given[f"m{n}"]), "")
    day = next((given[f"d{n}"] for n in (*range(1, 6), 8, 9) if given[f"d{n}"]), "")
    number = _number(year)
    if len(year) == 2:  # noqa: PLR2004  15-Aug-22
        number += 2000 if number < _YOUNG else 1900
    return number, _number(month), _number(day)


def _number(digits: str) -> int:
    """A number in Arabic or Chinese figures, or a month by its name."""
    if not digits or digits.isascii():
        return int(digits) if digits.isdigit() else _month_number(digits)
    value = han_number(digits)
    if value is None:  # figures in a row: 二〇二一
        return int("".join(str(int(unicodedata.numeric(character, 0))) for character in digits))
    return int(value)


def _month_number(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1 if name else 0


def _is_count(text: str, found: re.Match[str]) -> bool:
    after = text[found.end() : found.end() + 24]
    if _COUNTED.match(after):
        return True
    return bool(_PLAIN_YEAR_ONLY.match(after.lstrip()[:1]))


def _is_numbered(text: str, found: re.Match[str]) -> bool:
    """Whether a number names a clause or model, or with the year behind it a standard."""
    before = text[max(0, found.start() - 24) : found.start()]
    is_code = _DASHED_YEAR.match(text, found.end()) is not None and _CODE.search(before) is not None
    return is_code or _NUMBERED.search(before) is not None


def _is_no_range(text: str, found: re.Match[str]) -> bool:
    """Whether the years around a dash do not ascend, or are the number and the year of a standard."""
    first = found.start() - len("1998-")
    return (
        int(text[first : first + 4]) >= int(found["y8"]) or _CODE.search(text[max(0, first - 24) : first]) is not None
    )


def _mentions(start: int, end: int, year: int, month: int, day: int) -> Iterator[Mention]:
    if not year:
        if month and day:
            yield Mention(start, end, DAY, f"{month:02}-{day:02}")
        return
    if month and day and (made := _day_of(year, month, day)):
        yield Mention(start, end, DATE, made.isoformat())
    if month:
        yield Mention(start, end, DATE, f"{year:04}-{month:02}")
    yield Mention(start, end, DATE, f"{year:04}")
