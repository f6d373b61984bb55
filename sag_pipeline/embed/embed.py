"""Embed each new text once, and store the corpus statistics of the hashing embedder."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.embed.new_vectors import NewVectors
from sag_pipeline.embed.tasks import TextBatch
from sag_pipeline.engines.engine import EngineFor, here
from sag_pipeline.publish.build import Embedding, embedded_texts
from sag_pipeline.step_runner import ProgressCallback, RunStats, ignore_progress
from sag_pipeline.store.lance_tables import SEALED
from sag_pipeline.store.store import DocumentOutcome, Pending, StepSpec, Store
from sag_pipeline.store.vectors import KINDS, VectorIds, VectorStore, vector_ids
from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.core.records import batched
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit_of
from sag_retrieval.models.open import open_dense
from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.releases import Releases

_DOCUMENTS_A_BATCH = 128
_TEXTS_A_COUNT: Final = 1024
_REFIT_FACTOR = 2
FOLDER = "embedder"
"""Folder of the corpus statistics below SAG_HOME."""
_COLUMNS: Final = {"chunks": ("header", "text"), "events": ("title", "content"), "keys": ("value_string",)}
"""Of the embedded texts of each kind."""


def open_embedding(store: Store, model: str, engine: EngineFor = here) -> Embedding:
    """Open the embedder that a setting names, with its vectors.

    The hashing embedder is fitted on the corpus and its statistics are stored below the home. It is fitted again only
    when the corpus has doubled, because every text is then embedded again.
    """
    if model == HASHING:
        fitted = _fitted(store, engine)
        embedder = HashingEmbedder(fitted)
        return Embedding(model, embedder, _vectors(store, embedder.fingerprint, embedder.dimension), fitted.save)
    opened = open_dense(model)
    return Embedding(model, opened, _vectors(store, opened.fingerprint, opened.dimension), _save_nothing)


def _vectors(store: Store, fingerprint: str, dimension: int) -> VectorStore:
    vectors = VectorStore(store.home, fingerprint, dimension)
    if vectors.is_old():
        vectors.adopt(wanted_by_kind(store))
    return vectors


def _save_nothing(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _fitted(store: Store, engine: EngineFor) -> HashingFit:
    fitted = load_fit(store.home)
    if fitted is not None and store.ledger.row_count("chunks") < _REFIT_FACTOR * max(1, fitted.text_count):
        return fitted
    texts = (TextBatch(block) for block in _chunk_texts(store))
    fitted = fit_of(engine(store.ledger.document_count("chunks")).map("count", texts))
    save_fit(store.home, fitted)
    return fitted


def _chunk_texts(store: Store) -> Iterator[pa.Array]:
    for rows in store.scan("chunks", ["header", "text"]):
        texts = texts_of("chunks", rows)
        for start in range(0, len(texts), _TEXTS_A_COUNT):
            yield texts.slice(start, _TEXTS_A_COUNT)


def embed_pending(
    store: Store,
    step: StepSpec,
    embedding: Embedding,
    progress: ProgressCallback = ignore_progress,
    *,
    engine: EngineFor = here,
) -> RunStats:
    """Embed the texts of changed documents; texts that have a vector already are not embedded again."""
    tally, started = RunStats(), time.perf_counter()
    tally.counts["removed"] = store.drop_stale(step)
    if pending := store.pending(step):
        _embed(store, step, NewVectors(embedding, engine(len(pending))), pending, tally, progress)
        embedding.vectors.compact()
    tally.counts["skipped"] = store.ledger.document_count(step.name) - len(pending)
    tally.seconds = time.perf_counter() - started
    return tally


def _embed(
    store: Store,
    step: StepSpec,
    made: NewVectors,
    pending: Sequence[Pending],
    tally: RunStats,
    progress: ProgressCallback,
) -> None:
    done, committed = 0, 0

    def commit() -> None:
        nonlocal committed
        made.flush()  # first, or a kill in between would leave texts that are never embedded
        waiting = pending[committed:done]
        if waiting:
            store.commit(step, [DocumentOutcome(each) for each in waiting])
        tally.counts.update("new" if each.is_new else "changed" for each in waiting)
        committed = done

    try:
        for number, count in enumerate(made.embed(_pieces(store, [each.document_id for each in pending])), 1):
            tally.counts["rows"] += count
            if number % len(KINDS) == 0:
                done = min(done + _DOCUMENTS_A_BATCH, len(pending))
                progress(step.name, done, len(pending))
            if made.is_due():
                commit()
    finally:  # what was paid for stays, whatever ended the run
        commit()


def _pieces(store: Store, documents: Sequence[str]) -> Iterator[tuple[str, pa.Array]]:
    """The texts of each kind of some documents, and of the next ones."""
    readers = {kind: store.document_rows(kind, documents) for kind in KINDS}
    for batch in batched(documents, _DOCUMENTS_A_BATCH):
        for kind in KINDS:
            yield kind, texts_of(kind, readers[kind].of(batch))


def texts_of(table: str, rows: pa.Table) -> pa.Array:
    """The embedded texts of rows of chunks, events or keys; without those of keys that are no text."""
    texts = embedded_texts(table, rows).combine_chunks()
    return texts.filter(pc.not_equal(texts, "")) if table == "keys" else texts


def wanted_vectors(store: Store) -> VectorIds:
    """Ids of all texts that still need a vector, sorted."""
    return np.unique(np.concatenate([*wanted_by_kind(store).values()]))


def wanted_by_kind(store: Store) -> dict[str, VectorIds]:
    """Ids of the texts of each kind that still need a vector, sorted."""
    found = {kind: [np.empty(0, "S16")] for kind in KINDS}
    for kind, columns in _COLUMNS.items():
        for rows in store.scan(kind, columns):
            found[kind].append(vector_ids(texts_of(kind, rows).unique().to_pylist()))
    return {kind: np.unique(np.concatenate(ids)) for kind, ids in found.items()}


def load_fit(home: Path) -> HashingFit | None:
    """Load the corpus statistics of a home; None before the first embedding.

    Their hash is in the name of the folder of their vectors, which is created first, and in the manifests of releases.

    Raises:
        StoreError: If the file is damaged, or missing though there are vectors made with it.

    """
    folder = home / FOLDER
    if not any(folder.glob("*.npy")):
        if any((home / "vectors").glob("hashing-*/*.parquet")) or any((home / "vectors").glob(f"hashing-*/{SEALED}")):
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
