"""The reports of one kind, one after another below `home/reports`: which came before, and which may go."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.tables import COMMUNITY_SCHEMAS, communities_tables, read_communities
from sag_retrieval.release.leftovers import delete, sweep
from sag_retrieval.release.lock import write_lock
from sag_retrieval.reports.changes import Previous

COMMUNITIES = "communities"
REPORTS = "reports"
_LATEST = "LATEST"
_DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, pa.ArrowException)
"""What reading raises where a file is missing, cut short or of another form."""


@dataclass(frozen=True, slots=True)
class Before:
    """The report before one in its series. Without `release` there is none to compare with; `fault` says why not."""

    release: str = ""
    """Its release; kept when it cannot be read any more, so that the series goes on as it was."""
    previous: Previous | None = None
    communities: Communities | None = None
    fault: str = ""


def find_before(series: Path, own: Path, event_ids: Sequence[str]) -> Before:
    """What the report in the folder `own` is compared with; a predecessor that cannot be read counts as none."""
    told = _told(own)
    release = told if told is not None else _latest(series)
    if release in ("", own.name):
        return Before()
    folder = series / release / COMMUNITIES
    try:
        tables = read_tables(folder)
        ids = sorted(set(tables["community_events"]["event_id"].to_pylist()))
        previous = Previous.of(read_communities(tables, ids), ids, release)
        return Before(release, previous, read_communities(tables, event_ids))
    except _DAMAGE as error:
        kind = "is gone" if not (series / release).is_dir() else f"cannot be read ({type(error).__name__})"
        return Before(release, fault=f"the report of {release} before this one {kind}: nothing is compared with it")


def _told(own: Path) -> str | None:
    """What a report that was written before says of its predecessor; None where it says nothing."""
    try:
        return _name(json.loads((own / "report.json").read_text(encoding="utf-8"))["previous"])
    except _DAMAGE:
        return None


def _latest(series: Path) -> str:
    try:
        return _name((series / _LATEST).read_text(encoding="utf-8").strip())
    except _DAMAGE:
        return ""


def _name(said: object) -> str:
    """The name of a folder in the series; empty for anything else."""
    return said if isinstance(said, str) and Path(said).name == said and not said.startswith(".") else ""


def remember(series: Path, own: Path, before: str, communities: Communities, event_ids: Sequence[str]) -> None:
    """Keep what the next report is compared with; the series names this report last of all."""
    with write_lock(series.parent):  # not that of the home: a long run must not keep reports waiting
        sweep(series)
        if (own / COMMUNITIES).exists():
            delete(own / COMMUNITIES)
        sweep(own)
        write_tables(own / COMMUNITIES, communities, event_ids)
        _write(own / "report.json", json.dumps({"release": own.name, "previous": before}, indent=1))
        if (series / _LATEST).is_dir():
            delete(series / _LATEST)
        _write(series / _LATEST, own.name)


def _write(path: Path, text: str) -> None:
    """Write a small file, whole or not at all."""
    draft = path.with_name(f".draft-{uuid4().hex}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def prune_reports(home: Path, *, keep: int = 12, grace_hours: float = 24.0, now: datetime | None = None) -> list[str]:
    """Delete the reports of each series that are older than its newest `keep` and than the grace; their names.

    Raises:
        SourceError: If another process keeps writing reports.

    """
    oldest = (now or datetime.now(UTC)) - timedelta(hours=grace_hours)
    gone: list[str] = []
    if not (home / REPORTS).is_dir():
        return gone
    with write_lock(home / REPORTS):
        for series in sorted(path for path in (home / REPORTS).iterdir() if path.is_dir()):
            sweep(series)
            reports = sorted((_written(path), path) for path in series.iterdir() if path.is_dir())
            for _, path in reports:  # one that was killed may never be written again
                sweep(path)
            for written, path in reports[: -max(1, keep)]:
                if written <= oldest and path.name != _latest(series):
                    delete(path)
                    gone.append(f"{series.name}/{path.name}")
    return gone


def _written(report: Path) -> datetime:
    """When a report was finished; of an unfinished one when its folder last changed."""
    told = report / "report.json"
    return datetime.fromtimestamp((told if told.is_file() else report).stat().st_mtime, UTC)


def write_tables(folder: Path, communities: Communities, event_ids: Sequence[str]) -> None:
    """Write communities into a folder, which is there whole or not at all."""
    draft = folder.with_name(f".draft-{uuid4().hex}")
    draft.mkdir(parents=True)
    try:
        for name, rows in communities_tables(communities, event_ids).items():
            pq.write_table(rows, draft / f"{name}.parquet", compression="zstd")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_tables(folder: Path) -> dict[str, pa.Table]:
    """The tables of communities in a folder."""
    return {name: pq.read_table(folder / f"{name}.parquet") for name in COMMUNITY_SCHEMAS}


def read_kept(folder: Path, event_ids: Sequence[str]) -> Communities | None:
    """The communities in a folder; None where they are missing, half written or damaged."""
    try:
        return read_communities(read_tables(folder), event_ids)
    except _DAMAGE:
        return None
