"""The files of a ledger as a chain: numbered without a gap, each naming the one before it, the last one named in HEAD.

    0000000041-snapshot-<hash>.parquet     everything before it is in it
    0000000042-<hash>.parquet              names ...41-snapshot-<hash> as the one before it
    HEAD                                   0000000042-<hash>

A commit writes its file first and HEAD second, so HEAD names the last file or, after a kill between the two, the one
before it. A lost file leaves a gap, or HEAD names what is not there. A loss of the last file and of HEAD together
cannot be seen here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from sag_pipeline.store.parts import damage, discard, is_sealed, read_footer, write_sealed
from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError

HEAD = "HEAD"
SNAPSHOT = "-snapshot"
_NAME = re.compile(r"(\d{10})(-snapshot)?(-[0-9a-f]{24})?")
_PREVIOUS = b"sag.previous"


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the chain is broken: the file, and what is wrong with it."""

    path: Path
    what: str


def link_files(folder: Path) -> list[Path]:
    """The files in order, from the last snapshot on: what stood before it is already in it."""
    files = sorted(folder.glob("*.parquet"))
    first = max((i for i, path in enumerate(files) if SNAPSHOT in path.stem), default=0)
    return files[first:]


def append_link(folder: Path, rows: pa.Table, *, is_snapshot: bool = False, previous: str | None = None) -> Path:
    """Write the next file and name it in HEAD; `previous` is the name before it if it is not the last file's."""
    files = link_files(folder)
    before = previous if previous is not None else (files[-1].stem if files else "")
    number = _number(files[-1]) + 1 if files else 0
    linked = rows.replace_schema_metadata({_PREVIOUS: before.encode()})
    path = write_sealed(linked, folder, f"{number:010d}{SNAPSHOT if is_snapshot else ''}")
    if (folder / HEAD).is_dir():
        discard(folder / HEAD)
    durable.write_text(folder / HEAD, path.stem + "\n")
    return path


def drop_links(folder: Path, keep: Path) -> None:
    """Delete every file but a snapshot that holds them all."""
    for path in folder.glob("*.parquet"):
        if path != keep:
            discard(path)


def read_head(folder: Path) -> str:
    """The name in HEAD; empty if there is none, or none that can be one."""
    try:
        name = (folder / HEAD).read_bytes().decode("ascii", "replace").removesuffix("\n")
    except FileNotFoundError:
        return ""
    except OSError:
        return "?"
    return name if _NAME.fullmatch(name) else "?"


def breaks(folder: Path) -> list[Break]:
    """Where the chain is broken; empty if every commit since the last snapshot is there, whole and in its place."""
    every = sorted(folder.glob("*.parquet"))
    found = [Break(path, "its name is none of a commit") for path in every if not _NAME.fullmatch(path.stem)]
    files = [path for path in link_files(folder) if _NAME.fullmatch(path.stem)]
    found += [Break(path, what) for path in files if (what := damage(path))]
    harmed = {each.path for each in found}
    whole = [path for path in files if path not in harmed]
    found += _gaps(folder, files) + _wrong_links(whole)
    return found + _wrong_head(folder, files, whole)


def is_doubtful(found: Sequence[Break], path: Path) -> bool:
    """Whether a commit after this file may be lost, so that what this file says may be out of date."""
    return any(each.path.name > path.name or each.path.name == HEAD for each in found)


def _gaps(folder: Path, files: Sequence[Path]) -> list[Break]:
    found = []
    expected = None if not files or SNAPSHOT in files[0].stem else 0
    for path in files:
        number = _number(path)
        if expected is not None and number < expected:
            found.append(Break(path, f"a second commit has the number {number}"))
        elif expected is not None and number > expected:
            lost = folder / f"{number - 1:010d}"
            found.append(Break(lost, f"commits {expected} to {number - 1} are missing"))
        expected = number + 1
    return found


def _wrong_links(whole: Sequence[Path]) -> list[Break]:
    found = []
    for before, path in pairwise(whole):
        follows = _number(path) == _number(before) + 1
        if follows and is_sealed(path) and _previous(path) != before.stem:
            found.append(Break(path, f"it follows {_previous(path) or 'nothing'}, not {before.stem}"))
    return found


def _wrong_head(folder: Path, files: Sequence[Path], whole: Sequence[Path]) -> list[Break]:
    head = read_head(folder)
    if files and files[-1] not in whole:
        return []  # the last file is damaged; that is told already
    allowed = {files[-1].stem, _previous(files[-1])} if files else {""}
    if head in allowed:
        return []
    told = f"names {head}" if head else "is missing"
    last = files[-1].stem if files else "no commit at all"
    return [Break(folder / HEAD, f"it {told}, the last commit is {last}".replace("names ?", "cannot be read"))]


def _previous(path: Path) -> str:
    try:
        metadata = read_footer(path).metadata or {}
    except StoreError:
        return ""
    return str(metadata.get(_PREVIOUS, b"").decode())


def _number(path: Path) -> int:
    return int(path.name[:10])
