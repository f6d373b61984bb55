"""Where releases lie below a home, which one is current, and what their manifests say.

releases/<id>/manifest.json   checksums.npy   sag.duckdb   rows/*.arrow   arrays/*.npy   lance/*.lance
CURRENT                        the id of the release in force, replaced by one rename
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sag_retrieval import durable
from sag_retrieval.errors import ReleaseError
from sag_retrieval.release.schema import SCHEMA_VERSION

POINTER = "CURRENT"
MANIFEST = "manifest.json"


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
            manifest = cls(**json.loads(text))
        except (OSError, ValueError, TypeError) as error:
            raise ReleaseError(
                f"{folder} is not a release ({error}); `sag releases list` shows what is there"
            ) from error
        if (manifest.files or manifest.manifest_hash) and not _is_whole(text, manifest):
            raise ReleaseError(
                f"{MANIFEST} of release {folder.name} is damaged: its text has another hash than it names; "
                "run `sag repair`, or publish anew with `sag ingest`"
            )
        if manifest.schema_version != SCHEMA_VERSION:
            raise ReleaseError(
                f"release {manifest.release_id} has schema version {manifest.schema_version}, this package reads "
                f"{SCHEMA_VERSION}; publish again with `sag ingest`"
            )
        return manifest


class Releases:
    """The releases below a home."""

    def __init__(self, home: Path) -> None:
        """Hold the home; nothing needs to be there yet."""
        self.home = home
        self.folder = home / "releases"

    def current(self) -> str | None:
        """Id of the release in force, or None before the first.

        Raises:
            ReleaseError: If the pointer holds no text.

        """
        try:
            return (self.home / POINTER).read_text(encoding="utf-8").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ReleaseError(
                f"{self.home / POINTER} cannot be read ({error}); `sag releases promote ID` writes it anew"
            ) from error

    def path(self, release_id: str | None = None) -> Path:
        """Folder of a release; None means the one in force.

        Raises:
            ReleaseError: If it is not there.

        """
        chosen = release_id or self.current()
        if chosen is None:
            raise ReleaseError(f"no release below {self.home} yet; make one with `sag ingest`")
        path = self.folder / chosen
        if Path(chosen).name != chosen or not (path / "manifest.json").is_file():
            raise ReleaseError(f"release {chosen!r} is not below {self.folder}; `sag releases list` shows what is")
        return path

    def manifests(self) -> list[Manifest]:
        """Every release that can be opened, oldest first."""
        found = []
        for path in self.folder.glob("*/manifest.json"):
            try:
                found.append(Manifest.read(path.parent))
            except ReleaseError:  # of another schema version: listed nowhere, deleted by no one
                continue
        return sorted(found, key=lambda manifest: (manifest.created_at, manifest.release_id))

    def promote(self, release_id: str) -> None:
        """Put a release in force by one rename; readers that hold another one open are not disturbed.

        Raises:
            ReleaseError: If it is not there.

        """
        self.path(release_id)
        durable.write_text(self.home / POINTER, release_id + "\n")


def _text(manifest: Manifest) -> str:
    return json.dumps(asdict(manifest), ensure_ascii=False, indent=1, sort_keys=True)


def _is_whole(text: str, manifest: Manifest) -> bool:
    """Whether a manifest's text has the hash that it names."""
    named = f'"manifest_hash": "{manifest.manifest_hash}"'
    return _hash(text.replace(named, '"manifest_hash": ""')) == manifest.manifest_hash


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
