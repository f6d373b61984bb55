"""The bound of SAG_CACHE: the releases and files used longest ago are deleted, never what a process has open."""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from sag_retrieval.core.settings import load_settings
from sag_retrieval.remote.mirror import FILES, Mirror

_log = logging.getLogger(__name__)
_MANIFEST: Final = "manifest.json"
_GB: Final = 1_000_000_000
_DISK_BLOCK: Final = 512
"""Bytes of which `st_blocks` counts."""


def make_room(mirror: Mirror, used: Path | None = None, most: int | None = None) -> list[Path]:
    """Delete copies until the cache is within its bound; returns what was deleted. All of it can be fetched again.

    What a reader has open stays, as does `used`, which is about to be opened. A file that is mapped stays readable.

    Args:
        mirror: The mirror that has just grown; those of other buckets below the same folder are bounded with it.
        used: A release that is about to be opened.
        most: Bytes; None: SAG_CACHE_GB.

    """
    bound = round(load_settings(home=mirror.folder).cache_gb * _GB) if most is None else most
    cache, gone = mirror.folder.parent, list[Path]()
    size = bytes_below(cache)
    for path in _candidates(cache, used):
        if size <= bound:
            break
        if _delete(path):
            gone.append(path)
            _drop_unlinked(path.parents[1])
            size = bytes_below(cache)
    if size > bound:
        _log.warning("%s holds %s MB, more than SAG_CACHE_GB allows, and all is in use", cache, size // 10**6)
    return gone


def bytes_below(folder: Path) -> int:
    """Bytes on disk below a folder; a file of several names counts once."""
    seen = {}
    for path in folder.rglob("*"):
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        if path.is_file():
            seen[found.st_ino] = min(found.st_size, found.st_blocks * _DISK_BLOCK)  # holes take no room
    return sum(seen.values())


def _candidates(cache: Path, used: Path | None) -> Iterator[Path]:
    """Releases, parts of tables and vectors, those used longest ago first."""
    kinds = ("releases", "tables", "vectors", "source")
    found = [path for kind in kinds for path in cache.glob(f"*/{kind}/[!.]*") if path.is_dir() and path != used]
    yield from sorted(found, key=_last_used)


def _last_used(path: Path) -> float:
    marker = path / _MANIFEST
    try:
        return (marker if marker.exists() else path).stat().st_atime
    except FileNotFoundError:
        return 0.0


def _delete(path: Path) -> bool:
    """Delete the copy of a release, of a table or of vectors, unless a process uses it."""
    lock = path / _MANIFEST if path.parent.name == "releases" else path.parents[1] / "lock"
    try:
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            aside = path.with_name(f".gone-{path.name}-{uuid4().hex}")
            path.rename(aside)
    except FileNotFoundError:
        aside = path
    except BlockingIOError:
        return False
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _drop_unlinked(mirror: Path) -> None:
    """Delete fetched files that belong nowhere any more."""
    for path in (mirror / FILES).glob("[!.]*"):
        if path.stat().st_nlink == 1:
            path.unlink(missing_ok=True)
            path.with_name(f".{path.name}.blocks").unlink(missing_ok=True)


def touch(release: Path) -> None:
    """Note that a release is used now: many file systems do not."""
    marker = release / _MANIFEST
    os.utime(marker, ns=(time.time_ns(), marker.stat().st_mtime_ns))
