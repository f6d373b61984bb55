"""Whether a release on disk can be put in force again or gone on from, told without reading it through."""

from pathlib import Path

import lancedb

from sag_retrieval.core.errors import SagError
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.open import open_embedder
from sag_retrieval.models.protocols import Embedder
from sag_retrieval.release.reader import Reader
from sag_retrieval.release.schema import MAPPED

_LANCE = ("chunks", "events", "keys")
_HEADERS = 3 * 4096
"""Bytes before the first block of a DuckDB file."""


def fault_of(folder: Path, embedder: Embedder) -> str:
    """Why a release of this embedder cannot be used; empty if every file is there and opens.

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
        return "it names no files, as those of version 0.1, so that damage of it could not be found"
    if reader.index.embedder.fingerprint != embedder.fingerprint:
        return f"it was embedded by {reader.index.embedder.fingerprint}"
    counts = reader.manifest.counts
    wrong = [name for name in MAPPED if reader.index.rows[name].num_rows != counts[name]]
    wrong += [name for name in _LANCE if _lance_rows(reader.folder, name) != counts[name]]
    if not _is_database(reader.folder / "sag.duckdb"):
        return "sag.duckdb is no database"
    return f"{', '.join(wrong)}: other row counts than its manifest says" if wrong else ""


def _is_database(path: Path) -> bool:
    """Whether it looks like one; it is not opened, as that may be done only once in a process."""
    with path.open("rb") as file:
        head = file.read(_HEADERS)
    return len(head) == _HEADERS and head[8:12] == b"DUCK"


def _lance_rows(folder: Path, name: str) -> int:
    return int(lancedb.connect(folder / "lance").open_table(name).count_rows())
