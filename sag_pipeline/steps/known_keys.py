"""Known keys: what a model is shown before it names keys, so that one thing keeps one name.

The six steps of the seed: the event is embedded; the nearest keys are found; the nearest events are found;
their keys are added; the list of types is fixed; the model sees all of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, vstack

from sag_retrieval.core.records import TITLE, Event, EventKey
from sag_retrieval.models.protocols import Embedder, Vectors

_BLOCK = 256
Prompted = TypeVar("Prompted")


class KnownKey(NamedTuple):
    """A key as the model is shown it."""

    key_type: str
    value: str


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """What is known about one event: the keys nearest to it, and the keys of the events nearest to it."""

    direct: tuple[KnownKey, ...] = ()
    from_events: tuple[KnownKey, ...] = ()


NO_KNOWN = KnownKeys()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOptions:
    """How much is shown of what is known."""

    direct_keys: int = 10
    similar_events: int = 3
    least_similarity: float = 0.2
    """Cosine below which nothing is shown: a far name only tempts the model."""


class KnownSource(Protocol):
    """Where known keys come from: a release, or the batches before."""

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
    """What the sources know about each event, in order; ties go to the earlier source.

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
    """The events and keys of the batches before, in the order they came."""

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
    """The `count` values of the largest cosines for each vector, best first, ties by place."""
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
