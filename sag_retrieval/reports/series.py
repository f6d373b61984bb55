"""The files of reports below `home/reports`: series, predecessors, checksums and pruning."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from uuid import uuid4

from sag_retrieval.communities.groups import Communities
from sag_retrieval.communities.storage import (
    COMMUNITIES,
    DAMAGE,
    REPORTS,
    read_communities,
    read_tables,
    write_communities,
)
from sag_retrieval.core import durable
from sag_retrieval.release.folders import delete, sweep, write_lock
from sag_retrieval.reports.series import Previous

_LATEST = "LATEST"
SUMS = "sums.json"


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
        return _name(json.loads((own / "report.json").read_text(encoding="utf-8"))["previous"])
    except DAMAGE:
        return None


def _latest(series: Path) -> str:
    try:
        return _name((series / _LATEST).read_text(encoding="utf-8").strip())
    except DAMAGE:
        return ""


def _name(said: object) -> str:
    """The name of a folder in the series; empty for anything else."""
    return said if isinstance(said, str) and Path(said).name == said and not said.startswith(".") else ""


def remember(series: Path, own: Path, before: str, communities: Communities, event_ids: Sequence[str]) -> None:
    """Keep what the next report is compared with; naming this report as the latest is the last step."""
    with write_lock(series.parent):  # not that of the home: a long run must not keep reports waiting
        sweep(series)
        if (own / COMMUNITIES).exists():
            delete(own / COMMUNITIES)
        sweep(own)
        write_communities(own / COMMUNITIES, communities, event_ids)
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
    kept = report / "report.json"
    return datetime.fromtimestamp((kept if kept.is_file() else report).stat().st_mtime, UTC)


def write_sums(folder: Path) -> None:
    """Store a hash of each file below the folder."""
    files = {path.relative_to(folder).as_posix(): _hash(path.read_bytes()) for path in _files(folder)}
    kept = {"files": files, "own": _hash(json.dumps(files, sort_keys=True).encode())}
    durable.write_text(folder / SUMS, json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False))


def wrong_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Damaged files and what is wrong with each; none where there are no checksums (version 0.1)."""
    if not (folder / SUMS).exists():
        return
    try:
        kept = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        files = dict(kept["files"])
        is_own = kept["own"] == _hash(json.dumps(files, sort_keys=True).encode())
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield SUMS, f"it cannot be read ({error})"
        return
    if not is_own:
        yield SUMS, "its bytes are not those that were written"
        return
    for name, digest in files.items():
        try:
            if _hash((folder / name).read_bytes()) != digest:
                yield name, "its bytes are not those that were written"
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()
