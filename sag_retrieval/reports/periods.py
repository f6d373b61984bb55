"""Periods of reports: two dates, or a rolling one such as `last 7 days`, counted back from a release's date."""

import re
from datetime import date, timedelta
from typing import Final

from sag_retrieval.core.errors import QueryError

_ROLLING: Final = re.compile(r"last (?:(\d{1,4}) )?(day|week|month|quarter|year)s?|this (week|month|quarter|year)")
_DATES: Final = re.compile(r"(\d{4}(?:-\d\d(?:-\d\d)?)?)?\.\.(\d{4}(?:-\d\d(?:-\d\d)?)?)?")
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}


def resolved_period(period: str, today: date) -> str:
    """The period as two dates with `..` between; either may be empty.

    Examples:
        >>> resolved_period("last 7 days", date(2026, 11, 22))
        '2026-11-16..2026-11-22'
        >>> resolved_period("this quarter", date(2026, 11, 22))
        '2026-10-01..2026-11-22'
        >>> resolved_period("2019..2021-06", date(2026, 11, 22))
        '2019..2021-06'

    Args:
        period: Two dates, `last N days` (weeks, months, quarters, years), or `this week` (month, quarter, year).
        today: The last day of a rolling period.

    Raises:
        QueryError: If it is none of these.

    """
    asked = " ".join(period.casefold().split())
    if found := _ROLLING.fullmatch(asked):
        first = _this(found[3], today) if found[3] else _last(int(found[1] or 1), found[2], today)
        return f"{first.isoformat()}..{today.isoformat()}"
    if not _DATES.fullmatch(asked):
        raise QueryError(
            f"period {period!r} is not like 2019..2021-06 (either end may be open), `last 7 days` or `this quarter`"
        )
    return asked


def _this(unit: str, today: date) -> date:
    """The first day of the week, month, quarter or year of a day."""
    if unit == "week":
        return today - timedelta(days=today.weekday())
    months = _MONTHS[unit]
    return today.replace(month=(today.month - 1) // months * months + 1, day=1)


def _last(count: int, unit: str, today: date) -> date:
    """The first of `count` days, weeks, months, quarters or years that end with a day; no earlier than year 1."""
    try:
        if unit in ("day", "week"):
            return today - timedelta(days=count * (7 if unit == "week" else 1) - 1)
        month = today.year * 12 + today.month - 1 - count * _MONTHS[unit]
        start = date(month // 12, month % 12 + 1, 1)
    except (OverflowError, ValueError):
        return date.min
    following = date(start.year + start.month // 12, start.month % 12 + 1, 1)
    day = min(today.day, (following - start).days)
    return start.replace(day=day) + timedelta(days=1)
