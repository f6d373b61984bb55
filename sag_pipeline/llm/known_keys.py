"""Find known keys to show a model before it names keys, so that one entity keeps one name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from sag_pipeline.steps.extract_keys import NO_KNOWN, KnownKey, KnownKeys
from sag_pipeline.store.store import Store
from sag_retrieval.core.records import TITLE, Event, EventKey
from sag_retrieval.models.protocols import Embedder, Vectors
from sag_retrieval.release.arrays import Index

_BLOCK = 256
Prompted = TypeVar("Prompted")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """How many known keys are found for an event."""

    direct_keys: int = 10
    similar_events: int = 3
    least_similarity: float = 0.2
    """Least cosine of a known key or event: a model tends to choose a shown name, even a dissimilar one."""


class KnownSource(Protocol):
    """A source of known keys: a release, or the batches before."""

    def nearest_keys(self, vectors: Vectors, count: int) -> list[list[tuple[float, KnownKey]]]:
        """The nearest text keys of each vector, best first, with their cosines."""
        ...

    def nearest_events(self, vectors: Vectors, count: int) -> list[list[tuple[float, tuple[KnownKey, ...]]]]:
        """The text keys of the nearest events of each vector, best first, with the events' cosines."""
        ...


def known_about(
    events: Sequence[Event],
    embedder: Embedder,
    sources: Sequence[KnownSource],
    options: KnownOptions | None = None,
) -> list[KnownKeys]:
    """The known keys for each event, in order; of equal cosines the earlier source comes first.

    Source:
        docs/algorithm.md §extraction.29.

    """
    options = options or KnownOptions()
    if not events or not sources:
        return [NO_KNOWN] * len(events)
    vectors = embedder.embed([event.indexed_text for event in events])
    keys = [source.nearest_keys(vectors, options.direct_keys) for source in sources]
    similar = [source.nearest_events(vectors, options.similar_events) for source in sources]
    return [
        KnownKeys(
            tuple(_best((found[row] for found in keys), options.direct_keys, options.least_similarity)),
            tuple(
                key
                for group in _best((found[row] for found in similar), options.similar_events, options.least_similarity)
                for key in group
            ),
        )
        for row in range(len(events))
    ]


def _best(lists: Iterable[list[tuple[float, Prompted]]], count: int, least: float) -> list[Prompted]:
    merged = sorted((one for found in lists for one in found if one[0] >= least), key=lambda one: -one[0])
    return list({value: None for _, value in merged})[:count]


@dataclass(slots=True)
class BatchSource:
    """The events and keys of the batches before, in the order in which they were added."""

    embedder: Embedder
    _keys: dict[KnownKey, None] = field(default_factory=dict)
    _key_blocks: list[Vectors] = field(default_factory=list)
    _event_keys: list[tuple[KnownKey, ...]] = field(default_factory=list)
    _event_blocks: list[Vectors] = field(default_factory=list)

    def add(self, events: Sequence[Event], keys: Sequence[EventKey]) -> None:
        """Add a batch: its events and their keys; numbers, flags and titles are not shown."""
        shown: dict[str, list[KnownKey]] = {event.event_id: [] for event in events}
        for link in keys:
            if link.event_id in shown and link.key.value_string is not None and link.key.key_type != TITLE:
                shown[link.event_id].append(KnownKey(link.key.key_type, link.key.value_string))
        fresh = list(dict.fromkeys(key for group in shown.values() for key in group if key not in self._keys))
        if fresh:
            self._keys.update(dict.fromkeys(fresh))
            self._key_blocks.append(self.embedder.embed([key.value for key in fresh]))
        if events:
            self._event_keys.extend(tuple(shown[event.event_id]) for event in events)
            self._event_blocks.append(self.embedder.embed([event.indexed_text for event in events]))

    def nearest_keys(self, vectors: Vectors, count: int) -> list[list[tuple[float, KnownKey]]]:
        """The nearest keys of each vector (see `KnownSource`)."""
        return _nearest(vectors, self._key_blocks, list(self._keys), count)

    def nearest_events(self, vectors: Vectors, count: int) -> list[list[tuple[float, tuple[KnownKey, ...]]]]:
        """The keys of the nearest events of each vector (see `KnownSource`)."""
        return _nearest(vectors, self._event_blocks, self._event_keys, count)


def _nearest(
    vectors: Vectors, blocks: list[Vectors], values: Sequence[Prompted], count: int
) -> list[list[tuple[float, Prompted]]]:
    """The `count` values of the largest cosines for each vector, best first, ties by position."""
    rows = vectors.shape[0]
    if not blocks or not count:
        return [[] for _ in range(rows)]
    blocks[:] = [_stack(blocks)]
    found = []
    for start in range(0, rows, _BLOCK):
        cosines = _cosines(vectors[start : start + _BLOCK], blocks[0])
        for row in cosines:
            best = _largest(row, count)
            found.append([(float(row[i]), values[i]) for i in best])
    return found


def _stack(blocks: Sequence[Vectors]) -> Vectors:
    if len(blocks) == 1:
        return blocks[0]
    sparse = [block for block in blocks if isinstance(block, csr_array)]
    if sparse:
        return csr_array(vstack(sparse, format="csr"))
    return np.concatenate([np.asarray(block) for block in blocks])


def _cosines(vectors: Vectors, known: Vectors) -> npt.NDArray[np.float32]:
    product = vectors @ known.T
    return np.asarray(product.toarray() if isinstance(product, csr_array) else product, np.float32)


def _largest(row: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.intp]:
    if len(row) > count:
        bound = np.partition(row, -count)[-count]
        chosen = np.flatnonzero(row >= bound)
    else:
        chosen = np.arange(len(row))
    return chosen[np.argsort(-row[chosen], kind="stable")][:count]


@dataclass(frozen=True)
class ReleasedKeys:
    """Text keys and events of an opened release (a `KnownSource`); vectors must be of its embedder."""

    index: Index

    @cached_property
    def _is_shown(self) -> npt.NDArray[np.bool_]:
        rows = self.index.rows["keys"]
        is_text = np.asarray(rows["value_string"].combine_chunks().is_valid())
        return np.asarray(is_text & (np.asarray(rows["key_type"].to_pylist(), object) != TITLE), np.bool_)

    def nearest_keys(self, vectors: Vectors, count: int) -> list[list[tuple[float, KnownKey]]]:
        """The nearest text keys of each vector."""
        found = []
        for row in range(vectors.shape[0]):
            rows, cosines = self.index.arrays.vectors["keys"].top(_one(vectors, row), count, self._is_shown)
            found.append([(float(c), self._key(int(r))) for r, c in zip(rows, cosines, strict=True)])
        return found

    def nearest_events(self, vectors: Vectors, count: int) -> list[list[tuple[float, tuple[KnownKey, ...]]]]:
        """The text keys of the nearest events of each vector."""
        found = []
        for row in range(vectors.shape[0]):
            rows, cosines = self.index.arrays.vectors["events"].top(_one(vectors, row), count)
            found.append([(float(c), self._keys_of(int(r))) for r, c in zip(rows, cosines, strict=True)])
        return found

    def _keys_of(self, event: int) -> tuple[KnownKey, ...]:
        keys = self.index.arrays.event_keys.row(event)
        return tuple(self._key(int(row)) for row in keys if self._is_shown[row])

    def _key(self, row: int) -> KnownKey:
        rows = self.index.rows["keys"]
        return KnownKey(rows["key_type"][row].as_py(), rows["value_string"][row].as_py())


def pending_keys(store: Store, index: Index | None, embedder: Embedder) -> BatchSource:
    """Events and keys that are stored but not in the release, in the order of the work.

    With them a run that resumes an interrupted one asks what that run would have asked.
    """
    place = {entry.unit: entry.part for entry in store.ledger.entries("step = 'events' AND kind = 'document'")}
    done = [entry.unit for entry in store.ledger.entries("step = 'keys' AND kind = 'document'")]
    done.sort(key=lambda unit: (place.get(unit, ""), unit))
    rows = index.rows["documents"] if index else None
    released = dict(zip(rows["document_id"].to_pylist(), rows["version"].to_pylist(), strict=True)) if rows else {}
    documents = store.read("documents", done)
    fresh = [unit for unit in done if any(released.get(unit) != one.version for one in documents[unit])]
    events, keys = store.read("events", fresh), store.read("keys", fresh)
    source = BatchSource(embedder)
    for unit in fresh:
        source.add(events[unit], keys[unit])
    return source


def _one(vectors: Vectors, row: int) -> Vectors:
    return vectors[[row]]
