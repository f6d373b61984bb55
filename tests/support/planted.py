"""Planted topics: events whose true communities are known, easy or hard to tell apart."""

import numpy as np

from sag_retrieval.clusters.events import Chunks, Documents, EventLinks, EventTable, Floats, Keys, Rows

TOPIC_SIZE = 50


def planted(size: int, *, noise: float = 0.3, seed: int = 0, dimension: int = 64) -> tuple[EventTable, Rows]:
    """Events in topics of 50, and the topic of each: 6 keys an event, `noise` of them stray, and 2 wide ones.

    The cosine of two events of one topic is about .39, else about 0.
    """
    random = np.random.default_rng(seed)
    topics = max(size // TOPIC_SIZE, 1)
    topic = random.integers(0, topics, size)
    own = np.where(random.random((size, 6)) < noise, random.integers(0, topics, (size, 6)), topic[:, None])
    narrow = own * 15 + random.integers(0, 15, (size, 6))
    wide = topics * 15 + np.minimum(random.zipf(1.5, (size, 2)), 100) - 1
    pairs = np.unique(np.repeat(np.arange(size), 8) * np.int64(2**32) + np.column_stack([narrow, wide]).ravel())
    links = EventLinks(event=(pairs >> 32).astype(np.int32), key=(pairs & (2**32 - 1)).astype(np.int32))
    return table(size, links, topics * 15 + 100, _vectors(random, topic, dimension)), topic.astype(np.int32)


def _vectors(random: np.random.Generator, topic: Rows, dimension: int) -> Floats:
    centre = _unit(random.standard_normal((int(topic.max()) + 1, dimension)).astype(np.float32))
    own = _unit(random.standard_normal((len(topic), dimension)).astype(np.float32))
    return _unit(np.float32(0.39**0.5) * centre[topic] + np.float32(0.61**0.5) * own)


def _unit(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def table(size: int, links: EventLinks, key_count: int, vectors: Floats) -> EventTable:
    """A table of events without text, all in one chunk of one document."""
    return EventTable(
        event_ids=[f"e{row:07}" for row in range(size)],
        contents=[""] * size,
        chunk=np.zeros(size, np.int32),
        spans=np.full((size, 2), -1, np.int32),
        dates=[None] * size,
        chunks=Chunks(chunk_ids=["c"], texts=[""], document=np.zeros(1, np.int32)),
        documents=Documents(document_ids=["d"], titles=["d"], languages=["en"]),
        keys=Keys(types=["topic"] * key_count, values=[f"key {row}" for row in range(key_count)]),
        links=links,
        vectors=vectors,
    )
