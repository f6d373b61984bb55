"""What must hold of a release before it becomes current, and whether one on disk can still be used."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.progress import listener
from sag_retrieval.core.errors import ReleaseError, SagError, SchemaMismatch
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.open import open_embedder
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.manifest import ANSWERS, Manifest, layer_path
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.releases import Releases, measurements_of
from sag_retrieval.release.schema import REGISTRY, ROW_FILES, TABLES
from sag_retrieval.release.vectors import DenseVectors, open_vectors

QUESTIONS: Final = "questions.jsonl"
"""File of the home with questions, their documents (`gold_documents`) and expected texts (`answers`)."""
RECALL_FLOOR = 0.9
_MEASUREMENTS: Final = 50
"""Measurements of earlier releases that a manifest carries."""


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


def check_release(
    folder: Path, manifest: Manifest, tables: Mapping[str, pa.Table], graph: Mapping[str, Any], known: Mapping[str, int]
) -> list[Check]:
    """Every check of `NAMES`, in that order, on the newest layer of a release, and on the links of all together.

    `tables` are those of the layer; `known` has counts that the manifest must have too.
    """
    number = max(0, len(manifest.layers) - 1)
    own = {name: rows.num_rows for name, rows in tables.items()}
    return [
        check_schema(tables),
        check_orphans(tables, may_be_alone=number > 0),
        check_values(tables["keys"]),
        check_idf(graph["key_idf"]),
        _check_vectors(folder / layer_path(number), replace(manifest, counts=own), folder),
        _check_counts(graph, manifest, known),
        check_recall(manifest),
    ]


def check_schema(tables: Mapping[str, pa.Table]) -> Check:
    """Every table has the columns and types of the schema, and no null where none is allowed."""
    for name in ROW_FILES:
        schema = TABLES[name]
        found, wanted = tables[name].schema, schema.remove_metadata()
        if found.names != wanted.names:
            mismatch = SchemaMismatch(name, set(wanted.names) - set(found.names), set(found.names) - set(wanted.names))
            return Check("schema", passed=False, message=str(mismatch))
        for expected in wanted:
            column = tables[name][expected.name]
            if column.type != expected.type or (not expected.nullable and column.null_count):
                fault = f"{name}.{expected.name} is {column.type} with {column.null_count} nulls, not {expected.type}"
                return Check("schema", passed=False, message=fault)
    return Check("schema", passed=True, message=f"{len(ROW_FILES)} tables")


def check_orphans(tables: Mapping[str, pa.Table], *, may_be_alone: bool = False) -> Check:
    """Every id that a row names is that of a row, and every key is one of a chunk, unless it may be alone."""
    found = {} if may_be_alone else {"keys without chunk": _sum(pc.equal(tables["keys"]["chunk_count"], 0))}
    for name in ROW_FILES:
        for column, other in REGISTRY[name].refers.items():
            known = pc.is_in(tables[name][column], tables[other][column].combine_chunks())
            found[f"{name} without {column.removesuffix('_id')}"] = _sum(pc.invert(known))
    found = {name: count for name, count in found.items() if count}
    numbers = {"orphans": sum(found.values())}
    return Check("no_orphans", passed=not found, message=str(found) if found else "0 orphans", numbers=numbers)


def _sum(flags: pa.ChunkedArray) -> int:
    return int(pc.sum(flags).as_py() or 0)


def check_values(keys: pa.Table) -> Check:
    """Every key has exactly one value."""
    given = [pc.cast(pc.is_valid(keys[name]), pa.int8()) for name in ("value_string", "value_number", "value_bool")]
    wrong = pc.sum(pc.not_equal(pc.add(pc.add(given[0], given[1]), given[2]), 1)).as_py() or 0
    said = f"{wrong} of {keys.num_rows} keys differ"
    return Check("one_value_per_key", passed=wrong == 0, message=said, numbers={"wrong": wrong})


def check_idf(idf: npt.NDArray[np.floating]) -> Check:
    """No idf is negative or not finite."""
    wrong = int((~np.isfinite(idf) | (idf < 0)).sum())
    said = f"{wrong} of {len(idf)} keys below 0"
    return Check("idf_not_negative", passed=wrong == 0, message=said, numbers={"wrong": wrong})


def _check_vectors(folder: Path, manifest: Manifest, release: Path) -> Check:
    for name, vectors in open_vectors(folder / "arrays" / "vectors", release).items():
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


def _check_counts(graph: Mapping[str, Any], manifest: Manifest, known: Mapping[str, int]) -> Check:
    found = {
        "documents": len(graph["document_chunks"]) - 1,
        "chunks": len(graph["chunk_document"]),
        "events": len(graph["event_chunk"]),
        "keys": len(graph["key_idf"]),
        "event_keys": len(graph["event_keys"].items),
        "chunk_keys": len(graph["chunk_keys"].items),
    }
    given = dict(manifest.counts) | dict(known)
    wrong = {n: (c, given[n]) for n, c in found.items() if not c == given[n] == manifest.counts[n]}
    counts = ", ".join(f"{count} {name}" for name, count in found.items())
    message = f"arrays and tables differ: {wrong}" if wrong else counts
    return Check("counts_tie_up", passed=not wrong, message=message, numbers=found)


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
        with closing(Reader(folder, opened)) as reader:
            return _fault_of_parts(reader, embedder)
    except (SagError, OSError, ValueError, RuntimeError, KeyError) as error:  # whatever the libraries raise on damage
        return f"{type(error).__name__}: {error}"


def _fault_of_parts(reader: Reader, embedder: Embedder) -> str:
    if not reader.manifest.files:
        return "its manifest lists no files, as in version 0.1, so damage could not be detected"
    if reader.index.embedder.fingerprint != embedder.fingerprint:
        return f"it was embedded by {reader.index.embedder.fingerprint}"
    counts = reader.manifest.counts
    wrong = [name for name in ROW_FILES if reader.index.rows[name].num_rows != counts[name]]
    return f"{', '.join(wrong)}: row counts differ from the manifest" if wrong else ""
