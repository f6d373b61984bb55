"""Whether parts and vectors on disk are those that the ledger names: files, rows, and, on request, every byte."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.store.chain import breaks, link_files
from sag_pipeline.store.ledger import Entry, Ledger
from sag_pipeline.store.parts import damage, is_sealed, read_footer, read_rows
from sag_pipeline.store.store import Store
from sag_pipeline.store.vectors import name_of, raw
from sag_pipeline.tables import RECORDS, schema_of
from sag_retrieval.core.errors import StoreError


@dataclass(frozen=True, slots=True)
class WrongPart:
    """A part that is not what the ledger says of it, and the entries that name it."""

    table: str
    path: Path
    what: str
    entries: Sequence[Entry] = field(repr=False)


def open_anyway(home: Path) -> Store:
    """The store of a home by those commits that are whole, for looking at and mending it."""
    folder = home / "ledger"
    harmed = {each.path for each in breaks(folder)}
    return Store(home, Ledger(folder, [path for path in link_files(folder) if path not in harmed]))


def parts_in_use(store: Store) -> dict[tuple[str, str], list[Entry]]:
    """Table and name of every part that an entry in force names, with those entries."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in store.ledger.entries("part <> ''"):
        found.setdefault((entry.step, entry.part), []).append(entry)
    return found


def wrong_parts(store: Store, *, deep: bool) -> list[WrongPart]:
    """Parts in use that are missing, unreadable or hold other rows; with `deep` every byte is compared."""
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
    if table in {*RECORDS, "calls"} and not footer.schema.to_arrow_schema().equals(schema_of(table)):
        return f"its columns are not those of {table}"
    if entries[0].kind != "document":
        return "" if footer.num_rows == live else f"it has {footer.num_rows} rows, the ledger says {live}"
    if footer.num_rows < live:
        return f"it has {footer.num_rows} rows, the ledger says {live} at least"
    return _wrong_documents(path, entries) if deep else ""


def _wrong_documents(path: Path, entries: Sequence[Entry]) -> str:
    """Whether the rows of each document are there, exactly once and together."""
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
    """Files of vectors, of whichever embedder."""
    return sorted((home / "vectors").glob("*/*.parquet"))


def wrong_vectors(home: Path, *, deep: bool) -> dict[Path, str]:
    """Files of vectors that cannot be read or hold what no embedder gave."""
    found = {}
    for path in vector_files(home):
        try:
            what = (damage(path) if deep else "") or _wrong_values(path, deep=deep)
        except StoreError as error:
            what = _reason(error)
        if what:
            found[path] = what
    return found


def _wrong_values(path: Path, *, deep: bool) -> str:
    names = read_footer(path).schema.to_arrow_schema().names
    if names not in (["vector_id", "values"], ["vector_id", "indices", "values"]):
        return f"its columns are {names}, not those of vectors"
    if not deep:
        return ""
    rows = read_rows(path)
    if is_sealed(path) and name_of(raw(rows["vector_id"].combine_chunks())) != path.stem[:-25]:
        return "it holds vectors of other texts than its name says"
    values = rows["values"].combine_chunks()
    return "" if np.isfinite(_floats(values)).all() else "it holds NaN or infinity"


def _floats(values: pa.Array) -> npt.NDArray[np.float32]:
    if pa.types.is_fixed_size_binary(values.type):
        width = values.type.byte_width // 4
        return np.frombuffer(values.buffers()[1], "<f4", len(values) * width)
    return np.asarray(values.flatten(), np.float32)


def unused_parts(store: Store, used: Mapping[tuple[str, str], object]) -> dict[tuple[str, str], Path]:
    """Parts that no entry names: of a commit that was cut off, or whose entry was lost."""
    tables = store.home / "tables"
    every = {(path.parent.name, path.stem): path for path in sorted(tables.glob("*/*.parquet"))}
    return {key: path for key, path in every.items() if key not in used}


def _reason(error: StoreError) -> str:
    """What an error says after the name of the file and before the next command."""
    return str(error).partition(" is ")[2].rpartition("; ")[0]
