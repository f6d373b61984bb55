"""Bringing vectors up to date: each new text is embedded once, a batch of documents at a time."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sag_pipeline.publish.publish import Embedding
from sag_pipeline.store.rows import from_table
from sag_pipeline.store.store import Outcome, Step, Store, in_batches
from sag_pipeline.store.vectors import VectorIds, VectorStore, vector_ids
from sag_pipeline.work import Progress, Tally, silent
from sag_retrieval.errors import ModelError
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit
from sag_retrieval.models.open import open_embedder
from sag_retrieval.release.leftovers import DRAFT

_DOCUMENTS_A_BATCH = 128
_REFIT_FACTOR = 2
INPUTS = ("chunks", "events", "keys")


def open_embedding(store: Store, model: str) -> Embedding:
    """The embedder of a setting with its vectors.

    The hashing embedder is fitted on the corpus and kept below the home. It is fitted again only when the corpus has
    doubled, since every text is then embedded anew.
    """
    folder = store.home / "embedder"
    if model == "hashing":
        fitted = _fitted(store, folder)
        embedder = HashingEmbedder(fitted)
        return Embedding(model, embedder, _vectors(store, embedder.fingerprint, embedder.dimension), fitted.save)
    opened = open_embedder(model, folder)
    return Embedding(model, opened, _vectors(store, opened.fingerprint, opened.dimension), _save_nothing)


def _vectors(store: Store, fingerprint: str, dimension: int) -> VectorStore:
    return VectorStore(store.home, fingerprint, dimension)


def _save_nothing(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _fitted(store: Store, folder: Path) -> HashingFit:
    ((count,),) = store.ledger.select("SELECT coalesce(sum(row_count), 0) FROM current WHERE step = 'chunks'")
    try:
        fitted = HashingFit.load(folder)
    except ModelError:
        fitted = None
    if fitted is not None and int(str(count)) < _REFIT_FACTOR * max(1, fitted.text_count):
        return fitted
    fitted = fit(_chunk_texts(store))
    with TemporaryDirectory(dir=store.home, prefix=DRAFT) as draft:
        fitted.save(Path(draft))
        folder.mkdir(exist_ok=True)
        for path in Path(draft).iterdir():
            path.replace(folder / path.name)
    return fitted


def _chunk_texts(store: Store) -> Iterable[str]:
    for rows in store.scan("chunks"):
        for header, text in zip(rows["header"].to_pylist(), rows["text"].to_pylist(), strict=True):
            yield f"{header}\n{text}" if header else text


def embed_pending(store: Store, step: Step, embedding: Embedding, progress: Progress = silent) -> Tally:
    """Embed the texts of documents that changed; texts that have a vector already are not sent again."""
    tally, started = Tally(), time.perf_counter()
    tally.counts["removed"] = store.drop_stale(step)
    pending = store.pending(step)
    known = embedding.vectors.known()
    done = 0
    for batch in in_batches(pending, _DOCUMENTS_A_BATCH):
        for texts in _texts(store, [p.document_id for p in batch]):
            ids, first = np.unique(vector_ids(texts), return_index=True)
            fresh = ~np.isin(ids, known, assume_unique=True)
            if fresh.any():
                embedding.vectors.append(ids[fresh], embedding.embedder.embed([texts[n] for n in first[fresh]]))
                known = _merged(known, ids[fresh])
            tally.counts["rows"] += int(fresh.sum())
        store.commit(step, [Outcome(p) for p in batch])
        tally.counts.update("new" if p.is_new else "changed" for p in batch)
        done += len(batch)
        progress(step.name, done, len(pending))
    tally.counts["skipped"] = _count(store, step.name) - len(pending)
    tally.seconds = time.perf_counter() - started
    return tally


def _count(store: Store, step: str) -> int:
    ((count,),) = store.ledger.select("SELECT count(*) FROM current WHERE step = ?", step)
    return int(str(count))


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


def wanted_vectors(store: Store) -> VectorIds:
    """Ids of all texts that still need a vector, sorted."""
    found = [np.empty(0, "S16")]
    for table in ("chunks", "events"):
        found += [vector_ids([r.indexed_text for r in from_table(table, rows)]) for rows in store.scan(table)]
    for rows in store.scan("keys"):
        values = rows["value_string"].drop_null().unique().to_pylist()
        found.append(vector_ids([value for value in values if value]))
    return np.unique(np.concatenate(found))
