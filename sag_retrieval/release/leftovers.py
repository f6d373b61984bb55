"""What a killed process leaves: drafts that were not finished and folders that were being deleted."""

import shutil
from pathlib import Path
from uuid import uuid4

DRAFT = ".draft-"
_GONE = ".gone-"


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
