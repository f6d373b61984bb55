"""How much room a home takes, by kind of content, and how it grew from release to release."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from sag_retrieval.clusters.storage import REPORTS
from sag_retrieval.models.answer_cache import ANSWERS
from sag_retrieval.release.releases import FoundRelease, Releases

_KINDS: Final = {
    "tables": "tables",
    "ledger": "ledger",
    "vectors": "vectors",
    "embedder": "vectors",
    "releases": "releases",
    REPORTS: "reports",
}
"""Folder below the home → kind of content; answers of a model are files, and all else is `other`."""
_ORDER: Final = ("tables", "ledger", "answers", "vectors", "releases", "reports", "other")
_COUNTED: Final = ("documents", "chunks", "events", "keys")


@dataclass(frozen=True, slots=True)
class Growth:
    """What one release has more than the one before it."""

    release: str
    created_at: str
    rows: dict[str, int]
    """More rows, by table; negative: fewer."""
    megabytes: float
    """More bytes of files that belong to the release alone or are shared with the tables of vectors."""

    def to_dict(self) -> dict[str, Any]:
        """As `sag status --json` prints it."""
        return {"release": self.release, "created_at": self.created_at, **self.rows, "megabytes": self.megabytes}


def sizes_of(home: Path) -> dict[str, float]:
    """Megabytes below a home by kind; a file that lies in two places by a hard link counts once, as vectors."""
    found = dict.fromkeys(_ORDER, 0)
    known = set[tuple[int, int]]()
    for kind, folder in sorted(_folders(home), key=lambda each: each[0] == "releases"):  # vectors before their links
        for stat in _files(folder):
            place = (stat.st_dev, stat.st_ino)
            found[kind] += 0 if place in known else stat.st_size
            known.add(place)
    return {kind: round(size / 1e6, 3) for kind, size in found.items()}


def _folders(home: Path) -> Iterator[tuple[str, Path]]:
    """Every entry of a home, with the kind of what it holds."""
    for entry in sorted(home.iterdir()) if home.is_dir() else ():
        yield "answers" if entry.name.startswith(ANSWERS) else _KINDS.get(entry.name, "other"), entry


def _files(folder: Path) -> Iterator[os.stat_result]:
    """Every file at or below a path; what a running ingest deletes meanwhile is left out."""
    paths = [Path(root, name) for root, _, names in os.walk(folder) for name in names] or [folder]
    for path in paths:
        try:
            if path.is_file() and not path.is_symlink():
                yield path.stat()
        except OSError:
            continue


def age_hours(home: Path, now: datetime | None = None) -> float | None:
    """Hours since the current release was made; None if there is none."""
    below = Releases(home)
    current = below.current()
    made = [each.created_at for each in below.found() if each.folder.name == current]
    return round(((now or datetime.now(UTC)) - made[0]).total_seconds() / 3600, 2) if made else None


def growth_of(home: Path) -> list[Growth]:
    """What each release has more than the one before it, oldest first, as far back as releases are kept."""
    whole = [each for each in Releases(home).found() if each.manifest is not None]
    return [_between(old, new) for old, new in pairwise(whole)]


def _between(old: FoundRelease, new: FoundRelease) -> Growth:
    before, after = _counts(old), _counts(new)
    rows = {name: after[name] - before[name] for name in _COUNTED}
    return Growth(
        new.folder.name,
        new.created_at.isoformat(timespec="seconds"),
        rows,
        round((_bytes_of(new.folder) - _bytes_of(old.folder)) / 1e6, 3),
    )


def _counts(release: FoundRelease) -> dict[str, int]:
    counts = release.manifest.counts if release.manifest else {}
    return {name: int(counts.get(name, 0)) for name in _COUNTED}


def _bytes_of(folder: Path) -> int:
    return sum(stat.st_size for stat in _files(folder))


def mean_growth(steps: Sequence[Growth]) -> dict[str, float]:
    """What one release adds on average; empty before the second one."""
    if not steps:
        return {}
    rows = {name: round(sum(step.rows[name] for step in steps) / len(steps), 1) for name in _COUNTED}
    return {**rows, "megabytes": round(sum(step.megabytes for step in steps) / len(steps), 3)}
