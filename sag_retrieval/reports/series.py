"""The series of a report: its predecessor, what changed since, and pruning."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from sag_retrieval.clusters.events import EventTable, Flags
from sag_retrieval.clusters.groups import PROPER, Communities, Community
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

_MAJORITY = 0.5
LATEST: Final = "LATEST"
SUMMARY: Final = "report.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Previous:
    """The finest communities of an earlier report: titles and event ids by community id."""

    release: str
    titles: Mapping[str, str]
    members: Mapping[str, frozenset[str]]

    @property
    def event_ids(self) -> frozenset[str]:
        """Every event the earlier report had."""
        return frozenset().union(*self.members.values())

    @classmethod
    def of(cls, communities: Communities, event_ids: Sequence[str], release: str) -> "Previous":
        """The part of these communities that a later report is compared with."""
        finest = communities.at(0)
        return cls(
            release=release,
            titles={each.community_id: each.title for each in finest},
            members={each.community_id: frozenset(event_ids[row] for row in each.members.tolist()) for each in finest},
        )


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a community: `new`, `grown`, `shrunk`, `merged`, `split`, `changed` or `gone`.

    `community_id` is today's, or the earlier one's if it is gone. `before` counts the events of the earlier ones
    it continues, `added` the new events, `removed` those of the earlier ones that it does not have; `sources` are
    titles it came from.
    """

    community_id: str
    title: str
    status: str
    size: int
    added: int
    removed: int
    sources: tuple[str, ...] = ()
    before: int = 0

    @property
    def joined(self) -> int:
        """Events that were in other communities before; for one that continues an earlier one."""
        return self.size - self.added - (self.before - self.removed) if self.before and self.size else 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """What differs from the earlier report; nothing where there was none."""

    previous: Previous | None
    is_new: Flags
    """Which events the earlier report did not have."""
    changes: Sequence[Change]

    @property
    def statuses(self) -> dict[str, str]:
        """Status of each changed community."""
        return {change.community_id: change.status for change in self.changes}

    def count_new(self, community: Community) -> int:
        """New events of a community."""
        return int(np.count_nonzero(self.is_new[community.members]))


def compare_with(communities: Sequence[Community], events: EventTable, previous: Previous | None) -> Comparison:
    """New events and changed communities since the earlier report."""
    changes = compare(communities, events, previous) if previous else []
    return Comparison(previous=previous, is_new=new_events(events, previous), changes=changes)


def new_events(events: EventTable, previous: Previous | None) -> Flags:
    """Which events the earlier report did not have; none where there was no report."""
    if previous is None:
        return np.zeros(len(events), dtype=bool)
    before = previous.event_ids
    return np.array([event_id not in before for event_id in events.event_ids], dtype=bool)


def compare(communities: Sequence[Community], events: EventTable, previous: Previous) -> list[Change]:
    """The changed communities of at least three events, most events gained first, gone ones last.

    A community continues those earlier ones that have half of their events in it. It is new if there is none
    and half of its events are new; else it is split off from the one that gave it most.

    Source:
        docs/algorithm.md §reports.7.

    """
    home = {event: old for old, members in previous.members.items() for event in members}
    now = {each.community_id: {events.event_ids[row] for row in each.members.tolist()} for each in communities}
    titles = {each.community_id: each.title for each in communities}
    heirs = _heirs(now, home, previous)
    found = [
        _change(key, titles[key], members, heirs.get(key, []), home, previous)
        for key, members in now.items()
        if key not in previous.members and len(members) >= PROPER
    ]
    continued = {old for olds in heirs.values() for old in olds}
    found += [
        Change(old, previous.titles[old], "gone", 0, 0, len(members), before=len(members))
        for old, members in previous.members.items()
        if old not in continued and len(members) >= PROPER
    ]
    order = ["new", "grown", "merged", "split", "changed", "shrunk", "gone"]
    return sorted(
        found,
        key=lambda each: (
            each.status == "gone",
            -each.added,
            order.index(each.status),
            -each.size,
            each.community_id,
        ),
    )


def _heirs(now: Mapping[str, set[str]], home: Mapping[str, str], previous: Previous) -> dict[str, list[str]]:
    """For each of today's communities the earlier ones that have at least half of their events in it."""
    heirs: dict[str, list[str]] = {}
    for key, members in now.items():
        shares = Counter(home[event] for event in members if event in home)
        for old, count in sorted(shares.items()):
            if count >= _MAJORITY * len(previous.members[old]):
                heirs.setdefault(key, []).append(old)
    return heirs


def _change(
    key: str,
    title: str,
    members: set[str],
    continued: Sequence[str],
    home: Mapping[str, str],
    previous: Previous,
) -> Change:
    before = frozenset().union(*(previous.members[old] for old in continued))
    added, removed = sum(event not in home for event in members), len(before - members)
    sources: Sequence[str] = [old for old in continued if len(previous.members[old]) >= PROPER]
    if len(sources) > 1:
        status = "merged"
    elif continued:
        growth = len(members) - len(before)
        status = "grown" if growth > 0 else "shrunk" if growth < 0 else "changed"
    elif added >= _MAJORITY * len(members):
        status = "new"
    else:
        status = "split"
        sources = [Counter(home[event] for event in sorted(members) if event in home).most_common(1)[0][0]]
    titles = tuple(previous.titles[old] for old in sources)
    return Change(key, title, status, len(members), added, removed, titles, len(before))


@dataclass(frozen=True, slots=True)
class Before:
    """The report before one in its series. Without `release` there is none to compare with; `fault` says why not."""

    release: str = ""
    """Its release; kept when it cannot be read any more, so that the series continues."""
    previous: Previous | None = None
    communities: Communities | None = None
    fault: str = ""


def find_before(series: Path, own: Path, event_ids: Sequence[str]) -> Before:
    """What the report in the folder `own` is compared with; a predecessor that cannot be read counts as none."""
    kept = _kept_predecessor(own)
    release = kept if kept is not None else _latest(series)
    if release in ("", own.name):
        return Before()
    folder = series / release / COMMUNITIES
    try:
        tables = read_tables(folder)
        ids = sorted(set(tables["community_events"]["event_id"].to_pylist()))
        previous = Previous.of(read_communities(tables, ids), ids, release)
        return Before(release, previous, read_communities(tables, event_ids))
    except DAMAGE as error:
        kind = "is gone" if not (series / release).is_dir() else f"cannot be read ({type(error).__name__})"
        return Before(release, fault=f"the report of {release} before this one {kind}: nothing is compared with it")


def _kept_predecessor(own: Path) -> str | None:
    """The predecessor that an existing report names; None where there is no such report."""
    try:
        return _name(json.loads((own / SUMMARY).read_text(encoding="utf-8"))["previous"])
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


def remember(series: Path, own: Path, before: str, communities: Communities, event_ids: Sequence[str]) -> None:
    """Store what the next report is compared with; naming this report as the latest is the last step."""
    with write_lock(series.parent):  # not that of the home: a long run must not keep reports waiting
        sweep(series, f".{LATEST}.")
        if (own / COMMUNITIES).exists():
            delete(own / COMMUNITIES)
        sweep(own, f".{SUMMARY}.")
        write_communities(own / COMMUNITIES, communities, event_ids)
        durable.write_text(own / SUMMARY, json.dumps({"release": own.name, "previous": before}, indent=1))
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
