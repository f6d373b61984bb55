"""Durable file writes: contents are synced to disk before the name that refers to them."""

import hashlib
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

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
