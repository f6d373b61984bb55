"""The releases below a home: which one is current, listing them, and pruning old ones.

releases/<id>/manifest.json   checksums.npy   rows/*.arrow   arrays/*.npy   layers/*   lance/*.lance (links)
CURRENT                        the id of the current release, replaced by one rename
"""

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from sag_retrieval.core import durable
from sag_retrieval.core.durable import take_lock
from sag_retrieval.core.errors import ReleaseError, SettingsError, shown
from sag_retrieval.core.home_urls import shown_home, url_of
from sag_retrieval.core.public import public
from sag_retrieval.core.settings import load_settings
from sag_retrieval.release.folders import erase, set_aside, sweep, write_lock
from sag_retrieval.release.manifest import ANSWERS, MANIFEST, RELEASES, Manifest, has_own_hash
from sag_retrieval.release.schema import DATABASE, LANCE, OPEN_TABLES, SCHEMA_VERSION

if TYPE_CHECKING:
    from sag_retrieval.release.remote import RemoteReleases

POINTER = "CURRENT"
DRAFT_POINTER: Final = f".{POINTER}."
_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,127}")
_log = logging.getLogger(__name__)
_LONGEST_GRACE = 1_000_000


@dataclass(frozen=True, slots=True)
class FoundRelease:
    """A release folder, whether or not this package can open it."""

    folder: Path
    created_at: datetime
    """From its manifest; where that cannot be read, when the folder last changed."""
    manifest: Manifest | None
    fault: str = ""
    """Why it cannot be opened; empty if it can."""
    is_whole: bool = True
    """Whether its manifest can be read, also one of another schema version."""
    form: int = SCHEMA_VERSION
    """The schema version that its manifest names."""

    @property
    def is_of_another_form(self) -> bool:
        """Whether another version of sag wrote it, whole as far as this one can tell."""
        return self.form != SCHEMA_VERSION

    @classmethod
    def look(cls, folder: Path) -> "FoundRelease":
        """Read the manifest of a release folder."""
        created, form = _told(folder)
        created_at = created or datetime.fromtimestamp(folder.stat().st_mtime, UTC)
        try:
            return cls(folder, created_at, Manifest.read(folder))
        except ReleaseError as error:
            return cls(folder, created_at, None, str(error), created is not None, form)


def _told(folder: Path) -> tuple[datetime | None, int]:
    """When the release was made and its schema version, by its manifest; None and this one if that is damaged."""
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
        values = json.loads(text)
        created, form = datetime.fromisoformat(values["created_at"]).astimezone(UTC), values["schema_version"]
        is_known = isinstance(form, int) and has_own_hash(text, values.get("manifest_hash", ""))
        return created, form if is_known and values.get("release_id") == folder.name else SCHEMA_VERSION
    except (OSError, ValueError, TypeError, KeyError):
        return None, SCHEMA_VERSION


class Releases:
    """The releases below a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / RELEASES

    @cached_property
    def remote(self) -> "RemoteReleases | None":
        """The releases in the bucket that the home mirrors; None for a home of its own."""
        if url_of(self.home) is None:
            return None
        from sag_retrieval.release.remote import RemoteReleases  # noqa: PLC0415  local homes do not load it
        from sag_retrieval.remote.mirror import mirror_of  # noqa: PLC0415

        mirror = mirror_of(self.home)
        return RemoteReleases(mirror) if mirror else None

    def current(self) -> str | None:
        """Id of the current release; None before the first one, and where `CURRENT` holds no valid id."""
        if self.remote:
            named = self.remote.current()
            return named if named and _ID.fullmatch(named) else None
        try:
            text = (self.home / POINTER).read_bytes()[:1024].decode("utf-8", "replace").strip()
        except OSError:
            return None
        return text if _ID.fullmatch(text) else None

    def paths(self) -> dict[str, Path]:
        """What other programs open of the current release, if this machine has it."""
        return paths_of((self.folder / (self.current() or "none")).resolve())

    def path(self, release_id: str | None = None, *, by_block: bool = False) -> Path:
        """Folder of a release; None: of the current one. `by_block` leaves vectors in a bucket for `remote.filler`."""
        if release_id is None:
            return self._current_path(by_block=by_block)
        if not _ID.fullmatch(release_id) or not self._is_here(release_id, by_block=by_block):
            below = url_of(self.home) or self.folder
            raise ReleaseError(f"release {shown(release_id)} is not below {below}; `sag releases list` shows what is")
        return self.folder / release_id

    def _is_here(self, release_id: str, *, by_block: bool) -> bool:
        """Whether there is such a release; one in a bucket is fetched."""
        if self.remote:
            return self.remote.pull(release_id, by_block=by_block)
        return (self.folder / release_id / MANIFEST).is_file()

    def _current_path(self, *, by_block: bool) -> Path:
        pointer, chosen = self.home / POINTER, self.current()
        if chosen is None and (self.remote or not os.path.lexists(pointer)):
            raise ReleaseError(f"no release below {shown_home(self.home)} yet; make one with `sag ingest`")
        if chosen is None or not self._is_here(chosen, by_block=by_block):
            named = shown(chosen) if chosen else "no valid id"
            raise ReleaseError(
                f"{POINTER if self.remote else pointer} names {named}, and no such release is below "
                f"{url_of(self.home) or self.folder}; publish again with `sag ingest`"
            )
        return self.folder / chosen

    def found(self) -> list[FoundRelease]:
        """Every release folder, oldest first, also those that cannot be opened."""
        names = self.remote.pull_manifests() if self.remote else [path.name for path in self.folder.glob("*")]
        folders = [path for name in names if (path := self.folder / name).is_dir() and _ID.fullmatch(name)]
        return sorted(map(FoundRelease.look, folders), key=lambda found: (found.created_at, found.folder.name))

    def manifests(self) -> list[Manifest]:
        """Every release that can be opened, oldest first."""
        return [found.manifest for found in self.found() if found.manifest is not None]

    def promote(self, release_id: str) -> None:
        """Make a release current by one rename; readers of other releases are not affected."""
        with write_lock(self.home):
            Manifest.read(self.path(release_id))
            self.make_current(release_id)

    def make_current(self, release_id: str) -> None:
        """The same for a caller that holds the lock and has checked the release."""
        if self.remote:
            self.remote.make_current(release_id)
            return
        pointer = self.home / POINTER
        if pointer.is_dir() and not pointer.is_symlink():
            aside = pointer.with_name(f"{POINTER}.aside-{uuid4().hex}")
            _log.warning("%s is a folder; it is renamed to %s", pointer, aside)
            pointer.rename(aside)
        durable.write_text(pointer, release_id + "\n")


def paths_of(folder: Path) -> dict[str, Path]:
    """What other programs open of a release: `duckdb`, a file of views, `parquet` and `lance`; those that there are."""
    known = {"duckdb": DATABASE, "parquet": OPEN_TABLES, "lance": LANCE}
    return {name: folder / file for name, file in known.items() if (folder / file).exists()}


def measurements_of(manifest: Manifest) -> list[dict[str, Any]]:
    """How a release and those that were current before it answered the questions of the home, oldest first."""
    kept = manifest.checks.get(ANSWERS)
    if not isinstance(kept, dict):
        return []
    own = {name: kept[name] for name in ("questions", "recall", "answer_rate", "passed") if name in kept}
    named = {"release": manifest.release_id, "created_at": manifest.created_at}
    return [*kept.get("history", []), *([named | own] if own.get("questions") else [])]


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
    measurements: Sequence[Mapping[str, Any]] = ()
    """How it, and those that were current before it, answered the questions of the home, oldest first."""

    def to_dict(self) -> dict[str, Any]:
        """What `sag releases --json` prints of it."""
        return {
            "release": self.release_id,
            "in_force": self.is_current,
            "created_at": self.created_at,
            "embedding_model": self.embedding_model,
            "counts": dict(self.counts),
            "fault": self.fault,
            "measurements": [dict(each) for each in self.measurements],
        }


def list_releases(home: Path | str | None = None) -> tuple[ReleaseInfo, ...]:
    """The releases below `home` (or SAG_HOME), oldest first, also those that cannot be opened.

    Examples:
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
            measurements=tuple(measurements_of(each.manifest)) if each.manifest else (),
        )
        for each in below.found()
    )


def prune_releases(home: Path, *, keep: int = 3, grace_hours: float = 24.0, now: datetime | None = None) -> list[str]:
    """Delete releases older than the newest `keep` and than the grace period; returns their ids.

    The current release and those that a reader holds open are kept. A damaged or half-deleted folder does not count as
    one of the newest. What killed processes left is deleted too.

    Raises:
        SettingsError: If the grace period is negative or too long.
        SourceError: If another process keeps writing below the home.
    """
    if not 0 <= grace_hours <= _LONGEST_GRACE:
        raise SettingsError(f"grace_hours={grace_hours} must lie between 0 and {_LONGEST_GRACE:,}")
    oldest = (now or datetime.now(UTC)) - timedelta(hours=grace_hours)
    with write_lock(home):
        sweep_releases(home)
        below = Releases(home)
        current = below.current()
        gone = [
            found.folder.name
            for found in _beyond(below.found(), keep)
            if found.folder.name != current and found.created_at <= oldest and _delete(found.folder)
        ]
        if below.remote:
            below.remote.delete(gone)
            below.remote.collect(oldest)
        return gone


def sweep_releases(home: Path) -> None:
    """Delete what killed processes left of releases and of `CURRENT`; the caller holds the lock."""
    sweep(home / "releases")
    for left in home.glob(f"{DRAFT_POINTER}*"):
        left.unlink(missing_ok=True)


def _beyond(found: list[FoundRelease], keep: int) -> list[FoundRelease]:
    """All but the newest `keep` that can be opened, by this version or a newer one; else by an older one."""
    whole = [each for each in found if each.is_whole]
    whole = [each for each in whole if each.form >= SCHEMA_VERSION] or whole
    kept = {each.folder for each in whole[-max(1, keep) :]}
    return [each for each in found if each.folder not in kept]


def _delete(folder: Path) -> bool:
    """Delete a release unless a reader holds its manifest; the manifest goes first, so that no reader opens it."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        erase(set_aside(folder))
        return True
    with manifest.open("rb") as held:
        if not take_lock(held.fileno()):
            return False
        aside = set_aside(folder)
        (aside / MANIFEST).unlink()
    erase(aside)
    return True
