"""Make a report of an opened release: restrict its events, group them, write the report below its home."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from sag_retrieval.communities.clustering import build_communities
from sag_retrieval.communities.events import EventTable, event_table
from sag_retrieval.communities.naming import known_names, name_communities
from sag_retrieval.communities.storage import REPORTS, settings_hash
from sag_retrieval.core.errors import QueryError
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.folders import SUMS, write_sums
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import Report, write_report
from sag_retrieval.reports.series import find_before, remember


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which events a report is about: `sql`, `where`, and a period such as `2019..2021-06` (either end may be open)."""

    sql: str | None = None
    where: Mapping[str, object] | None = None
    period: str = ""

    def in_words(self) -> str:
        """The restriction in words; empty for everything."""
        parts = [
            self.sql or "",
            json.dumps(self.where, ensure_ascii=False, sort_keys=True) if self.where else "",
        ]
        return " · ".join(filter(None, parts))

    def conditions(self) -> list[str]:
        """SQL conditions of the period.

        Raises:
            QueryError: If the period is not two ISO dates with `..` between them.

        """
        if not self.period:
            return []
        first, dots, last = self.period.partition("..")
        if not dots or not all(part == "" or part.replace("-", "").isdigit() for part in (first, last)):
            raise QueryError(f"period {self.period!r} is not like 2019..2021-06; either end may be left open")
        return [*([f"date >= '{first}'"] if first else []), *([f"date < '{last}~'"] if last else [])]


def chosen_events(reader: Reader, scope: Scope) -> EventTable:
    """The events of a release that a scope leaves.

    Raises:
        FilterError: If the restriction was refused.

    """
    flags = np.ones(reader.index.arrays.event_count, dtype=np.bool_)
    if scope.sql is not None or scope.where is not None:
        allowed = reader.sandbox.allowed(scope.sql, scope.where)
        flags &= flags if allowed is None else allowed.events
    for condition in scope.conditions():
        allowed = reader.sandbox.allowed(condition)
        flags &= flags if allowed is None else allowed.events
    return event_table(reader.index, flags)


def make_report(
    reader: Reader,
    home: Path,
    *,
    scope: Scope | None = None,
    options: ReportOptions | None = None,
    out: Path | None = None,
    chat: ChatModel | None = None,
) -> Report:
    """Write a report about a release, and what changed since the report of the same kind before it.

    Reports of one scope, title and options are a series below `home/reports`; each remembers its predecessor, so the
    same report written again is the same.
    """
    scope, options = scope or Scope(), options or ReportOptions()
    events = chosen_events(reader, scope)
    total = reader.index.arrays.event_count
    options = replace(
        options,
        release=reader.manifest.release_id,
        released=reader.manifest.created_at[:10],
        scope=scope.in_words(),
        period=scope.period,
        events_before=total,
        events_after=len(events),
        models=f"{chat.model_id if chat else 'offline'}, {reader.manifest.embedding_model}",
    )
    series = (
        home
        / REPORTS
        / settings_hash(options.title, scope.in_words(), scope.period, asdict(options.cluster), options.language)
    )
    own = series / reader.manifest.release_id
    before = find_before(series, own, events.event_ids)
    known = known_names(before.communities) if before.communities is not None else None
    named = name_communities(events, build_communities(events, options.cluster), chat, known)
    options = replace(options, failures=named.failures)
    (own / SUMS).unlink(missing_ok=True)
    report = write_report(events, named.communities, options, out or own, before.previous, chat)
    remember(series, own, before.release, named.communities, events.event_ids)
    write_sums(own)
    return replace(report, previous=before.release, fault=before.fault)
