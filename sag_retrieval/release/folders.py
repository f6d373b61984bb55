"""Folders below a home: locked while written, deleted whole, their files listed with lengths and hashes."""

import fcntl
import json
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final
from uuid import uuid4

import numpy as np
import xxhash

from sag_retrieval.core import durable
from sag_retrieval.core.errors import ReleaseError, SourceError
from sag_retrieval.core.types import Words64

_WAIT = 0.05
DRAFT = ".draft-"
_GONE = ".gone-"
BLOCK: Final = 1 << 16
"""Bytes a checksum covers: about what the system reads from disk at once for one page."""
_READ: Final = 16 * BLOCK
MADE: Final = "made"
_OLD_MARK: Final = re.compile("[0-9a-f]{12}")
"""All that version 0.1 wrote."""
SUMS = "sums.json"


@contextmanager
def write_lock(folder: Path, patience: float = 600) -> Iterator[None]:
    """Keep other writers out of a folder, in this process and others; not reentrant.

    The system lets go of the lock when the process ends, however it ends.

    Raises:
        SourceError: If another process still writes below the folder after `patience` seconds.

    """
    durable.make_folder(folder, 0o700)  # documents and answers are private
    until = time.monotonic() + patience
    with (folder / "lock").open("ab") as held:
        while not _is_taken(held.fileno()):
            if time.monotonic() >= until:
                raise SourceError(
                    f"another run has been writing below {folder} for {patience:.0f} s; `sag status` shows what is done"
                )
            time.sleep(_WAIT)
        yield


def _is_taken(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def set_aside(folder: Path) -> Path:
    """Take a folder or file out of its place by one rename, to be deleted; where it lies then."""
    aside = folder.with_name(f"{_GONE}{folder.name}-{uuid4().hex}")
    folder.rename(aside)
    return aside


def delete(path: Path) -> None:
    """Delete a folder or file so that it is there whole or not at all, whenever the process is killed."""
    erase(set_aside(path))


def erase(aside: Path) -> None:
    """Delete what was set aside."""
    if aside.is_dir() and not aside.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.unlink(missing_ok=True)


def sweep(folder: Path, *names: str) -> int:
    """Delete drafts and what was set aside right below a folder, and what begins with one of the names; how many.

    Only for whoever holds the lock under which they are made: then nobody is at work on them.
    """
    marks = (DRAFT, _GONE, *names)
    left = [path for path in folder.glob(".*") if path.name.startswith(marks)]
    for path in left:
        erase(path)
    return len(left)


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A file in numbers."""

    length: int
    digest: str
    """BLAKE2b, 16 bytes, in hex."""
    sums: Words64


def block_count(length: int) -> int:
    """How many blocks a file of so many bytes has."""
    return -(-length // BLOCK)


def measure(path: Path) -> Measure:
    """Read a file once and say what is in it."""
    digest, length, sums = blake2b(digest_size=16), 0, list[int]()
    for part in _parts(path, 0, None):
        digest.update(part)
        length += len(part)
        sums += _sums_of(part)
    return Measure(length, digest.hexdigest(), np.array(sums, np.uint64))


def digest_of(path: Path) -> str:
    """The hash of a file's bytes as `Measure` has it."""
    digest = blake2b(digest_size=16)
    for part in _parts(path, 0, None):
        digest.update(part)
    return digest.hexdigest()


def sums_of(path: Path, first: int, last: int) -> Words64:
    """Checksums of the blocks `first` to `last`, that one not included; fewer where the file ends before."""
    found = [number for part in _parts(path, first * BLOCK, last * BLOCK) for number in _sums_of(part)]
    return np.array(found, np.uint64)


def _parts(path: Path, start: int, stop: int | None) -> Iterator[memoryview]:
    """A file's bytes in whole blocks but for its last; read, not mapped: a map dies with a file cut meanwhile."""
    buffer = memoryview(bytearray(_READ))
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while stop is None or start < stop:
            wanted = _READ if stop is None else min(_READ, stop - start)
            read = _fill(file.readinto, buffer[:wanted])
            if read:
                yield buffer[:read]
            if read < wanted:
                return
            start += read


def _fill(readinto: Callable[[memoryview], int | None], buffer: memoryview) -> int:
    """Read until the buffer is full or the file ends; how many bytes."""
    done = 0
    while done < len(buffer) and (read := readinto(buffer[done:])):
        done += read
    return done


def _sums_of(part: memoryview) -> list[int]:
    return [xxhash.xxh3_64_intdigest(part[start : start + BLOCK]) for start in range(0, len(part), BLOCK)]


def wrong_lengths(folder: Path, files: Mapping[str, tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Files that are not there in the length of the manifest, and what is instead."""
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
    """Say what a finished folder was made with, and what its files are."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != MADE)
    files = {path.name: (path.stat().st_size, digest_of(path)) for path in paths}
    durable.sync_all(paths)
    durable.write_text(folder / MADE, json.dumps({"files": files, "mark": mark}, sort_keys=True) + "\n")


def mark_of(folder: Path) -> str | None:
    """What a folder was made with; None where there is none, or a file of it is not as it was made."""
    try:
        return check_made(folder)
    except ReleaseError:
        return None


def wrong_made(folder: Path) -> str:
    """What is wrong with a folder that `write_made` finished; empty if nothing is, or there is none."""
    if not folder.is_dir():
        return ""
    try:
        check_made(folder)
    except ReleaseError as error:
        return str(error)
    return ""


def check_made(folder: Path) -> str:
    """Compare the files of a folder with their list; what it was made with. Version 0.1 wrote no list to compare.

    Raises:
        ReleaseError: If the list cannot be read, or a file is not as it was made.

    """
    try:
        text = (folder / MADE).read_text(encoding="utf-8")
        if _OLD_MARK.fullmatch(text):
            return text
        told = json.loads(text)
        mark = str(told["mark"])
        files = {str(name): (int(n), str(digest)) for name, (n, digest) in told["files"].items()}
        wrong = next(wrong_lengths(folder, files), None)
        changed = wrong or next(((n, "it has changed") for n in files if digest_of(folder / n) != files[n][1]), None)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(folder, MADE, str(error)) from error
    if changed:
        raise _damaged(folder, *changed)
    return mark


def _damaged(folder: Path, name: str, what: str) -> ReleaseError:
    return ReleaseError(
        f"{folder.name}/{name} of release {folder.parent.name} is damaged: {what}; "
        f"run the Dagster job `report`, which makes {folder.name} anew"
    )


def write_sums(folder: Path) -> None:
    """Store a hash of each file below the folder."""
    files = {path.relative_to(folder).as_posix(): _hash(path.read_bytes()) for path in _files(folder)}
    kept = {"files": files, "own": _hash(json.dumps(files, sort_keys=True).encode())}
    durable.write_text(folder / SUMS, json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False))


def wrong_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Damaged files and what is wrong with each; none where there are no checksums (version 0.1)."""
    if not (folder / SUMS).exists():
        return
    try:
        kept = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        files = dict(kept["files"])
        is_own = kept["own"] == _hash(json.dumps(files, sort_keys=True).encode())
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield SUMS, f"it cannot be read ({error})"
        return
    if not is_own:
        yield SUMS, "its bytes are not those that were written"
        return
    for name, digest in files.items():
        try:
            if _hash((folder / name).read_bytes()) != digest:
                yield name, "its bytes are not those that were written"
        except OSError as error:
            yield name, f"it cannot be read ({error.strerror})"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=12).hexdigest()
