"""Which events of a release a report is about."""

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags, event_table
from sag_retrieval.clusters.storage import DAMAGE
from sag_retrieval.core import durable
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.where import schema_of_release
from sag_retrieval.reports.periods import resolved_period

_SEEN: Final = "seen.json"
"""What the events stated that a report about new ones leaves out the next time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which events a report is about: `sql`, `where`, and a period.

    A period is two dates such as `2019..2021-06` (either end may be open), or a rolling one such as `last 7 days`,
    which ends with the date of the release.
    """

    sql: str | None = None
    where: Mapping[str, object] | None = None
    period: str = ""
    only_new: bool = False
    """Only events that the last report of the same kind was not about; a first report is about all."""

    def in_words(self) -> str:
        """The restriction in words; empty for everything."""
        parts = [
            self.sql or "",
            json.dumps(self.where, ensure_ascii=False, sort_keys=True) if self.where else "",
        ]
        return " · ".join(filter(None, parts))

    def conditions(self, today: date) -> list[str]:
        """SQL conditions of the period; a rolling one ends with `today`.

        Raises:
            QueryError: If it is no period.

        """
        if not self.period:
            return []
        first, _, last = resolved_period(self.period, today).partition("..")
        return [*([f"date >= '{first}'"] if first else []), *([f"date < '{last}~'"] if last else [])]


def chosen_flags(reader: Reader, scope: Scope) -> Flags:
    """Which events of a release a scope selects, new or not.

    Raises:
        FilterError: If the restriction was refused.

    """
    flags = np.ones(reader.index.arrays.event_count, dtype=np.bool_)
    if scope.sql is not None or scope.where is not None:
        allowed = reader.sandbox.allowed(scope.sql, scope.where)
        flags &= flags if allowed is None else allowed.events
    released = date.fromisoformat(reader.manifest.created_at[:10])
    for condition in scope.conditions(released):
        allowed = reader.sandbox.allowed(condition)
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
