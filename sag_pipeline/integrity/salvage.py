"""Check the file of paid answers, and save what can be read of a damaged one."""

import json
import shutil
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sag_retrieval.models.answer_cache import AnswerCache, Answered, columns_of, is_unchanged

_HEX = "0123456789abcdef"
_DEEPEST = 3
"""A range of call ids that cannot be read from either end is divided up to this number of digits, then given up."""
_SCHEMA_PAGE = 4096
PartRow = tuple[Any, ...]


def wrong_answers(path: Path, *, deep: bool) -> tuple[int, list[str]]:
    """The number of answers in a file, and what is wrong with it; with `deep` every answer is compared with its digest.

    Answers lost from a truncated log cannot be detected: the model is asked again for them.
    """
    if not path.is_file():
        return 0, ["it is not a file"]
    if path.stat().st_size == 0:
        return 0, ["it is empty, without the table of answers"]
    try:
        with closing(_open(path)) as connection:
            check = "integrity_check" if deep else "quick_check"
            found = [str(line) for (line,) in connection.execute(f"pragma {check}") if line != "ok"]
            ((count,),) = connection.execute("select count(*) from answers")
            if deep:
                found += [f"answer {row[0]} is not the one that was kept" for row in _all(connection) if _is_bad(row)]
    except (sqlite3.Error, UnicodeError) as error:
        return 0, [str(error)]
    return count, found[:1] + ([f"and {len(found) - 1} more"] if len(found) > 1 else [])


def salvage_answers(path: Path, into: Path) -> int:
    """Write every answer that can be read and agrees with its digest into a new file; the number of answers."""
    found: dict[str, PartRow] = {}
    with TemporaryDirectory(dir=path.parent, prefix=".salvage-") as folder:
        copies = [path]
        if path.is_file() and path.stat().st_size > _SCHEMA_PAGE:
            copies.append(_with_new_first_page(path, Path(folder)))
        for copy in copies:
            with suppress(sqlite3.Error), closing(_open(copy)) as connection:
                for row in _readable(connection):
                    found.setdefault(str(row[0]), row)
        draft = Path(folder) / "salvaged"
        with AnswerCache(draft) as kept:
            kept.keep(*(Answered(*row[:-1]) for _, row in sorted(found.items())))
        draft.replace(into)
    return len(found)


def known_calls(path: Path) -> set[str]:
    """The ids of all answers in a whole file; none if it is not there."""
    if not path.exists():
        return set()
    with closing(_open(path)) as connection:
        return {str(call_id) for (call_id,) in connection.execute("select call_id from answers")}


def _open(path: Path) -> sqlite3.Connection:
    """Open the file read-only: checking a damaged file must not change it or create others next to it."""
    has_log = path.with_name(f"{path.name}-wal").exists()
    return sqlite3.connect(f"{path.resolve().as_uri()}?{'mode=ro' if has_log else 'immutable=1'}", uri=True)


def _all(connection: sqlite3.Connection, where: str = "") -> Iterator[PartRow]:
    names = [row[1] for row in connection.execute("pragma table_info(answers)")]
    digest = "digest" if "digest" in names else "''"  # version 0.1 had none
    yield from connection.execute(f"select {columns_of()}, {digest} from answers {where}")  # noqa: S608  our own columns


def _is_bad(row: PartRow) -> bool:
    try:
        json.loads(row[1])
    except (TypeError, ValueError):
        return True
    return not is_unchanged(row)


def _readable(connection: sqlite3.Connection) -> Iterator[PartRow]:
    """Readable, unchanged rows: all at once, or by ranges of call ids, divided further where reading fails.

    A range is read from both ends, so only rows between two damaged places are lost.
    """
    ranges = [""]
    while ranges:
        prefix = ranges.pop()
        where = f"where call_id >= '{prefix}' and call_id < '{prefix}~' order by call_id"
        is_whole = yield from _read(connection, where)
        if not is_whole:
            yield from _read(connection, f"{where} desc")
            ranges += [prefix + digit for digit in _HEX if len(prefix) < _DEEPEST]


def _read(connection: sqlite3.Connection, where: str) -> Generator[PartRow, None, bool]:
    """Yield the unchanged rows of a range; returns whether it could be read to its end."""
    try:
        yield from (row for row in _all(connection, where) if not _is_bad(row))
    except (sqlite3.Error, UnicodeError):
        return False
    return True


def _with_new_first_page(path: Path, folder: Path) -> Path:
    """A copy with the first page of a new file, which has the header and schema; the answers are on later pages."""
    fresh, copy = folder / "fresh", folder / "copy"
    AnswerCache(fresh).close()
    shutil.copyfile(path, copy)
    pages = path.stat().st_size // _SCHEMA_PAGE
    first = bytearray(fresh.read_bytes()[:_SCHEMA_PAGE])
    first[28:32] = pages.to_bytes(4, "big")
    first[92:96] = first[24:28]  # the page count is valid for this state of the file
    with copy.open("r+b") as file:
        file.write(first)
    return copy
