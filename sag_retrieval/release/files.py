"""Where releases lie below a home, which one is current, and what their manifests say.

releases/<id>/manifest.json   sag.duckdb   rows/*.arrow   arrays/*.npy   lance/*.lance
CURRENT                        the id of the release in force, replaced by one rename
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sag_retrieval.errors import ReleaseError
from sag_retrieval.release.schema import SCHEMA_VERSION

POINTER = "CURRENT"


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

    def write(self, folder: Path) -> None:
        """Write `manifest.json`, durably: a release without one is not a release."""
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1, sort_keys=True)
        with (folder / "manifest.json").open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """The manifest of a release folder.

        Raises:
            ReleaseError: If it is missing, unreadable, or of another schema version.

        """
        try:
            values = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            manifest = cls(**values)
        except (OSError, ValueError, TypeError) as error:
            raise ReleaseError(
                f"{folder} is not a release ({error}); `sag releases list` shows what is there"
            ) from error
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
        draft = self.home / f".{POINTER}.{os.getpid()}"
        with draft.open("w", encoding="utf-8") as file:
            file.write(release_id + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.home / POINTER)
