"""Durable file writes: contents are synced to disk before the name that refers to them."""

import hashlib
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

_TICK_NS, _COARSE_NS, _SECOND_NS = 50_000_000, 2_000_000_000, 1_000_000_000
"""A file that changed less than a tick of its clock before it was looked at may change again and look the same: 4 to 10
ms on Linux, two seconds where times are whole seconds (FAT)."""
_fcntl: Final[Any] = import_module("fcntl") if find_spec("fcntl") else None
"""None on Windows."""


def state_of(told: os.stat_result) -> str:
    """Size, times and number of a file: another one whenever its bytes were written again, as `make` takes it."""
    return f"{told.st_size}|{told.st_mtime_ns}|{told.st_ctime_ns}|{told.st_ino}"


def is_settled(told: os.stat_result) -> bool:
    """Whether a file cannot change any more and look the same: it has not only just changed."""
    newest = max(told.st_mtime_ns, told.st_ctime_ns)
    return time.time_ns() - newest >= (_TICK_NS if newest % _SECOND_NS else _COARSE_NS)


def take_lock(file: int, *, is_shared: bool = False, waits: bool = False) -> bool:
    """Lock an open file, also against other openings in this process; whether it was free. `waits`: until it is.

    On Windows a shared lock is the open file itself, which nobody can rename or delete there.
    """
    if _fcntl is None:
        return is_shared or _lock_byte(file, waits=waits)
    try:
        _fcntl.flock(file, (_fcntl.LOCK_SH if is_shared else _fcntl.LOCK_EX) | (0 if waits else _fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_byte(file: int, *, waits: bool) -> bool:
    """Lock the first byte, which need not be there; the system tries ten times, a second apart, if asked to wait."""
    import msvcrt  # noqa: PLC0415  of Windows alone

    os.lseek(file, 0, os.SEEK_SET)
    try:
        msvcrt.locking(file, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


_AT_ONCE: Final = 8
"""Parallel syncs: a disk completes several together."""


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest_of(path: Path, size: int = 16) -> str:
    """The hash (BLAKE2b, in hex) of a file's bytes, read and not mapped: a map crashes if the file is cut meanwhile."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=size)).hexdigest()


def sync_all(paths: Iterable[Path]) -> None:
    """Wait until all of these files and folders are on disk."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(sync, paths):
            pass


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and its parents, and sync each new name; otherwise all below it could be lost."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    for folder in reversed(new):
        sync(folder.parent)


def rename(old: Path, new: Path) -> None:
    """Rename a synced file or folder durably; a file that has the new name is replaced."""
    old.replace(new)
    sync(new.parent)


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: after a power loss it has the new text or the old one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    rename(draft, path)
