"""What must hold of a release before it becomes current, and whether one on disk can still be used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.progress import listener
from sag_retrieval.core.errors import ReleaseError, SagError, SchemaMismatch
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.open import open_embedder
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.arrays import open_arrays
from sag_retrieval.release.manifest import ANSWERS, Manifest
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases, measurements_of
from sag_retrieval.release.schema import MAPPED, REGISTRY, TABLES
from sag_retrieval.release.vectors import DenseVectors

QUESTIONS: Final = "questions.jsonl"
"""File of the home with questions, their documents (`gold_documents`) and expected texts (`answers`)."""
RECALL_FLOOR = 0.9
_MEASUREMENTS: Final = 50
"""Measurements of earlier releases that a manifest carries."""
_HEADERS = 3 * 4096
"""Bytes before the first block of a DuckDB file."""


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check; the message has the figure that decided it."""

    name: str
    passed: bool
    message: str
    numbers: Mapping[str, float | int] = field(default_factory=dict)
    """What was measured: the manifest keeps it, and Dagster plots it over time."""

    def as_json(self) -> dict[str, Any]:
        """As the manifest keeps it."""
        return {"passed": self.passed, "message": self.message, **self.numbers}


MEANINGS: Final = {
    "schema": "Every table has the columns and types of the release format, and no null where none is allowed.",
    "no_orphans": "Every id in a table refers to a row that is there.",
    "one_value_per_key": "Every key has exactly one value: a text, a number or a flag.",
    "idf_not_negative": "No weight of a key is negative or not finite.",
    "vectors_finite": "Every row has a vector of the embedder's dimension, and every value is finite.",
    "counts_tie_up": "Tables, arrays and manifest have the same numbers of rows.",
    "nearest_neighbour_recall": "The index of the vectors finds at least 90 % of the exact neighbours of queries that "
    "did not choose its parameters.",
    ANSWERS: "The questions of the home are answered about as well as by the current release.",
}
"""What each check of a release says, in the order in which they are made; each blocks publishing."""
NAMES = tuple(name for name in MEANINGS if name != ANSWERS)
"""Checks of a draft; that of the answers is made once the release can be opened."""

_ORPHANS = {
    f"{name} without {column.removesuffix('_id')}": f"SELECT count(*) FROM {name} ANTI JOIN {other} USING ({column})"
    for name, table in REGISTRY.items()
    for column, other in table.refers.items()
} | {"keys without chunk": "SELECT count(*) FROM keys ANTI JOIN chunk_keys USING (key_id)"}


def check_release(folder: Path, manifest: Manifest, tables: Mapping[str, pa.Table]) -> list[Check]:
    """Every check of `NAMES`, in that order, on a release folder and its tables."""
    return [
        check_schema(tables),
        _check_orphans(folder),
        check_values(tables["keys"]),
        check_idf(tables["keys"]),
        _check_vectors(folder, manifest),
        _check_counts(folder, manifest, tables),
        check_recall(manifest),
    ]


def check_schema(tables: Mapping[str, pa.Table]) -> Check:
    """Every table has the columns and types of the schema, and no null where none is allowed."""
    for name, schema in TABLES.items():
        found, wanted = tables[name].schema, schema.remove_metadata()
        if found.names != wanted.names:
            mismatch = SchemaMismatch(name, set(wanted.names) - set(found.names), set(found.names) - set(wanted.names))
            return Check("schema", passed=False, message=str(mismatch))
        for expected in wanted:
            column = tables[name][expected.name]
            if column.type != expected.type or (not expected.nullable and column.null_count):
                fault = f"{name}.{expected.name} is {column.type} with {column.null_count} nulls, not {expected.type}"
                return Check("schema", passed=False, message=fault)
    return Check("schema", passed=True, message=f"{len(TABLES)} tables")


def _check_orphans(folder: Path) -> Check:
    connection = duckdb.connect(str(folder / "sag.duckdb"), read_only=True)
    try:
        counts = {name: connection.execute(sql).fetchall()[0][0] for name, sql in _ORPHANS.items()}
    finally:
        connection.close()
    found = {name: count for name, count in counts.items() if count}
    numbers = {"orphans": sum(found.values())}
    return Check("no_orphans", passed=not found, message=str(found) if found else "0 orphans", numbers=numbers)


def check_values(keys: pa.Table) -> Check:
    """Every key has exactly one value."""
    given = [pc.cast(pc.is_valid(keys[name]), pa.int8()) for name in ("value_string", "value_number", "value_bool")]
    wrong = pc.sum(pc.not_equal(pc.add(pc.add(given[0], given[1]), given[2]), 1)).as_py() or 0
    return Check(
        "one_value_per_key",
        passed=wrong == 0,
        message=f"{wrong} of {keys.num_rows} keys differ",
        numbers={"wrong": wrong},
    )


def check_idf(keys: pa.Table) -> Check:
    """No idf is negative or not finite."""
    idf = keys["idf"].to_numpy()
    wrong = int((~np.isfinite(idf) | (idf < 0)).sum())
    return Check(
        "idf_not_negative", passed=wrong == 0, message=f"{wrong} of {len(idf)} keys below 0", numbers={"wrong": wrong}
    )


def _check_vectors(folder: Path, manifest: Manifest) -> Check:
    for name, vectors in open_arrays(folder / "arrays").vectors.items():
        if vectors.dimension != manifest.dimension or vectors.row_count != manifest.counts[name]:
            fault = (
                f"{name}: {vectors.row_count} × {vectors.dimension}, not {manifest.counts[name]} × {manifest.dimension}"
            )
            return Check("vectors_finite", passed=False, message=fault)
        values = vectors.matrix if isinstance(vectors, DenseVectors) else getattr(vectors, "values", np.zeros(0))
        wrong = sum(int((~np.isfinite(values[i : i + 65_536])).sum()) for i in range(0, len(values), 65_536))
        if wrong:
            return Check("vectors_finite", passed=False, message=f"{name}: {wrong} values are not finite")
    return Check("vectors_finite", passed=True, message=f"dimension {manifest.dimension}, all finite")


def _check_counts(folder: Path, manifest: Manifest, tables: Mapping[str, pa.Table]) -> Check:
    arrays = open_arrays(folder / "arrays")
    pairs = {
        "documents": arrays.document_count,
        "chunks": arrays.chunk_count,
        "events": arrays.event_count,
        "keys": arrays.key_count,
        "event_keys": len(arrays.event_keys.items),
        "chunk_keys": len(arrays.chunk_keys.items),
    }
    wrong = {n: (c, tables[n].num_rows) for n, c in pairs.items() if not c == tables[n].num_rows == manifest.counts[n]}
    counts = ", ".join(f"{count} {name}" for name, count in pairs.items())
    message = f"arrays and tables differ: {wrong}" if wrong else counts
    return Check("counts_tie_up", passed=not wrong, message=message, numbers=pairs)


def check_recall(manifest: Manifest) -> Check:
    """Where there is an index of vectors, it finds at least `RECALL_FLOOR` of the exact neighbours."""
    measured = {n: i["recall_at_50"] for n, i in manifest.index.items() if "recall_at_50" in i}
    passed = all(recall >= RECALL_FLOOR for recall in measured.values())
    message = str(measured) if measured else "exact scan"
    return Check("nearest_neighbour_recall", passed=passed, message=message, numbers=measured)


Gate = Callable[[str, str | None], Check]
"""Compares a release, by its id, with the current one, if there is one, before it becomes current."""


def ask_gate(gate: Gate | None, releases: Releases, release_id: str, *, is_new: bool) -> list[Check]:
    """What the gate says of a release; the manifest of a new one, which nobody has open yet, keeps it with history."""
    if gate is None:
        return []
    listener()("release", 0, 0, "questions")
    folder, current = releases.folder / release_id, releases.current()
    check = gate(release_id, current)
    if is_new:
        history = _history(releases, current)
        manifest = Manifest.read(folder)
        replace(manifest, checks={**manifest.checks, check.name: {**check.as_json(), "history": history}}).write(folder)
    return [check]


def _history(releases: Releases, current: str | None) -> list[dict[str, Any]]:
    """How the current release, and those before it, answered the questions of the home."""
    try:
        return measurements_of(Manifest.read(releases.path(current)))[-_MEASUREMENTS:] if current else []
    except ReleaseError:
        return []


def fault_of(folder: Path, embedder: Embedder) -> str:
    """Why a release of this embedder cannot be used; empty if every file exists and can be opened.

    A hashing fit is a file of the release and is opened too; other models are those of the run.
    """

    def opened(model: str, kept: Path) -> Embedder:
        return open_embedder(model, kept) if model == HASHING else embedder

    try:
        reader = Reader(folder, opened)
        try:
            fault = _fault_of_parts(reader, embedder)
        finally:
            reader.close()
    except (SagError, OSError, ValueError, RuntimeError, KeyError) as error:  # whatever the libraries raise on damage
        return f"{type(error).__name__}: {error}"
    return fault


def _fault_of_parts(reader: Reader, embedder: Embedder) -> str:
    if not reader.manifest.files:
        return "its manifest lists no files, as in version 0.1, so damage could not be detected"
    if reader.index.embedder.fingerprint != embedder.fingerprint:
        return f"it was embedded by {reader.index.embedder.fingerprint}"
    counts = reader.manifest.counts
    wrong = [name for name in MAPPED if reader.index.rows[name].num_rows != counts[name]]
    if not _is_database(reader.folder / "sag.duckdb"):
        return "sag.duckdb is not a database"
    return f"{', '.join(wrong)}: row counts differ from the manifest" if wrong else ""


def _is_database(path: Path) -> bool:
    """Whether a file has the header of a database; it is not opened, as a process can do that only once."""
    with path.open("rb") as file:
        head = file.read(_HEADERS)
    return len(head) == _HEADERS and head[8:12] == b"DUCK"
