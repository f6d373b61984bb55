"""What releases lie below a home."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sag_retrieval.core.public import public
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.releases import Releases


@public
@dataclass(frozen=True, slots=True)
class ReleaseInfo:
    """A release below a home, whether or not this package can open it."""

    release_id: str
    is_current: bool
    """Whether `open_release()` opens it."""
    created_at: str
    """ISO date and time."""
    embedding_model: str
    counts: Mapping[str, int]
    """Rows by table."""
    fault: str
    """Why it cannot be opened; empty if it can."""
    path: Path

    def to_dict(self) -> dict[str, Any]:
        """What `sag releases --json` prints of it."""
        return {
            "release": self.release_id,
            "in_force": self.is_current,
            "created_at": self.created_at,
            "embedding_model": self.embedding_model,
            "counts": dict(self.counts),
            "fault": self.fault,
        }


def list_releases(home: Path | str | None = None) -> tuple[ReleaseInfo, ...]:
    """The releases below `home` (or SAG_HOME), oldest first, also those that cannot be opened.

    Example:
        >>> [release.is_current for release in list_releases()]
        [True]

    Args:
        home: Folder of releases; None: SAG_HOME.

    """
    below = Releases(load_settings(home=home).home)
    current = below.current()
    return tuple(
        ReleaseInfo(
            release_id=each.folder.name,
            is_current=each.folder.name == current,
            created_at=each.manifest.created_at if each.manifest else each.created_at.isoformat(timespec="seconds"),
            embedding_model=each.manifest.embedding_model if each.manifest else "",
            counts=dict(each.manifest.counts) if each.manifest else {},
            fault=each.fault,
            path=each.folder,
        )
        for each in below.found()
    )
