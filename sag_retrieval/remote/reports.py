"""Reports in a bucket: fetched before the next of a series is written, sent when it is finished.

REPORTS names the files of all reports by path; their bytes lie in files/<hash>.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from sag_retrieval.core.errors import BucketError
from sag_retrieval.remote.mirror import listed_below, measure, mirror_of

KEY: Final = "REPORTS"
_BELOW: Final = "reports"


def pull_reports(home: Path) -> None:
    """Make the reports of this machine those of the bucket; those of a home of its own stay.

    Raises:
        BucketError: If they cannot be read.

    """
    mirror = mirror_of(home)
    if mirror is None:
        return
    folder, tree = home / _BELOW, mirror.tree(KEY)
    for path, entry in listed_below(folder).items():
        if tree.entries.get(path) != entry:
            (folder / path).unlink(missing_ok=True)
    mirror.fetch_all(tree.entries, folder)


def send_reports(home: Path, *changed: str) -> None:
    """Make some reports of the bucket those of this machine: written ones are sent, deleted ones forgotten.

    Args:
        home: The home; nothing is done for one of its own.
        changed: Folders below `reports`, with `/` at the end, and files.

    Raises:
        BucketError: If the bucket cannot be written.

    """
    mirror = mirror_of(home)
    if mirror is None or not changed:
        return
    folder = home / _BELOW
    own = {path: entry for each in changed for path, entry in _own(folder, each)}
    if not mirror.update_tree(KEY, folder, own, lambda path: _is_below(path, changed)):
        raise BucketError(f"other machines keep writing reports to {mirror.url}; run `sag report` again")


def _own(folder: Path, changed: str) -> Iterable[tuple[str, tuple[int, str]]]:
    place = folder / changed
    if place.is_dir():
        return [(f"{changed}{path}", entry) for path, entry in listed_below(place).items()]
    return [(changed, measure(place))] if place.is_file() else []


def _is_below(path: str, changed: Iterable[str]) -> bool:
    return any(path.startswith(each) if each.endswith("/") else path == each for each in changed)
