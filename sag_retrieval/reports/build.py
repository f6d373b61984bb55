"""From an opened release to communities beside it and a report below its home."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from sag_retrieval.communities.build import build_communities
from sag_retrieval.communities.events import EventTable, event_table
from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.naming import known_names, name_communities
from sag_retrieval.communities.options import ClusterOptions
from sag_retrieval.core.errors import QueryError
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.beside import mark_of, write_made
from sag_retrieval.release.leftovers import delete, sweep
from sag_retrieval.release.lock import write_lock
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.options import ReportOptions
from sag_retrieval.reports.report import Report, write_report
from sag_retrieval.reports.series import COMMUNITIES, REPORTS, find_before, read_kept, remember, write_tables
from sag_retrieval.reports.sums import SUMS, write_sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which events a report is about: `sql`, `where`, and a period such as `2019..2021-06` (either end may be open)."""

    sql: str | None = None
    where: Mapping[str, object] | None = None
    period: str = ""

    def told(self) -> str:
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
    if scope.sql or scope.where:
        allowed = reader.sandbox.allowed(scope.sql, scope.where)
        flags &= flags if allowed is None else allowed.events
    for condition in scope.conditions():
        allowed = reader.sandbox.allowed(condition)
        flags &= flags if allowed is None else allowed.events
    return event_table(reader.index, flags)


def release_communities(
    reader: Reader, options: ClusterOptions, chat: ChatModel | None = None, earlier: Path | None = None
) -> Communities:
    """The communities of a whole release, kept beside it; titles of communities with the same members are kept.

    Args:
        reader: The release.
        options: How events become communities; other options replace what is kept, and so does a damage to it.
        chat: Gives titles and summaries; None: rules do.
        earlier: Folder of an earlier release, whose titles are kept.

    """
    folder = reader.folder / COMMUNITIES
    events = event_table(reader.index)
    mark = _hash(asdict(options), chat.model_id if chat else "offline")
    kept = read_kept(folder, events.event_ids) if mark_of(folder) == mark else None
    if kept is not None:
        return kept
    others = read_kept(earlier / COMMUNITIES, events.event_ids) if earlier else None
    known = known_names(others) if others is not None else None
    communities = name_communities(events, build_communities(events, options), chat, known).communities
    with write_lock(reader.folder.parents[1] / REPORTS):
        sweep(reader.folder, f".{COMMUNITIES}-")
        if folder.exists():
            delete(folder)
        write_tables(folder, communities, events.event_ids)
        write_made(folder, mark)
    return communities


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
        scope=scope.told(),
        period=scope.period,
        events_before=total,
        events_after=len(events),
        models=f"{chat.model_id if chat else 'offline'}, {reader.manifest.embedding_model}",
    )
    series = (
        home / REPORTS / _hash(options.title, scope.told(), scope.period, asdict(options.cluster), options.language)
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


def _hash(*parts: object) -> str:
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
