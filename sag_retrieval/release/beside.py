"""Files made beside a release after it was published: they carry their own list of lengths and hashes."""

import json
import re
from pathlib import Path
from typing import Final

from sag_retrieval.core import durable
from sag_retrieval.core.errors import ReleaseError
from sag_retrieval.release.folders import digest_of, wrong_lengths

MADE: Final = "made"
_OLD_MARK: Final = re.compile("[0-9a-f]{12}")
"""All that version 0.1 wrote."""


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
