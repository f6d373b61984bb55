"""The series of a report: its predecessor, what is new since, and pruning."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags
from sag_retrieval.clusters.groups import Communities, Community
from sag_retrieval.clusters.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    read_communities,
    read_tables,
    write_communities,
)
from sag_retrieval.core import durable
from sag_retrieval.core.errors import BucketError
from sag_retrieval.release.folders import delete, sweep, write_lock
from sag_retrieval.remote.mirror import listed_below, measure, mirror_of

LATEST: Final = "LATEST"
SUMMARY: Final = "report.json"


@dataclass(frozen=True, slots=True)
class Previous:
    """An earlier report: its release and the ids of its events."""

    release: str
    event_ids: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """What differs from the earlier report; nothing where there was none."""

    previous: Previous | None
    is_new: Flags
    """Which events the earlier report did not have."""

    def count_new(self, community: Community) -> int:
        """New events of a community."""
        return int(np.count_nonzero(self.is_new[community.members]))


def compare_with(events: EventTable, previous: Previous | None) -> Comparison:
    """Which events are new since the earlier report; none where there was no report."""
    before = previous.event_ids if previous else frozenset(events.event_ids)
    is_new = np.array([event_id not in before for event_id in events.event_ids], dtype=bool)
    return Comparison(previous=previous, is_new=is_new)


@dataclass(frozen=True, slots=True)
class Before:
    """The report before one in its series. Without `release` there is none to compare with; `fault` says why not."""

    release: str = ""
    """Its release; kept when it cannot be read any more, so that the series continues."""
    previous: Previous | None = None
    communities: Communities | None = None
    fault: str = ""
    language: str = ""


def find_before(series: Path, own: Path, event_ids: Sequence[str]) -> Before:
    """What the report in the folder `own` is compared with; a predecessor that cannot be read counts as none."""
    kept = _kept(own, "previous")
    release = kept if kept is not None else _latest(series)
    if release in ("", own.name):
        return Before()
    folder = series / release / COMMUNITIES
    try:
        tables = read_tables(folder)
        ids = tables["community_events"]["event_id"].to_pylist()
        language = _kept(series / release, "language") or ""
        return Before(release, Previous(release, frozenset(ids)), read_communities(tables, event_ids), "", language)
    except DAMAGE as error:
        kind = "is gone" if not (series / release).is_dir() else f"cannot be read ({type(error).__name__})"
        return Before(release, fault=f"the report of {release} before this one {kind}: nothing is compared with it")


def _kept(report: Path, name: str) -> str | None:
    """What an existing report says of itself: its predecessor, its language; None where there is no such report."""
    try:
        return _name(json.loads((report / SUMMARY).read_text(encoding="utf-8"))[name])
    except DAMAGE:
        return None


def _latest(series: Path) -> str:
    try:
        return _name((series / LATEST).read_text(encoding="utf-8").strip())
    except DAMAGE:
        return ""


def _name(value: object) -> str:
    """The name of a folder in the series; empty for anything else."""
    return value if isinstance(value, str) and Path(value).name == value and not value.startswith(".") else ""


def remember(
    series: Path, own: Path, before: Mapping[str, str], communities: Communities, event_ids: Sequence[str]
) -> None:
    """Store what the next report is compared with; naming this report as the latest is the last step.

    Args:
        series: Folder of the series.
        own: Folder of this report.
        before: `previous`, the release of the report before it, and its own `language`.
        communities: Its topics.
        event_ids: Its events.

    """
    with write_lock(series.parent):  # not that of the home: a long run must not keep reports waiting
        sweep(series, f".{LATEST}.")
        if (own / COMMUNITIES).exists():
            delete(own / COMMUNITIES)
        sweep(own, f".{SUMMARY}.")
        write_communities(own / COMMUNITIES, communities, event_ids)
        durable.write_text(own / SUMMARY, json.dumps({"release": own.name, **before}, indent=1))
        if (series / LATEST).is_dir():
            delete(series / LATEST)
        durable.write_text(series / LATEST, own.name)


def prune_reports(home: Path, *, keep: int = 12, grace_hours: float = 24.0, now: datetime | None = None) -> list[str]:
    """Delete reports older than the newest `keep` of their series and than the grace period; returns their names.

    Raises:
        SourceError: If another process keeps writing reports.

    """
    oldest = (now or datetime.now(UTC)) - timedelta(hours=grace_hours)
    gone: list[str] = []
    if not (home / REPORTS).is_dir():
        return gone
    pull_reports(home)
    with write_lock(home / REPORTS):
        for series in sorted(path for path in (home / REPORTS).iterdir() if path.is_dir()):
            sweep(series, f".{LATEST}.")
            reports = sorted((_written(path), path) for path in series.iterdir() if path.is_dir())
            for _, path in reports:  # one that was killed may never be written again
                sweep(path, f".{SUMMARY}.")
            for written, path in reports[: -max(1, keep)]:
                if written <= oldest and path.name != _latest(series):
                    delete(path)
                    gone.append(f"{series.name}/{path.name}")
    send_reports(home, *(f"{report}/" for report in gone))
    return gone


def _written(report: Path) -> datetime:
    """When a report was finished; of an unfinished one when its folder last changed."""
    kept = report / SUMMARY
    return datetime.fromtimestamp((kept if kept.is_file() else report).stat().st_mtime, UTC)


IN_BUCKET: Final = "REPORTS"


def pull_reports(home: Path) -> None:
    """Make the reports of this machine those of the bucket; those of a home of its own stay.

    Raises:
        BucketError: If they cannot be read.

    """
    mirror = mirror_of(home)
    if mirror is None:
        return
    folder, tree = home / REPORTS, mirror.tree(IN_BUCKET)
    for path, entry in listed_below(folder).items():
        if tree.entries.get(path) != entry:
            (folder / path).unlink(missing_ok=True)
    mirror.fetch_all(tree.entries, folder)


def send_reports(home: Path, *changed: str) -> None:
    """Make some reports of the bucket those of this machine: written ones are sent, deleted ones forgotten.

    Args:
        home: The home; nothing is done for one of its own.
        changed: Folders below `reports`, with `/` at the end, and files.

    Raises:
        BucketError: If the bucket cannot be written.

    """
    mirror = mirror_of(home)
    if mirror is None or not changed:
        return
    folder = home / REPORTS
    own = {path: entry for each in changed for path, entry in _own(folder, each)}
    if not mirror.update_tree(IN_BUCKET, folder, own, lambda path: _is_below(path, changed)):
        raise BucketError(f"other machines keep writing reports to {mirror.url}; run `sag report` again")


def _own(folder: Path, changed: str) -> Iterable[tuple[str, tuple[int, str]]]:
    place = folder / changed
    if place.is_dir():
        return [(f"{changed}{path}", entry) for path, entry in listed_below(place).items()]
    return [(changed, measure(place))] if place.is_file() else []


def _is_below(path: str, changed: Iterable[str]) -> bool:
    return any(path.startswith(each) if each.endswith("/") else path == each for each in changed)
