"""Writes that outlast a loss of power: what a name stands for is on disk before the name is."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

_AT_ONCE: Final = 8
"""Syncs wait for the disk, which takes many of them together."""


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """Wait until all of these files and folders are on disk."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(sync, paths):
            pass


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it; each new name is on disk, else all below it could be lost with it."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(mode=mode, parents=True, exist_ok=True)
    for folder in reversed(new):
        sync(folder.parent)


def rename(old: Path, new: Path) -> None:
    """Give a file or folder that is on disk its name, durably; a file of that name is replaced."""
    old.replace(new)
    sync(new.parent)


def write_text(path: Path, text: str) -> None:
    """Write a file that is whole or as it was before, also after power is lost."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    rename(draft, path)
