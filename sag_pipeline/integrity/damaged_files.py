"""Which files below a home are damaged: parts, vectors, releases, reports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.lance_tables import SEALED, LanceTables
from sag_pipeline.store.ledger import Entry, Ledger, breaks, link_files
from sag_pipeline.store.parts import damage, read_footer, read_rows
from sag_pipeline.store.store import Store
from sag_pipeline.tables import RECORDS, schema_of
from sag_retrieval.core.errors import SagError, StoreError
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
    for entry in store.ledger.entries("part <> ''"):
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
    """What is wrong with a release, as far as this version can compare it.

    A manifest of version 0.1 lists no files; one of another form can be read by the version that wrote it.
    """
    found = FoundRelease.look(folder)
    if found.is_of_another_form or (found.manifest is not None and not found.manifest.files):
        return []
    try:
        return verify_release(folder, deep=deep)
    except (SagError, OSError, ValueError) as error:
        return [FileFault("", f"it cannot be opened ({error})")]


def wrong_pointer(path: Path, releases: Sequence[str]) -> str:
    """What is wrong with the file CURRENT."""
    try:
        name = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return "it is missing, so no release is current" if releases else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if name.removesuffix("\n") in releases else f"it names {name[:60]!r}, which is not a release of this home"


def wrong_latest(latest: Path, reports: Sequence[str]) -> str:
    """What is wrong with the name of the latest report of a series."""
    try:
        named = latest.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return "it is missing" if reports else ""
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    return "" if named in reports else f"it names {named[:60]!r}, which is not a report of this series"


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
