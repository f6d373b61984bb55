"""Deleting old releases without taking one from under a reader."""

import fcntl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.release.folders import erase, set_aside, sweep, write_lock
from sag_retrieval.release.releases import DRAFT_POINTER, FoundRelease, Releases

_LONGEST_GRACE = 1_000_000


def prune_releases(home: Path, *, keep: int = 3, grace_hours: float = 24.0, now: datetime | None = None) -> list[str]:
    """Ids of the releases deleted: older than the newest `keep` and than the grace, not in force, held by nobody.

    A folder that is no release, because it is damaged or half deleted, is not among those kept. What killed processes
    left behind goes as well.

    Raises:
        SettingsError: If the grace is no number of hours.
        SourceError: If another process keeps writing below the home.

    """
    if not 0 <= grace_hours <= _LONGEST_GRACE:
        raise SettingsError(f"grace_hours={grace_hours} must lie between 0 and {_LONGEST_GRACE:,}")
    oldest = (now or datetime.now(UTC)) - timedelta(hours=grace_hours)
    with write_lock(home):
        sweep_releases(home)
        below = Releases(home)
        current = below.current()
        return [
            found.folder.name
            for found in _beyond(below.found(), keep)
            if found.folder.name != current and found.created_at <= oldest and _delete(found.folder)
        ]


def sweep_releases(home: Path) -> None:
    """Delete what killed processes left of releases and of `CURRENT`; for whoever holds the lock."""
    sweep(home / "releases")
    for left in home.glob(f"{DRAFT_POINTER}*"):
        left.unlink(missing_ok=True)


def _beyond(found: list[FoundRelease], keep: int) -> list[FoundRelease]:
    """All but the newest `keep` that can be opened, by this version or the one that made them."""
    whole = [each for each in found if each.is_whole]
    kept = {each.folder for each in whole[-max(1, keep) :]}
    return [each for each in found if each.folder not in kept]


def _delete(folder: Path) -> bool:
    """Delete a release unless a reader holds its manifest; without it no other can take hold."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        erase(set_aside(folder))
        return True
    with manifest.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        aside = set_aside(folder)
        (aside / "manifest.json").unlink()
    erase(aside)
    return True
