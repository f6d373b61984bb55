"""Known keys out of a release, and out of what is in the store but not yet released."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sag_pipeline.llm.known_keys import BatchSource
from sag_pipeline.steps.extract_keys import KnownKey
from sag_pipeline.store.store import Store
from sag_retrieval.core.records import TITLE
from sag_retrieval.models.protocols import Embedder, Vectors
from sag_retrieval.release.arrays import Index


@dataclass(frozen=True)
class ReleasedKeys:
    """Text keys and events of an opened release (a `KnownSource`); vectors must come from its embedder."""

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
    """What an interrupted run left: events and keys that are done and not in the release, in the order of the work.

    With it a run that goes on asks what it would have asked had it never stopped.
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
