"""Which events of a release a report is about: a restriction, a period, what is new; and their period in words."""

import json
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags, event_table
from sag_retrieval.clusters.storage import DAMAGE
from sag_retrieval.core import durable
from sag_retrieval.core.errors import QueryError
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.where import schema_of_release

_SEEN: Final = "seen.json"
"""What the events stated that a report about new ones leaves out the next time."""


_ROLLING: Final = re.compile(r"last (?:(\d{1,4}) )?(day|week|month|quarter|year)s?|this (week|month|quarter|year)")
_DATE: Final = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_DATES: Final = re.compile(r"(\d{4}(?:-\d\d(?:-\d\d)?)?)?\.\.(\d{4}(?:-\d\d(?:-\d\d)?)?)?")
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which events a report is about: `sql`, `where`, and a period.

    A period is two dates such as `2019..2021-06` (either end may be open), or a rolling one such as `last 7 days`,
    which ends with the date of the release.
    """

    sql: str | None = None
    where: Mapping[str, object] | None = None
    period: str = ""
    within: str = ""
    """The restriction of the one who asks, in words: what is kept for others is none of theirs."""
    only_new: bool = False
    """Only events that the last report of the same kind was not about; a first report is about all."""

    def in_words(self) -> str:
        """The restriction in words; empty for everything."""
        parts = [
            self.sql or "",
            json.dumps(self.where, ensure_ascii=False, sort_keys=True) if self.where else "",
        ]
        return " · ".join(filter(None, parts))

    def conditions(self, today: date) -> list[dict[str, object]]:
        """Conditions of the period, as of `where`; a rolling one ends with `today`.

        Raises:
            QueryError: If it is no period.

        """
        if not self.period:
            return []
        first, _, last = resolved_period(self.period, today).partition("..")
        return [{name: day} for name, day in (("date__gte", first), ("date__lte", last)) if day]


def chosen_flags(reader: Reader, scope: Scope) -> Flags:
    """Which events of a release a scope selects, new or not.

    Raises:
        FilterError: If the restriction was refused.

    """
    flags = np.ones(reader.index.arrays.event_count, dtype=np.bool_)
    allowed = reader.allowed(scope.sql, scope.where)
    flags &= flags if allowed is None else allowed.events
    released = date.fromisoformat(reader.manifest.created_at[:10])
    for condition in scope.conditions(released):
        allowed = reader.allowed(where=condition)
        flags &= flags if allowed is None else allowed.events
    return flags


def chosen_events(reader: Reader, scope: Scope) -> EventTable:
    """The events of a release that a scope selects.

    Raises:
        FilterError: If the restriction was refused.

    """
    return _events(reader, chosen_flags(reader, scope))


def _events(reader: Reader, flags: Flags) -> EventTable:
    """The chosen events, with the release's own key types."""
    events = event_table(reader.index, flags)
    return replace(events, keys=replace(events.keys, schema=schema_of_release(reader.manifest.key_schema)))


def statement_keys(events: EventTable) -> list[str]:
    """A hash of what each event states and when: an event of a document that was edited elsewhere keeps it."""
    stated = (f"{date or ''}\x1f{content}" for content, date in zip(events.contents, events.dates, strict=True))
    return [blake2b(each.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest() for each in stated]


def remember_seen(own: Path, seen: Iterable[str]) -> None:
    """Store what a report about new events, and those before it, were about."""
    durable.write_text(own / _SEEN, json.dumps(sorted(set(seen))))


def seen_before(series: Path, release: str) -> frozenset[str]:
    """What the report of a release and those before it were about; nothing where that is not known."""
    try:
        return frozenset(map(str, json.loads((series / release / _SEEN).read_text(encoding="utf-8"))))
    except DAMAGE:
        return frozenset()


def only_unseen(reader: Reader, scope: Scope, seen: AbstractSet[str]) -> EventTable:
    """The events that a scope selects and that state something not seen before."""
    flags = chosen_flags(reader, scope)
    keys = statement_keys(event_table(reader.index, flags))
    flags[np.flatnonzero(flags)] = np.array([key not in seen for key in keys], dtype=np.bool_)
    return _events(reader, flags)


def selection_hash(reader: Reader, scope: Scope) -> str:
    """A hash of what a scope selects: equal in two releases where a report would be about the same events.

    Raises:
        FilterError: If the restriction was refused.

    """
    digest = blake2b(digest_size=12)
    for key in sorted(statement_keys(chosen_events(reader, scope))):
        digest.update(key.encode())
    return digest.hexdigest()


def resolved_period(period: str, today: date) -> str:
    """The period as two dates with `..` between; either may be empty.

    Examples:
        >>> resolved_period("last 7 days", date(2026, 11, 22))
        '2026-11-16..2026-11-22'
        >>> resolved_period("this quarter", date(2026, 11, 22))
        '2026-10-01..2026-11-22'
        >>> resolved_period("2019..2021-06", date(2026, 11, 22))
        '2019..2021-06'
        >>> resolved_period("2024-03", date(2026, 11, 22))
        '2024-03..2024-03'

    Args:
        period: A year, month or day, two of them, `last N days` (weeks,
            months, quarters, years), or `this week` (month, quarter, year).
        today: The last day of a rolling period.

    Raises:
        QueryError: If it is none of these.

    """
    asked = " ".join(period.casefold().split())
    if found := _ROLLING.fullmatch(asked):
        first = _this(found[3], today) if found[3] else _last(int(found[1] or 1), found[2], today)
        return f"{first.isoformat()}..{today.isoformat()}"
    if _DATE.fullmatch(asked):
        return f"{asked}..{asked}"
    if not _DATES.fullmatch(asked):
        raise QueryError(
            f"period {period!r} is not like 2024, 2024-03, 2019..2021-06 (either end may be open), `last 7 days` or "
            "`this quarter`"
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
