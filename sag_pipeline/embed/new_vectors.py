"""Embed texts that have no vector yet, by an engine if the embedder can, and append their vectors in large pieces."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sag_pipeline.embed.tasks import EmbedderOf, TextBatch
from sag_pipeline.engines.engine import LOCAL, Engine, LoadsModels
from sag_pipeline.publish.build import Embedding
from sag_pipeline.store.vectors import KINDS, VectorIds, check_vectors, vector_ids
from sag_retrieval.models.protocols import Vectors, joined

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
        self._is_own = way == "loaded" and isinstance(engine, LoadsModels)
        """Whether the workers hold a model, and are ended with the last text."""
        if self._is_own and isinstance(engine, LoadsModels):
            self._engine, sent = engine.with_models(), None
        else:
            self._engine, sent = engine if way == "sent" else LOCAL, embedding.embedder
        self._shared = EmbedderOf(embedding.model, sent)

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
                yield self._done(planned.popleft(), vectors)
            yield from self._without_new(planned)
        finally:
            if self._is_own:
                self._engine.close()

    def _planned(self, kind: str, texts: pa.Array) -> _Piece:
        ids, first = np.unique(vector_ids(texts.to_pylist()), return_index=True)
        order = np.argsort(first)  # near texts lie near one another on disk
        ids, first = ids[order], first[order]
        fresh = ~(_is_known(ids, self._known[kind]) | _is_in(ids, (p.wanted for p in self._pieces if p.kind == kind)))
        ids, first = ids[fresh], first[fresh]
        is_new = ~_is_in(ids, (piece.new for piece in self._pieces))
        for known in self._known.values():
            is_new &= ~_is_known(ids, known)
        piece = _Piece(kind, ids, ids[is_new], texts.take(pa.array(first[is_new])))
        self._pieces.append(piece)
        return piece

    def _without_new(self, planned: deque[_Piece]) -> Iterator[int]:
        while planned and not len(planned[0].new):
            planned.popleft().is_done = True
            yield 0

    def _done(self, piece: _Piece, vectors: Vectors) -> int:
        check_vectors(piece.new, vectors, self._embedding.embedder.dimension)
        piece.vectors, piece.is_done = [vectors], True
        return len(piece.new)

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
        is_made = _is_in(ids, [made])
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


def _is_in(ids: VectorIds, among: Iterable[VectorIds]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(ids), np.bool_)
    for each in among:
        found |= np.isin(ids, each)
    return found
