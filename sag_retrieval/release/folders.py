"""Folders below a home: locked while written, deleted whole, their files listed with lengths and hashes."""

import errno
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

import numpy as np
import xxhash

from sag_retrieval.core import durable
from sag_retrieval.core.durable import take_lock
from sag_retrieval.core.errors import ReleaseError, SourceError
from sag_retrieval.core.types import Words64

_WAIT = 0.05
DRAFT = ".draft-"
_GONE = ".gone-"
BLOCK: Final = 1 << 16
"""Bytes per checksum: about what the system reads from disk at once for one page."""
_READ: Final = 16 * BLOCK
MADE: Final = "made"
_OLD_MARK: Final = re.compile("[0-9a-f]{12}")
"""The whole list of version 0.1: a mark without files."""
SUMS = "sums.json"


class ReadOnlyFolder(SourceError):  # noqa: N818  reads better where it is caught
    """A folder cannot be locked, as this process may not write there."""


@contextmanager
def write_lock(folder: Path, patience: float = 600) -> Iterator[None]:
    """Keep other writers out of a folder, in this process and others; not reentrant.

    The system releases the lock when the process ends, however it ends.

    Raises:
        SourceError: If another process still writes below the folder after `patience` seconds.
        ReadOnlyFolder: If this process may not write there.
    """
    until = time.monotonic() + patience
    with _lock_file(folder) as held:
        while not take_lock(held.fileno()):
            if time.monotonic() >= until:
                raise SourceError(
                    f"another run has been writing below {folder} for {patience:.0f} s; `sag status` shows what is done"
                )
            time.sleep(_WAIT)
        yield


def _lock_file(folder: Path) -> BinaryIO:
    try:
        durable.make_folder(folder, 0o700)  # documents and answers are private
        return (folder / "lock").open("ab")
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise
        raise ReadOnlyFolder(
            f"{folder} cannot be written ({error.strerror}); make it writable for this user, or name another home by "
            "SAG_HOME (`sag verify`, `search` and `ask` need no right to write)"
        ) from error


def set_aside(folder: Path) -> Path:
    """Rename a folder or file so that it can be deleted; returns its new path."""
    aside = folder.with_name(f"{_GONE}{folder.name}-{uuid4().hex}")
    folder.rename(aside)
    return aside


def delete(path: Path) -> None:
    """Delete a folder or file so that it is there whole or not at all, whenever the process is killed."""
    erase(set_aside(path))


def erase(aside: Path) -> None:
    """Delete what `set_aside` has renamed."""
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def sweep(folder: Path, *names: str) -> int:
    """Delete unfinished and half-deleted files directly below a folder, and hidden ones of these names; their number.

    The caller holds the lock under which they are written, so no process is using them.
    """
    left = _left(folder, *names)
    for path in left:
        erase(path)
    return len(left)


def unfinished(folder: Path) -> int:
    """How many unfinished and half-deleted files `sweep` would delete."""
    return len(_left(folder))


def _left(folder: Path, *names: str) -> list[Path]:
    return [path for path in folder.glob(".*") if path.name.startswith((DRAFT, _GONE, *names))]


def link(file: Path, place: Path) -> None:
    """Put a file in another place: by a hard link, or by a copy on another disk or where there are no links."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, place)
    except OSError:
        shutil.copyfile(file, place)


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """Length, hash and block checksums of a file."""

    length: int
    digest: str
    """BLAKE2b, 16 bytes, in hex."""
    sums: Words64


def block_count(length: int) -> int:
    """Number of blocks of a file of this length in bytes."""
    return -(-length // BLOCK)


def measure(path: Path) -> Measure:
    """Read a file once and compute its length, hash and checksums."""
    digest, length, sums = blake2b(digest_size=16), 0, list[int]()
    for part in _parts(path, 0, None):
        digest.update(part)
        length += len(part)
        sums += _sums_of(part)
    return Measure(length, digest.hexdigest(), np.array(sums, np.uint64))


def sums_of(path: Path, first: int, last: int) -> Words64:
    """Checksums of the blocks from `first` up to, not including, `last`; fewer if the file ends earlier."""
    found = [number for part in _parts(path, first * BLOCK, last * BLOCK) for number in _sums_of(part)]
    return np.array(found, np.uint64)


def _parts(path: Path, start: int, stop: int | None) -> Iterator[memoryview]:
    """A file's bytes in whole blocks, except the last; not mapped: a map crashes if the file is cut meanwhile."""
    buffer = memoryview(bytearray(_READ))
    with path.open("rb") as file:
        file.seek(start)
        while stop is None or start < stop:
            read = file.readinto(buffer if stop is None else buffer[: stop - start])
            if not read:
                return
            yield buffer[:read]
            start += read


def _sums_of(part: memoryview) -> list[int]:
    return [xxhash.xxh3_64_intdigest(part[start : start + BLOCK]) for start in range(0, len(part), BLOCK)]


def wrong_lengths(folder: Path, files: Mapping[str, tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Files that are missing or of another length than listed, and what was found."""
    for name, (length, _) in files.items():
        try:
            found = (folder / name).stat()
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"
            continue
        if not stat.S_ISREG(found.st_mode):
            yield name, "it is no file"
        elif found.st_size != length:
            yield name, f"it has {found.st_size} bytes, not {length}"


def write_made(folder: Path, mark: str) -> None:
    """Write the list of a finished folder: its mark, which names the settings it was made with, and its files."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MADE)
    files = {path.relative_to(folder).as_posix(): (path.stat().st_size, durable.digest_of(path)) for path in paths}
    durable.sync_all(paths)
    durable.write_text(folder / MADE, json.dumps({"files": files, "mark": mark}, sort_keys=True) + "\n")


def mark_of(folder: Path) -> str | None:
    """The mark of a folder; None if there is none, or a file is not as it was written."""
    try:
        return check_made(folder)
    except ReleaseError:
        return None


def wrong_made(folder: Path) -> str:
    """The fault of a folder that `write_made` finished; empty if it has none or does not exist."""
    if not folder.is_dir():
        return ""
    try:
        check_made(folder)
    except ReleaseError as error:
        return str(error)
    return ""


def check_made(folder: Path) -> str:
    """Compare the files of a folder with its list, and return its mark; version 0.1 listed no files."""
    try:
        text = (folder / MADE).read_text(encoding="utf-8")
        if _OLD_MARK.fullmatch(text):
            return text
        listed = json.loads(text)
        mark = str(listed["mark"])
        files = {str(name): (int(n), str(digest)) for name, (n, digest) in listed["files"].items()}
        wrong = next(wrong_lengths(folder, files), None)
        other = (name for name, (_, digest) in files.items() if durable.digest_of(folder / name) != digest)
        changed = wrong or next(((name, "it has changed") for name in other), None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(folder, MADE, str(error)) from error
    if changed:
        raise _damaged(folder, *changed)
    return mark


def _damaged(folder: Path, name: str, what: str) -> ReleaseError:
    return ReleaseError(
        f"{folder.name}/{name} of release {folder.parent.name} is damaged: {what}; "
        f"run `sag ingest`, which makes {folder.name} again"
    )


def write_sums(folder: Path) -> None:
    """Store a hash of each file below the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / SUMS)
    files = {path.relative_to(folder).as_posix(): durable.digest_of(path, 12) for path in paths}
    kept = {"files": files, "own": _hash(files)}
    durable.write_text(folder / SUMS, json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False))


def wrong_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Damaged files and what is wrong with each; none where there are no checksums (version 0.1)."""
    if not (folder / SUMS).exists():
        return
    try:
        kept = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        files = dict(kept["files"])
        is_own = kept["own"] == _hash(files)
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield SUMS, f"it cannot be read ({error})"
        return
    if not is_own:
        yield SUMS, "its bytes are not those that were written"
        return
    for name, digest in files.items():
        try:
            if durable.digest_of(folder / name, 12) != digest:
                yield name, "its bytes are not those that were written"
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"


def _hash(files: Mapping[str, str]) -> str:
    return blake2b(json.dumps(files, sort_keys=True).encode(), digest_size=12).hexdigest()
