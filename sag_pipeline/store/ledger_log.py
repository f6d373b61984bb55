"""The files of a ledger as a chain: numbered without a gap, each with the name of the previous one, the last in HEAD.

    0000000041-snapshot-<hash>.parquet     contains everything before it
    0000000042-<hash>.parquet              names ...41-snapshot-<hash> as the previous file
    HEAD                                   0000000042-<hash>

A commit writes its file first and HEAD second, so HEAD names the last file or, after a kill between the two, the
previous one. A lost file leaves a gap, or HEAD names a missing file. The file `ledger.last` beside the folder names the
last commit once more, so that the loss of the last file together with HEAD is seen too. It is not synced: after a power
cut it may be older, which says nothing.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa

from sag_pipeline.store.parts import damage, discard, is_sealed, read_footer, write_sealed
from sag_retrieval.core import durable
from sag_retrieval.core.errors import StoreError

HEAD = "HEAD"
SNAPSHOT = "-snapshot"
_NAME = re.compile(r"(\d{10})(-snapshot)?(-[0-9a-f]{24})?")
_PREVIOUS = b"sag.previous"

READ_ENTRIES: Final = """
    WITH found AS (
        SELECT * FROM no_entries
        UNION ALL BY NAME SELECT * FROM read_parquet(?, filename = true, union_by_name = true)
    ), known AS (
        SELECT * REPLACE (CASE
            WHEN kind IS NOT NULL THEN kind
            WHEN step = 'calls' THEN 'appended'
            WHEN unit = '*' AND step NOT IN (
                'documents', 'summaries', 'sections', 'chunks', 'events', 'keys', 'triples', 'vectors'
            ) THEN 'whole'
            WHEN step = 'documents' AND regexp_matches(unit, '^!.*\x1f.*\x1f-?[0-9]+$', 's') THEN 'aside'
            ELSE 'document' END AS kind), kind IS NULL AS is_old
        FROM found
    )
    SELECT * REPLACE (CASE
        WHEN NOT is_old THEN unit
        WHEN kind = 'whole' THEN ''
        WHEN kind = 'appended' THEN part
        WHEN kind = 'aside' THEN substr(unit, 2)
        ELSE unit END AS unit)
    FROM known
"""
"""Every entry with its kind. Version 0.1 wrote none: there it follows from the step and the form of the unit."""


@dataclass(frozen=True, slots=True)
class Break:
    """A break in the chain: the file, and what is wrong with it."""

    path: Path
    what: str


def link_files(folder: Path) -> list[Path]:
    """The files in order, from the last snapshot on, which contains everything before it."""
    if not folder.is_dir():
        return []
    names = sorted(name for name in os.listdir(folder) if name.endswith(".parquet"))  # noqa: PTH208  Path sorts slowly
    first = max((i for i, name in enumerate(names) if SNAPSHOT in name), default=0)
    return [folder / name for name in names[first:]]


def append_link(folder: Path, rows: pa.Table, *, is_snapshot: bool = False, previous: str | None = None) -> Path:
    """Write the next file and name it in HEAD; `previous` replaces the name of the last file as the previous one."""
    files = link_files(folder)
    before = previous if previous is not None else (files[-1].stem if files else "")
    number = _number(files[-1]) + 1 if files else 0
    linked = rows.replace_schema_metadata({_PREVIOUS: before.encode()})
    path = write_sealed(linked, folder, f"{number:010d}{SNAPSHOT if is_snapshot else ''}")
    if (folder / HEAD).is_dir():
        discard(folder / HEAD)
    durable.write_text(folder / HEAD, path.stem + "\n")
    draft = folder / f".{_last(folder).name}.{os.getpid()}"  # there, where drafts of killed processes are deleted
    draft.write_text(path.stem + "\n", encoding="ascii")
    draft.replace(_last(folder))
    return path


def _last(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.last")


def drop_links(folder: Path, keep: Path) -> None:
    """Delete every file but `keep`, a snapshot that contains them all."""
    for path in folder.glob("*.parquet"):
        if path != keep:
            discard(path)


def state_of(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of every file: the same as long as nothing was written, removed or damaged there."""
    if not folder.is_dir():
        return ()
    stats = ((path.name, path.stat()) for path in sorted(folder.iterdir()))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def read_head(folder: Path) -> str:
    """The name in HEAD; empty if there is no HEAD, `?` if it holds no valid name."""
    return _name_in(folder / HEAD)


def _name_in(path: Path) -> str:
    try:
        name = path.read_bytes().decode("ascii", "replace").removesuffix("\n")
    except FileNotFoundError:
        return ""
    except OSError:
        return "?"
    return name if _NAME.fullmatch(name) else "?"


def breaks(folder: Path) -> list[Break]:
    """Breaks of the chain; empty if every commit since the last snapshot is present, undamaged and in its place."""
    every = sorted(folder.glob("*.parquet"))
    found = [Break(path, "its name is not that of a commit") for path in every if not _NAME.fullmatch(path.stem)]
    files = [path for path in link_files(folder) if _NAME.fullmatch(path.stem)]
    found += [Break(path, what) for path in files if (what := damage(path))]
    harmed = {each.path for each in found}
    whole = [path for path in files if path not in harmed]
    found += _gaps(folder, files) + _wrong_links(whole) + _lost_end(folder, files)
    return found + _wrong_head(folder, files, whole)


def is_doubtful(found: Sequence[Break], path: Path) -> bool:
    """Whether a commit after this file may be lost, so that entries of this file may be out of date."""
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


def _lost_end(folder: Path, files: Sequence[Path]) -> list[Break]:
    """The last commit as `ledger.last` names it, if it and those after it are gone with HEAD."""
    named = _name_in(_last(folder))
    if named in {"", "?"} or int(named[:10]) <= (_number(files[-1]) if files else -1):
        return []
    if read_head(folder) == named:
        return []  # reported as a wrong HEAD
    return [Break(_last(folder), f"it names {named}, and the last commit is {files[-1].stem if files else 'none'}")]


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
        return []  # the last file is damaged, which is reported already
    allowed = {files[-1].stem, _previous(files[-1])} if files else {""}
    if head in allowed:
        return []
    state = f"names {head}" if head else "is missing"
    last = files[-1].stem if files else "no commit at all"
    return [Break(folder / HEAD, f"it {state}, the last commit is {last}".replace("names ?", "cannot be read"))]


def _previous(path: Path) -> str:
    try:
        metadata = read_footer(path).metadata or {}
    except StoreError:
        return ""
    return str(metadata.get(_PREVIOUS, b"").decode())


def _number(path: Path) -> int:
    return int(path.name[:10])
