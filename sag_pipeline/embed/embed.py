"""Embed each new text once, and store the corpus statistics of the hashing embedder."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sag_pipeline.embed.tasks import EmbedderOf, TextBatch
from sag_pipeline.engines.engine import LOCAL, EngineFor, here
from sag_pipeline.engines.tasks import Engine
from sag_pipeline.progress import listener
from sag_pipeline.publish.build import Embedding, embedded_texts
from sag_pipeline.step_runner import RunStats
from sag_pipeline.store.lance_tables import SEALED
from sag_pipeline.store.step_batch import StepResult
from sag_pipeline.store.store import Pending, StepSpec, Store
from sag_pipeline.store.vectors import KINDS, VectorIds, VectorStore, check_vectors, vector_ids
from sag_retrieval.core import durable
from sag_retrieval.core.errors import ModelError, SettingsError, StoreError
from sag_retrieval.core.records import batched
from sag_retrieval.core.settings import AUTO, HASHING, MULTILINGUAL, Settings
from sag_retrieval.models.embedder_names import embedder_name
from sag_retrieval.models.hashing import HashingEmbedder, HashingFit, fit_of
from sag_retrieval.models.open import open_dense
from sag_retrieval.models.protocols import Embedder, Vectors, expect_fingerprint, joined
from sag_retrieval.release.folders import DRAFT
from sag_retrieval.release.releases import Releases

_log = logging.getLogger(__name__)
_ROWS_AN_APPEND, _SECONDS_AN_APPEND = 16_384, 60
"""Vectors are appended, and their documents committed, after this number of rows or seconds: each append is a file."""
_NONE = np.empty(0, "S16")


@dataclass(slots=True)
class _Piece:
    """TextBatch of one kind of some documents."""

    kind: str
    wanted: VectorIds
    """Of the texts that this kind has no vector of."""
    new: VectorIds
    """Of those of them that no kind has a vector of."""
    texts: pa.Array
    """The new texts."""
    is_done: bool = False
    vectors: list[Vectors] = field(default_factory=list)
    """Of the new texts, when it is done."""


class NewVectors:
    """The vectors that are made, from the time their texts are known until they are appended."""

    def __init__(self, embedding: Embedding, engine: Engine = LOCAL) -> None:
        """Read which texts have a vector."""
        self._embedding = embedding
        self._known = {kind: embedding.vectors.known(kind) for kind in KINDS}
        self._pieces: list[_Piece] = []
        self._since = time.monotonic()
        way = getattr(embedding.embedder, "in_workers", "")
        loading = engine.with_models() if way == "loaded" else None
        self._is_own = loading is not None
        """Whether the workers hold a model, and are ended with the last text."""
        self._engine = loading or (engine if way == "sent" else LOCAL)
        self._shared = EmbedderOf(embedding.model, None if loading else embedding.embedder)

    def embed(self, pieces: Iterable[tuple[str, pa.Array]]) -> Iterator[int]:
        """Embed texts by kind: for each piece, in order, the number of those that were new."""
        planned: deque[_Piece] = deque()

        def asked() -> Iterator[TextBatch]:
            for kind, texts in pieces:
                planned.append(self._planned(kind, texts))
                if len(planned[-1].new):
                    yield TextBatch(planned[-1].texts)

        try:
            for vectors in self._engine.map("embed", asked(), self._shared):
                yield from self._without_new(planned)
                piece = planned.popleft()
                check_vectors(piece.new, vectors, self._embedding.embedder.dimension)
                piece.vectors, piece.is_done = [vectors], True
                yield len(piece.new)
            yield from self._without_new(planned)
        finally:
            if self._is_own:
                self._engine.close()

    def _planned(self, kind: str, texts: pa.Array) -> _Piece:
        ids, first = np.unique(vector_ids(texts.to_pylist()), return_index=True)
        order = np.argsort(first)  # near texts lie near one another on disk
        ids, first = ids[order], first[order]
        wanted = np.concatenate([_NONE, *(piece.wanted for piece in self._pieces if piece.kind == kind)])
        fresh = ~(_is_known(ids, self._known[kind]) | np.isin(ids, wanted))
        ids, first = ids[fresh], first[fresh]
        is_new = ~np.isin(ids, np.concatenate([_NONE, *(piece.new for piece in self._pieces)]))
        for known in self._known.values():
            is_new &= ~_is_known(ids, known)
        piece = _Piece(kind, ids, ids[is_new], texts.take(pa.array(first[is_new])))
        self._pieces.append(piece)
        return piece

    def _without_new(self, planned: deque[_Piece]) -> Iterator[int]:
        while planned and not len(planned[0].new):
            planned.popleft().is_done = True
            yield 0

    def is_due(self) -> bool:
        """Whether enough is waiting to be appended."""
        rows = sum(len(piece.wanted) for piece in self._pieces if piece.is_done)
        return rows >= _ROWS_AN_APPEND or time.monotonic() - self._since >= _SECONDS_AN_APPEND

    def flush(self) -> None:
        """Append what is done: vectors made since the last time, and those that another kind has already."""
        done = [piece for piece in self._pieces if piece.is_done]
        for kind in KINDS:
            ids = np.concatenate([_NONE, *(piece.wanted for piece in done if piece.kind == kind)])
            if len(ids):
                self._embedding.vectors.append(kind, ids, self._vectors_of(ids, done))
                self._known[kind] = np.union1d(self._known[kind], ids)
        self._pieces = [piece for piece in self._pieces if not piece.is_done]
        self._since = time.monotonic()

    def _vectors_of(self, ids: VectorIds, done: Sequence[_Piece]) -> Vectors:
        made = np.concatenate([_NONE, *(piece.new for piece in done)])
        is_made = np.isin(ids, made)
        pieces = []
        if is_made.any():
            order = np.argsort(made)
            vectors = joined([each for piece in done for each in piece.vectors])
            pieces.append(vectors[order[np.searchsorted(made[order], ids[is_made])]])
        if not is_made.all():
            pieces += [block for _, block in self._embedding.vectors.blocks(ids[~is_made], len(ids))]
        back = np.argsort(np.concatenate([np.flatnonzero(is_made), np.flatnonzero(~is_made)]))
        return joined(pieces)[back]


def _is_known(ids: VectorIds, known: VectorIds) -> npt.NDArray[np.bool_]:
    """Which ids are among sorted ones: as long as a few look-ups, however many there are."""
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    return np.asarray(known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids)


_DOCUMENTS_A_BATCH = 128
_TEXTS_A_COUNT: Final = 1024
_TEXTS_A_DOCUMENT: Final = 100
"""Of one of usual size: from a number of documents on workers are worth their start."""
_REFIT_FACTOR = 2
FOLDER = "embedder"
"""Folder of the corpus statistics below SAG_HOME."""
_COLUMNS: Final = {"chunks": ("header", "text"), "events": ("title", "content"), "keys": ("value_string",)}
"""Of the embedded texts of each kind."""


def embedder_of_home(settings: Settings) -> str:
    """The name of the embedder of a home: with the prefixes of its family, unless its texts were embedded without.

    Releases of before there were prefixes have the plain name; what it takes to embed such a home again is a prefix in
    the settings. `auto` is the embedder of the newest release, whatever a network gives by now.
    """
    used = [manifest.embedding_model for manifest in Releases(settings.home).manifests()]
    if settings.embedding_model == AUTO:
        return used[-1] if used else _embedder_of_new_home()
    name, plain = embedder_name(settings), settings.embedding_model
    if name == plain or {settings.embedding_query_prefix, settings.embedding_passage_prefix} != {AUTO}:
        return name
    return plain if plain in used and name not in used else name


@cache
def _embedder_of_new_home() -> str:
    try:
        open_dense(MULTILINGUAL)
    except SettingsError as error:
        reason = str(error).partition("\n")[0]
        _log.warning("SAG_EMBEDDING_MODEL=auto: a new home is embedded by `hashing` and keeps it, since %s", reason)
        return HASHING
    return MULTILINGUAL


def open_embedding(store: Store, model: str, engine: EngineFor = here) -> Embedding:
    """Open the embedder that a setting names, with its vectors.

    The hashing embedder is fitted on the corpus and its statistics are stored below the home. It is fitted again only
    when the corpus has doubled, because every text is then embedded again.
    """
    if model == HASHING:
        fitted = _fitted(store, engine)
        embedder = HashingEmbedder(fitted)

        def computed(texts: pa.ChunkedArray) -> Iterator[Vectors]:
            starts = range(0, len(texts), _TEXTS_A_COUNT)
            batches = (TextBatch(texts.slice(at, _TEXTS_A_COUNT).combine_chunks()) for at in starts)
            return engine(len(texts) // _TEXTS_A_DOCUMENT).map("embed", batches, EmbedderOf(model, embedder))

        vectors = _vectors(store, embedder, {})
        return Embedding(model, embedder, vectors, fitted.save, computed=computed)
    opened = open_dense(model)
    for manifest in reversed(Releases(store.home).manifests()):
        if manifest.embedding_model == model:  # a server is not asked again for its dimension
            expect_fingerprint(opened, manifest.embedder_fingerprint)
    return Embedding(model, opened, _vectors(store, opened), lambda folder: folder.mkdir(parents=True, exist_ok=True))


def _vectors(store: Store, embedder: Embedder, kept: Mapping[str, VectorIds] | None = None) -> VectorStore:
    """The vectors of an embedder; of those in files of before only the `kept` ones are moved, None: all in use."""
    vectors = VectorStore(store.home, embedder.fingerprint, embedder.dimension)
    if vectors.is_old():
        vectors.adopt(_wanted_by_kind(store) if kept is None else kept)
    return vectors


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
    *,
    engine: EngineFor = here,
) -> RunStats:
    """Embed the texts of changed documents; texts that have a vector already are not embedded again.

    Vectors that are not kept are computed with the release: then the documents are only noted.
    """
    tally, started = RunStats(), time.perf_counter()
    pending, tally.counts["removed"] = store.take_pending(step)
    if pending and embedding.computed:
        store.commit(step, dict.fromkeys(pending, StepResult()))
        tally.counts.update("new" if each.is_new else "changed" for each in pending)
    elif pending:
        _embed(store, step, NewVectors(embedding, engine(len(pending))), pending, tally)
        embedding.vectors.compact()
    tally.counts["skipped"] = store.ledger.document_count(step.name) - len(pending)
    tally.seconds = time.perf_counter() - started
    return tally


def embed_names(embedding: Embedding, names: Sequence[str], *, engine: EngineFor = here) -> int:
    """Embed names of keys that no document has; the number of those that had no vector."""
    made = NewVectors(embedding, engine(1))
    count = sum(made.embed([("keys", pa.array(names, pa.string()))]))
    made.flush()
    return count


def _embed(
    store: Store,
    step: StepSpec,
    made: NewVectors,
    pending: Sequence[Pending],
    tally: RunStats,
) -> None:
    done, committed = 0, 0

    def commit() -> None:
        nonlocal committed
        made.flush()  # first, or a kill in between would leave texts that are never embedded
        waiting = pending[committed:done]
        if waiting:
            store.commit(step, dict.fromkeys(waiting, StepResult()))
        tally.counts.update("new" if each.is_new else "changed" for each in waiting)
        committed = done

    try:
        for number, count in enumerate(made.embed(_pieces(store, [each.document_id for each in pending])), 1):
            tally.counts["rows"] += count
            if number % len(KINDS) == 0:
                done = min(done + _DOCUMENTS_A_BATCH, len(pending))
                listener()(step.name, done, len(pending))
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
    return np.unique(np.concatenate([*_wanted_by_kind(store).values()]))


def _wanted_by_kind(store: Store) -> dict[str, VectorIds]:
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
    if not (home / "vectors" / fingerprint).is_dir() and all(
        manifest.embedder_fingerprint != fingerprint for manifest in Releases(home).manifests()
    ):
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
