"""Deleting old releases without taking one from under a reader."""

import fcntl
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sag_retrieval.errors import SettingsError
from sag_retrieval.release.files import Manifest, Releases

_LONGEST_GRACE = 1_000_000


def prune_releases(home: Path, *, keep: int = 3, grace_hours: float = 24.0, now: datetime | None = None) -> list[str]:
    """Ids of the releases deleted: older than the newest `keep` and than the grace, not in force, held by nobody.

    Raises:
        SettingsError: If the grace is no number of hours.

    """
    if not 0 <= grace_hours <= _LONGEST_GRACE:
        raise SettingsError(f"grace_hours={grace_hours} must lie between 0 and {_LONGEST_GRACE:,}")
    below = Releases(home)
    current = below.current()
    oldest = (now or datetime.now(UTC)) - timedelta(hours=grace_hours)
    candidates = below.manifests()[: -max(1, keep)]
    return [
        manifest.release_id
        for manifest in candidates
        if manifest.release_id != current
        and datetime.fromisoformat(manifest.created_at) <= oldest
        and _delete(below.folder, manifest)
    ]


def _delete(folder: Path, manifest: Manifest) -> bool:
    """Delete a release unless a reader holds its manifest; without it no other can take hold."""
    path = folder / manifest.release_id
    with (path / "manifest.json").open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        (path / "manifest.json").unlink()
    shutil.rmtree(path)
    return True
