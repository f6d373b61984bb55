"""Which files below a home are damaged: parts, vectors, releases, reports, paid answers; what can be read is saved."""

import json
import shutil
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.lance_tables import SEALED, LanceTables
from sag_pipeline.store.ledger import Entry, Ledger, breaks, link_files
from sag_pipeline.store.parts import damage, read_footer, read_rows
from sag_pipeline.store.store import Store
from sag_pipeline.tables import RECORDS, schema_of
from sag_retrieval.core.errors import SagError, StoreError
from sag_retrieval.models.answer_cache import AnswerCache, Answered, columns_of, is_unchanged
from sag_retrieval.release.folders import wrong_files
from sag_retrieval.release.reader import FileFault, verify_release
from sag_retrieval.release.releases import FoundRelease


@dataclass(frozen=True, slots=True)
class WrongPart:
    """A part that differs from its ledger entries, and those entries."""

    table: str
    path: Path
    what: str
    entries: Sequence[Entry] = field(repr=False)


def open_anyway(home: Path) -> Store:
    """The store of a home from its undamaged commits, for verify and repair."""
    folder = home / "ledger"
    harmed = {each.path for each in breaks(folder)}
    return Store(home, Ledger(folder, [path for path in link_files(folder) if path not in harmed]))


def parts_in_use(store: Store) -> dict[tuple[str, str], list[Entry]]:
    """Table and name of every part that a current entry names, with those entries."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in store.ledger.entries("part <> ''", view="stored"):
        found.setdefault((entry.step, entry.part), []).append(entry)
    return found


def wrong_parts(store: Store, *, deep: bool) -> list[WrongPart]:
    """Parts in use that are missing, unreadable or have other rows; with `deep` every byte is compared."""
    found = []
    for (table, part), entries in parts_in_use(store).items():
        path = store.parts.path(table, part)
        try:
            what = (damage(path) if deep else "") or _wrong_rows(table, path, entries, deep=deep)
        except StoreError as error:
            what = _reason(error)
        if what:
            found.append(WrongPart(table, path, what, entries))
    return found


def _wrong_rows(table: str, path: Path, entries: Sequence[Entry], *, deep: bool) -> str:
    footer = read_footer(path)
    live = sum(entry.row_count for entry in entries)
    if table in {*RECORDS, "calls"} and not _is_of(footer.schema.to_arrow_schema(), schema_of(table)):
        return f"its columns are not those of {table}"
    if entries[0].kind != "document":
        return "" if footer.num_rows == live else f"it has {footer.num_rows} rows, the ledger says {live}"
    if footer.num_rows < live:
        return f"it has {footer.num_rows} rows, the ledger says {live} at least"
    return _wrong_documents(path, entries) if deep else ""


def _is_of(found: pa.Schema, schema: pa.Schema) -> bool:
    """Whether a part has the columns of its table, or those of an earlier version that wrote fewer (`with_columns`)."""
    return bool(found.equals(pa.schema([field for field in schema if field.name in found.names or not field.nullable])))


def _wrong_documents(path: Path, entries: Sequence[Entry]) -> str:
    """What is wrong with the rows of documents; empty if those of each are present, once and adjacent."""
    runs = pc.run_end_encode(read_rows(path, ["document_id"])["document_id"].combine_chunks())
    lengths = np.diff(np.asarray(runs.run_ends), prepend=0)
    counts: dict[str, list[int]] = {}
    for document, length in zip(runs.values.to_pylist(), lengths.tolist(), strict=True):
        counts.setdefault(document, []).append(length)
    for entry in entries:
        if counts.get(entry.unit) != [entry.row_count]:
            rows = sum(counts.get(entry.unit, []))
            return f"it has {rows} rows of document {entry.unit!r}, the ledger says {entry.row_count} together"
    return ""


def vector_files(home: Path) -> list[Path]:
    """Files of vectors that were written whole, of all embedders."""
    found = sorted((home / "vectors").rglob("*.parquet"))  # as version 0.1 kept them
    for folder in vector_folders(home):
        try:
            tables = LanceTables(folder).sealed()
        except StoreError:  # a fault of its own
            continue
        found += [folder / SEALED]
        found += [folder / table.folder / file for table in tables.values() for file in table.files]
    return found


def vector_folders(home: Path) -> list[Path]:
    """The folder of each embedder that has vectors."""
    return sorted(path.parent for path in (home / "vectors").rglob(SEALED))


def wrong_vectors(home: Path, *, deep: bool) -> dict[Path, str]:
    """Files of vectors that are missing or not as written; with `deep` every byte is compared."""
    found = {}
    for path in (home / "vectors").rglob("*.parquet"):
        try:
            what = (damage(path) if deep else "") or _wrong_columns(path)
        except StoreError as error:
            what = _reason(error)
        if what:
            found[path] = what
    for folder in vector_folders(home):
        try:
            found |= dict(LanceTables(folder).faults(deep=deep))
        except StoreError as error:
            found[folder / SEALED] = _reason(error)
    return found


def _wrong_columns(path: Path) -> str:
    names = read_footer(path).schema.to_arrow_schema().names
    is_right = names in (["vector_id", "values"], ["vector_id", "indices", "values"])
    return "" if is_right else f"its columns are {names}, not those of vectors"


def unused_parts(store: Store, used: Mapping[tuple[str, str], object]) -> dict[tuple[str, str], Path]:
    """Parts that no entry names: of an interrupted commit, or of a lost entry."""
    tables = store.home / "tables"
    every = {(path.parent.name, path.stem): path for path in sorted(tables.glob("*/*.parquet"))}
    return {key: path for key, path in every.items() if key not in used}


def _reason(error: StoreError) -> str:
    """The part of a message between the name of the file and the next command."""
    return str(error).partition(" is ")[2].rpartition("; ")[0]


def release_folders(home: Path) -> list[Path]:
    """Every folder of a release, whether it can be opened or not."""
    return sorted(path for path in (home / "releases").glob("*") if path.is_dir() and not path.name.startswith("."))


def wrong_release(folder: Path, *, deep: bool) -> list[FileFault]:
    """What is wrong with a release; nothing of one of version 0.1, which lists no files, or of another form."""
    found = FoundRelease.look(folder)
    if found.is_of_another_form or (found.manifest is not None and not found.manifest.files):
        return []
    try:
        return verify_release(folder, deep=deep)
    except (SagError, OSError, ValueError) as error:
        return [FileFault("", f"it cannot be opened ({error})")]


def wrong_pointer(path: Path, names: Sequence[str], kind: str) -> str:
    """What is wrong with a file that names the current one of some releases, or the latest of a series of reports."""
    try:
        named = path.read_bytes().decode("utf-8", "replace").removesuffix("\n")
    except FileNotFoundError:
        return f"it is missing, so no {kind} is named" if names else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if named in names else f"it names {named[:60]!r}, which is no {kind} that is there"


def report_folders(home: Path) -> list[Path]:
    """The folders of all reports."""
    return sorted(path for path in (home / "reports").glob("*/*") if path.is_dir() and not path.name.startswith("."))


def wrong_report(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of a report that cannot be read or differ from what was written."""
    summary = folder / "report.json"
    try:
        json.loads(summary.read_text(encoding="utf-8"))["previous"]
    except FileNotFoundError:
        yield summary, "it is missing: writing the report was interrupted, or the file was deleted"
    except (OSError, ValueError, KeyError, TypeError) as error:
        yield summary, f"it cannot be read ({error})"
    for name, what in wrong_files(folder):
        yield folder / name, what


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
