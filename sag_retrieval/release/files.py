"""Where releases lie below a home, which one is current, and what their manifests say.

releases/<id>/manifest.json   checksums.npy   sag.duckdb   rows/*.arrow   arrays/*.npy   lance/*.lance
CURRENT                        the id of the release in force, replaced by one rename
"""

import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sag_retrieval.core import durable
from sag_retrieval.core.errors import MEND, ReleaseError
from sag_retrieval.core.public import public
from sag_retrieval.release.folders import write_lock
from sag_retrieval.release.schema import SCHEMA_VERSION

POINTER = "CURRENT"
MANIFEST = "manifest.json"
DRAFT_POINTER: Final = f".{POINTER}."
_SHOWN: Final = 60
_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,127}")
_log = logging.getLogger(__name__)


@public
@dataclass(frozen=True, slots=True)
class Manifest:
    """What a release says of itself.

    `release_id` is `r` and the start of `content_hash`, which covers the rows and the embedder, not the clock.
    `input_hash` is the state of the tables it was made from. `counts` are rows by table.
    """

    release_id: str
    schema_version: int
    content_hash: str
    input_hash: str
    created_at: str
    embedding_model: str
    embedder_fingerprint: str
    dimension: int
    counts: Mapping[str, int]
    hashes: Mapping[str, str]
    checks: Mapping[str, Any]
    index: Mapping[str, Any]
    """By table of vectors: `none` (exact scan), or what proposes rows, how far it reaches and its measured recall."""

    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """By path below the release: length and hash of every file but this one and what is made later. Empty in releases
    of version 0.1, which cannot be verified."""
    manifest_hash: str = ""
    """Hash of the manifest's own text with this value left empty; empty in releases of version 0.1."""

    def write(self, folder: Path) -> None:
        """Write `manifest.json` with its own hash, durably: a release without one is not a release."""
        empty = _text(replace(self, manifest_hash=""))
        durable.write_text(folder / MANIFEST, _text(replace(self, manifest_hash=_hash(empty))))

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """The manifest of a release folder.

        Raises:
            ReleaseError: If it is missing, unreadable, or of another schema version.

        """
        try:
            text = (folder / MANIFEST).read_text(encoding="utf-8")
            values = json.loads(text)
            version = values["schema_version"]
            if version != SCHEMA_VERSION:  # before anything else is looked at: another version has other fields
                raise ReleaseError(_other_version(folder.name, version))
            manifest = cls(**values)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ReleaseError(
                f"{folder} is not a release ({error}); `sag releases list` shows what is there"
            ) from error
        if (manifest.files or manifest.manifest_hash) and not _is_whole(text, manifest):
            raise ReleaseError(
                f"{MANIFEST} of release {folder.name} is damaged: its text has another hash than it names; {MEND}"
            )
        return manifest


def _other_version(release_id: str, version: object) -> str:
    is_newer = isinstance(version, int) and version > SCHEMA_VERSION
    by = "a newer" if is_newer else "another"
    return (
        f"release {release_id} was made by {by} version of sag: its schema version is {version}, this one reads "
        f"{SCHEMA_VERSION}; "
        + ("install the newer version, or " if is_newer else "")
        + "publish again with `sag ingest`"
    )


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

    @classmethod
    def look(cls, folder: Path) -> "FoundRelease":
        """What a folder is by its manifest."""
        said = _said_created(folder)
        created_at = said or datetime.fromtimestamp(folder.stat().st_mtime, UTC)
        try:
            return cls(folder, created_at, Manifest.read(folder))
        except ReleaseError as error:
            return cls(folder, created_at, None, str(error), said is not None)


def _said_created(folder: Path) -> datetime | None:
    """When the manifest says the release was made; None if it says nothing that can be read."""
    try:
        values = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return datetime.fromisoformat(values["created_at"]).astimezone(UTC)
    except (OSError, ValueError, TypeError, KeyError):
        return None


class Releases:
    """The releases below a home."""

    def __init__(self, home: Path) -> None:
        """Hold the home; nothing needs to be there yet."""
        self.home = home
        self.folder = home / "releases"

    def current(self) -> str | None:
        """Id of the release in force; None before the first, and where what `CURRENT` holds cannot be an id."""
        try:
            said = (self.home / POINTER).read_bytes()[:1024].decode("utf-8", "replace").strip()
        except OSError:
            return None
        return said if _ID.fullmatch(said) else None

    def path(self, release_id: str | None = None) -> Path:
        """Folder of a release; None means the one in force.

        Raises:
            ReleaseError: If it is not there.

        """
        if release_id is None:
            return self._path_in_force()
        path = self.folder / release_id
        if not _ID.fullmatch(release_id) or not (path / "manifest.json").is_file():
            raise ReleaseError(
                f"release {_shown(release_id)} is not below {self.folder}; `sag releases list` shows what is"
            )
        return path

    def _path_in_force(self) -> Path:
        pointer = self.home / POINTER
        chosen = self.current()
        if chosen is None and not os.path.lexists(pointer):
            raise ReleaseError(f"no release below {self.home} yet; make one with `sag ingest`")
        if chosen is None or not (self.folder / chosen / "manifest.json").is_file():
            named = _shown(chosen) if chosen else "nothing that can be an id"
            raise ReleaseError(
                f"{pointer} names {named}, and no such release is below {self.folder}; publish again with `sag ingest`"
            )
        return self.folder / chosen

    def found(self) -> list[FoundRelease]:
        """Every release folder, oldest first, also those that cannot be opened."""
        folders = [path for path in self.folder.glob("*") if path.is_dir() and _ID.fullmatch(path.name)]
        return sorted(map(FoundRelease.look, folders), key=lambda found: (found.created_at, found.folder.name))

    def manifests(self) -> list[Manifest]:
        """Every release that can be opened, oldest first."""
        return [found.manifest for found in self.found() if found.manifest is not None]

    def promote(self, release_id: str) -> None:
        """Put a release in force by one rename; readers that hold another one open are not disturbed.

        Raises:
            ReleaseError: If it is not there, or this package cannot open it.
            SourceError: If another process keeps writing below the home.

        """
        with write_lock(self.home):
            Manifest.read(self.path(release_id))
            self.put_in_force(release_id)

    def put_in_force(self, release_id: str) -> None:
        """The same for whoever holds the lock and knows the release."""
        pointer = self.home / POINTER
        if pointer.is_dir() and not pointer.is_symlink():
            aside = pointer.with_name(f"{POINTER}.aside-{uuid4().hex}")
            _log.warning("%s is a folder; it now lies at %s", pointer, aside)
            pointer.rename(aside)
        durable.write_text(pointer, release_id + "\n")


def _shown(given: str) -> str:
    return repr(given if len(given) <= _SHOWN else given[:_SHOWN] + "…")


def _text(manifest: Manifest) -> str:
    return json.dumps(asdict(manifest), ensure_ascii=False, indent=1, sort_keys=True)


def _is_whole(text: str, manifest: Manifest) -> bool:
    """Whether a manifest's text has the hash that it names."""
    named = f'"manifest_hash": "{manifest.manifest_hash}"'
    return _hash(text.replace(named, '"manifest_hash": ""')) == manifest.manifest_hash


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
