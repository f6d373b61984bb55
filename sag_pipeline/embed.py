"""Embed each new text once, and store the corpus statistics of the hashing embedder."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from sag_pipeline.publish.publish import Embedding
from sag_pipeline.runner import ProgressCallback, RunStats, ignore_progress
from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import DocumentOutcome, StepSpec, Store
from sag_pipeline.store.vectors import VectorIds, VectorStore, vector_ids
from sag_pipeline.tables import from_table
from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.core.records import batched
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit
from sag_retrieval.models.open import open_dense
from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.releases import Releases

_DOCUMENTS_A_BATCH = 128
_REFIT_FACTOR = 2
FOLDER = "embedder"
"""Folder of the corpus statistics below SAG_HOME."""
INPUTS = ("chunks", "events", "keys")


def open_embedding(store: Store, model: str) -> Embedding:
    """Open the embedder that a setting names, with its vectors.

    The hashing embedder is fitted on the corpus and its statistics are stored below the home. It is fitted again only
    when the corpus has doubled, because every text is then embedded again.
    """
    if model == HASHING:
        fitted = _fitted(store)
        embedder = HashingEmbedder(fitted)
        return Embedding(model, embedder, _vectors(store, embedder.fingerprint, embedder.dimension), fitted.save)
    opened = open_dense(model)
    return Embedding(model, opened, _vectors(store, opened.fingerprint, opened.dimension), _save_nothing)


def _vectors(store: Store, fingerprint: str, dimension: int) -> VectorStore:
    return VectorStore(store.home, fingerprint, dimension)


def _save_nothing(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _fitted(store: Store) -> HashingFit:
    fitted = load_fit(store.home)
    if fitted is not None and store.ledger.row_count("chunks") < _REFIT_FACTOR * max(1, fitted.text_count):
        return fitted
    fitted = fit(_chunk_texts(store))
    save_fit(store.home, fitted)
    return fitted


def _chunk_texts(store: Store) -> Iterable[str]:
    for rows in store.scan("chunks"):
        for header, text in zip(rows["header"].to_pylist(), rows["text"].to_pylist(), strict=True):
            yield f"{header}\n{text}" if header else text


def embed_pending(
    store: Store, step: StepSpec, embedding: Embedding, progress: ProgressCallback = ignore_progress
) -> RunStats:
    """Embed the texts of changed documents; texts that have a vector already are not embedded again."""
    tally, started = RunStats(), time.perf_counter()
    tally.counts["removed"] = store.drop_stale(step)
    pending = store.pending(step)
    known = embedding.vectors.known()
    done = 0
    for batch in batched(pending, _DOCUMENTS_A_BATCH):
        for texts in _texts(store, [p.document_id for p in batch]):
            ids, first = np.unique(vector_ids(texts), return_index=True)
            fresh = ~np.isin(ids, known, assume_unique=True)
            if fresh.any():
                embedding.vectors.append(ids[fresh], embedding.embedder.embed([texts[n] for n in first[fresh]]))
                known = _merged(known, ids[fresh])
            tally.counts["rows"] += int(fresh.sum())
        store.commit(step, [DocumentOutcome(p) for p in batch])
        tally.counts.update("new" if p.is_new else "changed" for p in batch)
        done += len(batch)
        progress(step.name, done, len(pending))
    tally.counts["skipped"] = store.ledger.document_count(step.name) - len(pending)
    tally.seconds = time.perf_counter() - started
    return tally


def _merged(known: VectorIds, fresh: VectorIds) -> VectorIds:
    """Sorted ids with new sorted ids inserted."""
    return np.insert(known, np.searchsorted(known, fresh), fresh)


def _texts(store: Store, documents: Sequence[str]) -> list[list[str]]:
    """Texts to embed of some documents, one list per table: chunks and events with their titles, text keys.

    Separate lists, because publishing reads each table's vectors in the order of that table.
    """
    chunks, events, keys = (store.read(table, documents) for table in INPUTS)
    return [
        [chunk.indexed_text for rows in chunks.values() for chunk in rows],
        [event.indexed_text for rows in events.values() for event in rows],
        [link.key.value_string for rows in keys.values() for link in rows if link.key.value_string],
    ]


def texts_of(table: str, rows: pa.Table, documents: Sequence[str]) -> list[str]:
    """The embedded texts of some documents, from the rows of chunks, events or keys."""
    records = from_table(table, of_documents(rows, documents))
    if table == "keys":
        return [link.key.value_string for link in records if link.key.value_string]
    return [record.indexed_text for record in records]


def wanted_vectors(store: Store) -> VectorIds:
    """Ids of all texts that still need a vector, sorted."""
    found = [np.empty(0, "S16")]
    for table in ("chunks", "events"):
        found += [vector_ids([r.indexed_text for r in from_table(table, rows)]) for rows in store.scan(table)]
    for rows in store.scan("keys"):
        values = rows["value_string"].drop_null().unique().to_pylist()
        found.append(vector_ids([value for value in values if value]))
    return np.unique(np.concatenate(found))


def load_fit(home: Path) -> HashingFit | None:
    """Load the corpus statistics of a home; None before the first embedding.

    Their hash is in the name of the folder of their vectors, which is created first, and in the manifests of releases.

    Raises:
        StoreError: If the file is damaged, or missing though there are vectors made with it.

    """
    folder = home / FOLDER
    if not any(folder.glob("*.npy")):
        if any((home / "vectors").glob("hashing-*/*.parquet")):
            raise StoreError(f"{folder / 'hashing.npy'} is missing; `sag repair` mends it")
        return None
    try:
        fitted = HashingFit.load(folder)
    except (ModelError, OSError, EOFError, ValueError, TypeError) as error:
        raise StoreError(f"{folder / 'hashing.npy'} is damaged ({error}); `sag repair` mends it") from error
    fingerprint = HashingEmbedder(fitted).fingerprint
    if not (home / "vectors" / fingerprint).is_dir() and not _is_released(home, fingerprint):
        raise StoreError(
            f"{folder / 'hashing.npy'} is damaged (no vectors were made with {fingerprint}); `sag repair` mends it"
        )
    return fitted


def save_fit(home: Path, fitted: HashingFit) -> None:
    """Replace the stored corpus statistics atomically."""
    durable.make_folder(home / "vectors" / HashingEmbedder(fitted).fingerprint)
    with TemporaryDirectory(dir=home, prefix=DRAFT) as draft:
        fitted.save(Path(draft))
        durable.make_folder(home / FOLDER)
        for path in Path(draft).iterdir():
            path.replace(home / FOLDER / path.name)


def _is_released(home: Path, fingerprint: str) -> bool:
    return any(manifest.embedder_fingerprint == fingerprint for manifest in Releases(home).manifests())
