"""Bringing vectors up to date: each new text is embedded once, a batch of documents at a time."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from sag_pipeline.embed import load_fit, save_fit
from sag_pipeline.publish.publish import Embedding
from sag_pipeline.runner import ProgressCallback, RunStats, ignore_progress
from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import DocumentOutcome, StepSpec, Store
from sag_pipeline.store.vectors import VectorIds, VectorStore, vector_ids
from sag_pipeline.tables import from_table
from sag_retrieval.core.records import batched
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit
from sag_retrieval.models.open import open_dense

_DOCUMENTS_A_BATCH = 128
_REFIT_FACTOR = 2
INPUTS = ("chunks", "events", "keys")


def open_embedding(store: Store, model: str) -> Embedding:
    """The embedder of a setting with its vectors.

    The hashing embedder is fitted on the corpus and kept below the home. It is fitted again only when the corpus has
    doubled, since every text is then embedded anew.
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
    """Embed the texts of documents that changed; texts that have a vector already are not sent again."""
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
    """Sorted ids with new sorted ones put in."""
    return np.insert(known, np.searchsorted(known, fresh), fresh)


def _texts(store: Store, documents: Sequence[str]) -> list[list[str]]:
    """Texts to embed of some documents, a part each: chunks and events with their titles, text keys.

    Apart, because publishing reads each table's vectors in its own order.
    """
    chunks, events, keys = (store.read(table, documents) for table in INPUTS)
    return [
        [chunk.indexed_text for rows in chunks.values() for chunk in rows],
        [event.indexed_text for rows in events.values() for event in rows],
        [link.key.value_string for rows in keys.values() for link in rows if link.key.value_string],
    ]


def texts_of(table: str, rows: pa.Table, documents: Sequence[str]) -> list[str]:
    """The texts of some documents that have a vector each, out of the rows of chunks, events or keys."""
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
