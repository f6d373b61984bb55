"""From an opened release to communities beside it and a report below its home."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TypeGuard
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval import durable
from sag_retrieval.errors import QueryError
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.beside import mark_of, write_made
from sag_retrieval.release.reader import Reader
from sag_retrieval.reports.changes import Previous
from sag_retrieval.reports.communities import build_communities
from sag_retrieval.reports.events import EventTable
from sag_retrieval.reports.from_index import event_table
from sag_retrieval.reports.groups import Communities
from sag_retrieval.reports.naming import known_names, name_communities
from sag_retrieval.reports.options import ClusterOptions, ReportOptions
from sag_retrieval.reports.report import Report, write_report
from sag_retrieval.reports.sums import SUMS, write_sums
from sag_retrieval.reports.tables import COMMUNITY_SCHEMAS, communities_tables, read_communities

COMMUNITIES = "communities"
_LATEST = "LATEST"


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
        allowed = reader.door.allowed(scope.sql, scope.where)
        flags &= flags if allowed is None else allowed.events
    for condition in scope.conditions():
        allowed = reader.door.allowed(condition)
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
    if mark_of(folder) == mark:
        return _read(folder, events.event_ids)
    known = known_names(_read(earlier / COMMUNITIES, events.event_ids)) if _is_made(earlier) else None
    communities = name_communities(events, build_communities(events, options), chat, known).communities
    draft = reader.folder / f".{COMMUNITIES}-{uuid4().hex}"
    _write(draft, communities, events.event_ids)
    write_made(draft, mark)
    shutil.rmtree(folder, ignore_errors=True)
    durable.rename(draft, folder)
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
        home / "reports" / _hash(options.title, scope.told(), scope.period, asdict(options.cluster), options.language)
    )
    own = series / reader.manifest.release_id
    before = _before(series, own)
    previous = _previous(series / before) if before else None
    known = known_names(_read(series / before / COMMUNITIES, events.event_ids)) if before else None
    named = name_communities(events, build_communities(events, options.cluster), chat, known)
    options = replace(options, failures=named.failures)
    (own / SUMS).unlink(missing_ok=True)
    report = write_report(events, named.communities, options, out or own, previous, chat)
    _remember(series, own, before, named.communities, events.event_ids)
    write_sums(own)
    return report


def _before(series: Path, own: Path) -> str:
    """Release of the report before this one in its series; empty for the first."""
    if (own / "report.json").is_file():
        return str(json.loads((own / "report.json").read_text(encoding="utf-8"))["previous"])
    latest = series / _LATEST
    return latest.read_text(encoding="utf-8").strip() if latest.is_file() else ""


def _previous(folder: Path) -> Previous:
    tables = _tables(folder / COMMUNITIES)
    ids = sorted(set(tables["community_events"]["event_id"].to_pylist()))
    return Previous.of(read_communities(tables, ids), ids, folder.name)


def _remember(series: Path, own: Path, before: str, communities: Communities, event_ids: Sequence[str]) -> None:
    shutil.rmtree(own / COMMUNITIES, ignore_errors=True)
    _write(own / COMMUNITIES, communities, event_ids)
    told = {"release": own.name, "previous": before}
    (own / "report.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    (series / _LATEST).write_text(own.name, encoding="utf-8")


def _write(folder: Path, communities: Communities, event_ids: Sequence[str]) -> None:
    folder.mkdir(parents=True)
    for name, rows in communities_tables(communities, event_ids).items():
        pq.write_table(rows, folder / f"{name}.parquet", compression="zstd")


def _tables(folder: Path) -> dict[str, pa.Table]:
    return {name: pq.read_table(folder / f"{name}.parquet") for name in COMMUNITY_SCHEMAS}


def _read(folder: Path, event_ids: Sequence[str]) -> Communities:
    return read_communities(_tables(folder), event_ids)


def _is_made(release: Path | None) -> TypeGuard[Path]:
    return release is not None and mark_of(release / COMMUNITIES) is not None


def _hash(*parts: object) -> str:
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
