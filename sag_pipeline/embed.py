"""Embed each new text once, and store the corpus statistics of the hashing embedder."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.publish.publish import Embedding
from sag_pipeline.runner import ProgressCallback, RunStats, ignore_progress
from sag_pipeline.store.lance_tables import SEALED
from sag_pipeline.store.parts import of_documents
from sag_pipeline.store.store import DocumentOutcome, Pending, StepSpec, Store
from sag_pipeline.store.vectors import KINDS, VectorIds, VectorStore, check_vectors, joined, vector_ids
from sag_pipeline.tables import from_table
from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, StoreError
from sag_retrieval.core.records import batched
from sag_retrieval.core.settings import HASHING
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import Vectors
from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.releases import Releases

_DOCUMENTS_A_BATCH = 128
_ROWS_AN_APPEND, _SECONDS_AN_APPEND = 16_384, 60
"""Vectors are appended, and their documents committed, after this number of rows or seconds: each append is a file."""
_REFIT_FACTOR = 2
FOLDER = "embedder"
"""Folder of the corpus statistics below SAG_HOME."""


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
    vectors = VectorStore(store.home, fingerprint, dimension)
    if vectors.is_old():
        vectors.adopt(wanted_by_kind(store))
    return vectors


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
    if pending := store.pending(step):
        _embed(store, step, _Appending(embedding), pending, tally, progress)
        embedding.vectors.compact()
    tally.counts["skipped"] = store.ledger.document_count(step.name) - len(pending)
    tally.seconds = time.perf_counter() - started
    return tally


def _embed(
    store: Store,
    step: StepSpec,
    appending: "_Appending",
    pending: Sequence[Pending],
    tally: RunStats,
    progress: ProgressCallback,
) -> None:
    waiting: list[Pending] = []
    committed = 0

    def commit() -> None:
        nonlocal committed
        appending.flush()  # first, or a kill in between would leave texts that are never embedded
        if waiting:
            store.commit(step, [DocumentOutcome(each) for each in waiting])
        tally.counts.update("new" if each.is_new else "changed" for each in waiting)
        committed += len(waiting)
        waiting.clear()

    try:
        for batch in batched(pending, _DOCUMENTS_A_BATCH):
            tally.counts["rows"] += appending.embed(_texts(store, [each.document_id for each in batch]))
            waiting.extend(batch)
            if appending.is_due():
                commit()
            progress(step.name, committed + len(waiting), len(pending))
    finally:  # what was paid for stays, whatever ended the run
        commit()


class _Appending:
    """Embeds texts that have no vector, and appends their vectors in large pieces."""

    def __init__(self, embedding: Embedding) -> None:
        """Read which texts have a vector."""
        self._embedding = embedding
        self._known = {kind: embedding.vectors.known(kind) for kind in KINDS}
        self._wanted: dict[str, list[VectorIds]] = {kind: [] for kind in KINDS}
        self._made: list[tuple[VectorIds, Vectors]] = []
        self._since = time.monotonic()

    def embed(self, texts: Mapping[str, Sequence[str]]) -> int:
        """Embed the texts of some documents by kind; the number of new ones."""
        count = 0
        for kind, listed in texts.items():
            ids, first = np.unique(vector_ids(listed), return_index=True)
            order = np.argsort(first)  # near texts lie near one another on disk
            ids, first = ids[order], first[order]
            fresh = ~(_is_known(ids, self._known[kind]) | _is_in(ids, self._wanted[kind]))
            ids, first = ids[fresh], first[fresh]
            is_new = ~_is_in(ids, [made for made, _ in self._made])
            for known in self._known.values():
                is_new &= ~_is_known(ids, known)
            if is_new.any():
                vectors = self._embedding.embedder.embed([listed[n] for n in first[is_new]])
                check_vectors(ids[is_new], vectors, self._embedding.embedder.dimension)
                self._made.append((ids[is_new], vectors))
                count += int(is_new.sum())
            self._wanted[kind].append(ids)
        return count

    def is_due(self) -> bool:
        """Whether enough is waiting to be appended."""
        rows = sum(len(ids) for each in self._wanted.values() for ids in each)
        return rows >= _ROWS_AN_APPEND or time.monotonic() - self._since >= _SECONDS_AN_APPEND

    def flush(self) -> None:
        """Append what is waiting: vectors made since the last time, and those that another kind has already."""
        for kind, pieces in self._wanted.items():
            ids = np.concatenate([np.empty(0, "S16"), *pieces])
            if len(ids):
                self._embedding.vectors.append(kind, ids, self._vectors_of(ids))
                self._known[kind] = np.union1d(self._known[kind], ids)
                pieces.clear()
        self._made.clear()
        self._since = time.monotonic()

    def _vectors_of(self, ids: VectorIds) -> Vectors:
        known = np.concatenate([np.empty(0, "S16"), *(made for made, _ in self._made)])
        is_made = _is_in(ids, [known])
        pieces = []
        if is_made.any():
            order = np.argsort(known)
            pieces.append(
                joined([vectors for _, vectors in self._made])[order[np.searchsorted(known[order], ids[is_made])]]
            )
        if not is_made.all():
            pieces += [block for _, block in self._embedding.vectors.blocks(ids[~is_made], len(ids))]
        back = np.argsort(np.concatenate([np.flatnonzero(is_made), np.flatnonzero(~is_made)]))
        return joined(pieces)[back]


def _is_known(ids: VectorIds, known: VectorIds) -> npt.NDArray[np.bool_]:
    """Which ids are among sorted ones: as long as a few look-ups, however many there are."""
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    return np.asarray(known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids)


def _is_in(ids: VectorIds, among: Sequence[VectorIds]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(ids), np.bool_)
    for each in among:
        found |= np.isin(ids, each)
    return found


def _texts(store: Store, documents: Sequence[str]) -> dict[str, list[str]]:
    """Texts to embed of some documents: chunks and events with their titles, text keys."""
    chunks, events, keys = (store.read(table, documents) for table in KINDS)
    return {
        "chunks": [chunk.indexed_text for rows in chunks.values() for chunk in rows],
        "events": [event.indexed_text for rows in events.values() for event in rows],
        "keys": [link.key.value_string for rows in keys.values() for link in rows if link.key.value_string],
    }


def texts_of(table: str, rows: pa.Table, documents: Sequence[str]) -> list[str]:
    """The embedded texts of some documents, from the rows of chunks, events or keys."""
    records = from_table(table, of_documents(rows, documents))
    if table == "keys":
        return [link.key.value_string for link in records if link.key.value_string]
    return [record.indexed_text for record in records]


def wanted_vectors(store: Store) -> VectorIds:
    """Ids of all texts that still need a vector, sorted."""
    return np.unique(np.concatenate([*wanted_by_kind(store).values()]))


def wanted_by_kind(store: Store) -> dict[str, VectorIds]:
    """Ids of the texts of each kind that still need a vector, sorted."""
    found = {kind: [np.empty(0, "S16")] for kind in KINDS}
    for table in ("chunks", "events"):
        found[table] += [vector_ids([r.indexed_text for r in from_table(table, rows)]) for rows in store.scan(table)]
    for rows in store.scan("keys"):
        values = rows["value_string"].drop_null().unique().to_pylist()
        found["keys"].append(vector_ids([value for value in values if value]))
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
